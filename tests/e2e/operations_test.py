"""Operates a fleet with real processes: cordons, drains, labels and prices."""

import datetime
import signal
import subprocess
import unittest

from harness import Fleet, FleetCase, eventually

# One job that may run on any node and lasts longer than the test.
ENDLESS = """
name: endless
placement: any
absent: wait
benchmarks:
  - slow: {value: 1, millis: 300000}
"""
SHORT = """
name: short
nodes: name = "node-a"
benchmarks:
  - ok: {value: 7}
"""


class OperationsTest(FleetCase):
    def setUp(self):
        self.fleet = self.open(Fleet()).start()
        self.agents = {name: self.fleet.agent(name, "--label", "rack=7", "--label", "row=2")
                       for name in ("node-a", "node-b")}

    def node(self, name):
        return self.fleet.cli_json("node", "show", name)

    def job(self, campaign):
        [job] = self.fleet.jobs(campaign)
        return job

    def await_running_on(self, campaign, name):
        def running():
            job = self.job(campaign)
            return job["state"] == "JOB_STATE_RUNNING" and job["node_names"] == [name]
        eventually(running, 30, f"the job on {name}")

    def test_cordon_and_drain(self):
        fleet = self.fleet
        fleet.cli("node", "cordon", "node-a", "--reason", "new PSU")
        campaign = fleet.submit(ENDLESS)
        self.await_running_on(campaign, "node-b")
        # A cordon is in the database.
        fleet.coordinator.kill()
        fleet.restart_coordinator()
        fleet.await_node("node-a")
        self.assertEqual(self.node("node-a")["cordon"]["reason"], "new PSU")
        refused = fleet.cli("campaign", "submit", fleet.write_campaign(SHORT), code=2)
        waiting = fleet.submit(SHORT + "absent: wait\n")
        shown = fleet.campaign(waiting)
        spec = {**shown["spec"], "absent": "ABSENT_POLICY_FAIL"}
        self.assertEqual(fleet.refusal("CampaignService/CreateCampaign", {"spec": spec}),
                         "NODES_ABSENT")
        [waits] = shown["waiting"]
        self.assertEqual([(node["name"], node["cordon"]["reason"]) for node in waits["nodes"]],
                         [("node-a", "new PSU")])
        cordon = waits["nodes"][0]["cordon"]
        for text in (refused.stderr, fleet.cli("campaign", "show", waiting).stdout):
            self.assertIn(cordon["reason"], text)
        self.assertEqual({node["description"]["name"]: node.get("cordon", {}).get("reason")
                          for node in fleet.nodes()}, {"node-a": "new PSU", "node-b": None})

        # The job goes on until the deadline, and then on the other node.
        fleet.cli("node", "uncordon", "node-a")
        fleet.await_end(waiting)
        self.await_running_on(campaign, "node-b")
        [job] = self.node("node-b")["job_ids"]
        drained = fleet.cli("node", "drain", "node-b", "--deadline", "1s")
        self.assertIn(job, drained.stderr)
        self.assertEqual(self.node("node-b").get("job_ids", []), [])
        self.await_running_on(campaign, "node-a")
        self.assertEqual(self.job(campaign)["failure"]["reason"], "REASON_NODE_DRAINED")
        fleet.cli("campaign", "cancel", campaign)
        fleet.await_end(campaign)
        # Nothing is left to wait for.
        fleet.cli("node", "drain", "node-b", "--deadline", "7d")
        fleet.cli("node", "drain", "node-b", "--deadline", "8d", code=2)

    def test_interrupted_drain_goes_on(self):
        fleet = self.fleet
        fleet.cli("node", "cordon", "node-b")
        self.await_running_on(fleet.submit(ENDLESS), "node-a")
        jobs = self.node("node-a")["job_ids"]
        begin = datetime.datetime.now(datetime.timezone.utc)
        with subprocess.Popen(fleet.command("node", "drain", "node-a"), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as drain:
            self.assertIn(jobs[0], drain.stderr.readline())
            drain.send_signal(signal.SIGINT)
            self.assertIn("the drain goes on", drain.stderr.read())
            self.assertEqual(drain.wait(30), 130)
        node = self.node("node-a")
        deadline = datetime.datetime.fromisoformat(node["cordon"]["drain_deadline"])
        self.assertGreater(deadline, begin)
        self.assertEqual(node["job_ids"], jobs)
        self.assertEqual(len(jobs), 1)

    def test_labels_and_price(self):
        fleet = self.fleet
        fleet.cli("node", "label", "node-a", "rack=8", "zone=x", "row-")
        fleet.cli("node", "price", "node-a", "2.5")
        refused = fleet.cli("node", "label", "node-a", "Rack=9", code=2)
        self.assertIn("label rack ", refused.stderr)
        for restart in (False, True):
            if restart:
                self.agents["node-a"].stop()
                fleet.await_node("node-a", "DISCONNECTED")
                self.agents["node-a"].start()
                fleet.await_node("node-a")
            campaign = fleet.submit(SHORT)
            fleet.await_end(campaign)
            [result] = fleet.cli_json("results", "--campaign", campaign)
            self.assertEqual(result["label"], {"rack": "8", "zone": "x"})
            self.assertEqual(result["price_per_hour"], 2.5)
        listed = fleet.cli_json("node", "list", "--filter", "label.rack = 8")
        self.assertEqual([node["description"]["name"] for node in listed], ["node-a"])
        shown = self.node("node-a")["description"]
        self.assertEqual(shown["labels"], {"rack": "8", "zone": "x"})

    def test_agent_with_labels_that_differ_only_in_case_does_not_start(self):
        agent = self.fleet.new_agent("node-c", "--label", "rack=7", "--label", "Rack=8")
        with self.assertRaises(AssertionError):
            agent.start()
        self.assertEqual(agent.process.wait(10), 2)
        self.assertIn("only in case", agent.tail())


if __name__ == "__main__":
    unittest.main()
