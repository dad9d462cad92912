"""Tests the whole product: a real coordinator, agents, runners, the CLI and PostgreSQL."""

import json
import os
import signal
import unittest

import harness
from harness import Fleet, eventually

# Jobs of two cases that may run on any node. Each case is slow enough to be interrupted.
SLOW = """
name: interrupted
placement: any
repetitions: {repetitions}
retries: 5
benchmarks:
  - slow: {{value: [1, 2], millis: {millis}}}
"""


def slow(repetitions=4, millis=700):
    return SLOW.format(repetitions=repetitions, millis=millis)


class FleetTest(unittest.TestCase):
    def expect_every_case_once(self, fleet, campaign, cases):
        """Expects exactly one primary row for each case of each job."""
        rows = fleet.postgres.rows(
            "SELECT job_id, case_index, count(*) FROM result "
            f"WHERE campaign_id = '{campaign}' AND \"primary\" GROUP BY 1, 2")
        self.assertEqual(len(rows), cases)
        self.assertEqual({row[2] for row in rows}, {"1"})

    def running_job(self, fleet, campaign):
        """Returns the name of a node that runs a job now."""
        def running():
            return next((job for job in fleet.jobs(campaign)
                         if job["state"] == "JOB_STATE_RUNNING"), None)
        return eventually(running, 30, "a running job")["node_names"][0]

    def test_quick_start(self):
        with Fleet() as fleet:
            fleet.start()
            fleet.agent("node-a", runner=harness.RUNNER)
            file = os.path.join(harness.ROOT, "examples", "quickstart.yaml")
            watched = fleet.cli("campaign", "submit", file, "--watch", seconds=180)
            self.assertEqual(watched.returncode, 0)
            csv = fleet.cli("results", "--filter", 'benchmark="cpu_gemm"', "-o", "csv").stdout
            lines = csv.splitlines()
            self.assertGreater(len(lines), 1)
            listed = json.loads(fleet.cli("results", "-o", "json").stdout)
            for result in listed:
                self.assertTrue(result["verified"])
                self.assertRegex(result["series_id"], "^[0-9a-f]{64}$")
                self.assertIn(result["regime"], ("compute", "memory", "launch"))
            # No CPU is among the published figures, so the command says which models are.
            compared = fleet.cli("compare", "--published")
            self.assertEqual(compared.stdout, "")
            self.assertNotEqual(compared.stderr, "")
            shown = json.loads(fleet.cli("benchmark", "show", "cpu_gemm", "-o", "json").stdout)
            self.assertEqual(shown["schema"]["name"], "cpu_gemm")

    def test_agent_killed_mid_campaign(self):
        with Fleet() as fleet:
            fleet.start()
            agents = {name: fleet.agent(name) for name in ("node-a", "node-b")}
            campaign = fleet.submit(slow())
            victim = self.running_job(fleet, campaign)
            agents[victim].kill()
            ended = fleet.await_end(campaign)
            self.assertEqual(ended["jobs"]["succeeded"], 4, ended)
            self.expect_every_case_once(fleet, campaign, 8)
            fleet.await_node(victim, "DISCONNECTED")

    def test_agent_killed_and_started_again(self):
        with Fleet() as fleet:
            fleet.start()
            agent = fleet.agent("node-a")
            campaign = fleet.submit(slow(repetitions=2))
            self.running_job(fleet, campaign)
            agent.kill()
            fleet.agent("node-a")
            self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 2)
            self.expect_every_case_once(fleet, campaign, 4)

    def test_coordinator_killed_mid_campaign(self):
        with Fleet() as fleet:
            fleet.start()
            fleet.agent("node-a")
            fleet.agent("node-b")
            campaign = fleet.submit(slow())
            self.running_job(fleet, campaign)
            fleet.coordinator.kill()
            fleet.restart_coordinator()
            ended = fleet.await_end(campaign)
            self.assertEqual(ended["jobs"]["succeeded"], 4, ended)
            self.expect_every_case_once(fleet, campaign, 8)

    def coordinator_away_for_longer_than_a_lease(self, leave, come_back):
        """Takes the coordinator away. This costs an attempt, for which no node is blamed."""
        with Fleet() as fleet:
            fleet.start()
            agent = fleet.agent("node-a")
            campaign = fleet.submit(slow(repetitions=1, millis=8000))
            self.running_job(fleet, campaign)
            eventually(lambda: "assay_agent_running_jobs 1" in fleet.metrics(agent), 30,
                       "the job's arrival at the agent")
            leave(fleet)
            eventually(lambda: "(LEASE_LOST)" in agent.tail(), 60, "the end of the agent's lease")
            come_back(fleet)
            ended = fleet.await_end(campaign, 120)
            self.assertEqual(ended["jobs"]["succeeded"], 1, ended)
            failures = fleet.postgres.rows(
                "SELECT f->>'class', f->>'reason', f->>'node' "
                "FROM job, jsonb_array_elements(failures) f")
            self.assertEqual(failures, [["infrastructure", "LEASE_LOST", ""]])

    def test_coordinator_started_again_after_a_lease(self):
        self.coordinator_away_for_longer_than_a_lease(
            lambda fleet: fleet.coordinator.kill(), lambda fleet: fleet.restart_coordinator())

    def test_coordinator_that_stands_still_for_a_lease(self):
        self.coordinator_away_for_longer_than_a_lease(
            lambda fleet: fleet.coordinator.send_signal(signal.SIGSTOP),
            lambda fleet: fleet.coordinator.send_signal(signal.SIGCONT))

    def test_postgres_restarted_mid_campaign(self):
        with Fleet() as fleet:
            fleet.start()
            fleet.agent("node-a")
            campaign = fleet.submit(slow(repetitions=3))
            self.running_job(fleet, campaign)
            fleet.postgres.stop()
            fleet.postgres.start()
            ended = fleet.await_end(campaign)
            self.assertEqual(ended["jobs"]["succeeded"], 3, ended)
            self.expect_every_case_once(fleet, campaign, 6)

    def test_coordinator_dials_an_added_node(self):
        with Fleet() as fleet:
            fleet.start()
            agent = fleet.agent("dialled", attach=False)
            fleet.cli("node", "add", agent.addresses["grpc"])
            fleet.await_node("dialled")
            campaign = fleet.submit("name: dialled\nbenchmarks:\n  - ok: {value: 7}\n")
            self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 1)
            self.expect_every_case_once(fleet, campaign, 1)
            # After its restart, the coordinator dials the agent again without a command.
            fleet.coordinator.kill()
            fleet.restart_coordinator()
            # The node's row still says CONNECTED from the session with the killed coordinator.
            eventually(lambda: "node dialled" in fleet.coordinator.tail(), 30,
                       "the session with the new coordinator")
            fleet.cli("node", "remove", "dialled")
            self.assertEqual(fleet.nodes(), [])

    def test_gang_over_two_nodes(self):
        with Fleet() as fleet:
            fleet.start()
            for name in ("node-a", "node-b"):
                fleet.agent(name, runner=harness.RUNNER)
            campaign = fleet.submit(
                "name: gang\nbenchmarks:\n  - tcp_all_reduce: {ranks: 2, bytes: 1MiB}\n")
            self.assertEqual(fleet.await_end(campaign, 120)["jobs"]["succeeded"], 1)
            names = fleet.cli_json("results")[0]["node"]
            self.assertEqual(sorted(names), ["node-a", "node-b"])

    def test_cancel_stops_a_hanging_runner(self):
        with Fleet() as fleet:
            fleet.start()
            fleet.agent("node-a")
            campaign = fleet.submit("name: hangs\nbenchmarks:\n  - hang: {}\n")
            self.running_job(fleet, campaign)
            fleet.cli("campaign", "cancel", campaign)
            self.assertTrue(fleet.await_end(campaign)["state"].endswith("CANCELLED"))

    def test_every_page_of_a_campaigns_jobs_is_read(self):
        with Fleet() as fleet:
            fleet.start()
            fleet.agent("node-a")
            campaign = fleet.submit("name: long\nplacement: any\nrepetitions: 501\n"
                                    "benchmarks:\n  - hang: {}\n  - crash: {}\n")
            # A page has at most a thousand results.
            self.assertEqual(len({job["job_id"] for job in fleet.jobs(campaign)}), 1002)

    def test_misbehaving_runners_fail_their_own_job_only(self):
        with Fleet() as fleet:
            fleet.start()
            agent = fleet.agent("node-a")
            campaign = fleet.submit(
                "name: bad\nretries: 0\ntimeout: 3s\nbenchmarks:\n"
                "  - crash: {}\n  - garbage: {}\n  - hang: {}\n  - chatty: {}\n  - wrong: {}\n")
            ended = fleet.await_end(campaign, 120)
            self.assertEqual(ended["jobs"]["succeeded"], 1, ended)
            self.assertEqual(ended["jobs"]["failed"], 4, ended)
            self.assertTrue(agent.running())


if __name__ == "__main__":
    unittest.main(verbosity=2)
