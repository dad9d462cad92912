"""Tests the whole product: a real coordinator, agents, runners, the CLI and PostgreSQL."""

import json
import os
import re
import signal
import subprocess
import unittest
import uuid

import checker
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


GUIDE = os.path.join(harness.ROOT, "docs", "guides", "compare-and-gate-in-CI.md")


def guide_script():
    """Returns the only complete script of the guide about CI."""
    with open(GUIDE, encoding="utf-8") as file:
        [script] = re.findall(r"^```bash\n(#!.*?)^```$", file.read(), re.DOTALL | re.MULTILINE)
    return script


def slow(repetitions=4, millis=700):
    return SLOW.format(repetitions=repetitions, millis=millis)


class FleetTest(unittest.TestCase):
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
                # Under load, a small product may look bound by memory, which for it is a cache.
                self.assertIn(result["regime"], ("compute", "memory", "cache", "launch"))
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
            victim = fleet.running_job(campaign)
            agents[victim].kill()
            ended = fleet.await_end(campaign)
            self.assertEqual(ended["jobs"]["succeeded"], 4, ended)
            checker.expect_whole(fleet, campaign, cases=8)
            fleet.await_node(victim, "DISCONNECTED")

    def test_agent_killed_and_started_again(self):
        with Fleet() as fleet:
            fleet.start()
            agent = fleet.agent("node-a")
            campaign = fleet.submit(slow(repetitions=2))
            fleet.running_job(campaign)
            agent.kill()
            fleet.agent("node-a")
            self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 2)
            checker.expect_whole(fleet, campaign, cases=4)

    def test_coordinator_killed_mid_campaign(self):
        with Fleet() as fleet:
            fleet.start()
            fleet.agent("node-a")
            fleet.agent("node-b")
            campaign = fleet.submit(slow())
            fleet.running_job(campaign)
            fleet.coordinator.kill()
            fleet.restart_coordinator()
            ended = fleet.await_end(campaign)
            self.assertEqual(ended["jobs"]["succeeded"], 4, ended)
            checker.expect_whole(fleet, campaign, cases=8)

    def test_postgres_restarted_mid_campaign(self):
        with Fleet() as fleet:
            fleet.start()
            fleet.agent("node-a")
            campaign = fleet.submit(slow(repetitions=3))
            fleet.running_job(campaign)
            fleet.postgres.stop()
            fleet.postgres.start()
            ended = fleet.await_end(campaign)
            self.assertEqual(ended["jobs"]["succeeded"], 3, ended)
            checker.expect_whole(fleet, campaign, cases=6)

    def test_coordinator_dials_an_added_node(self):
        with Fleet() as fleet:
            fleet.start()
            agent = fleet.agent("dialled", attach=False)
            fleet.cli("node", "add", agent.addresses["grpc"])
            fleet.await_node("dialled")
            campaign = fleet.submit("name: dialled\nbenchmarks:\n  - ok: {value: 7}\n")
            self.assertEqual(fleet.await_end(campaign)["jobs"]["succeeded"], 1)
            checker.expect_whole(fleet, campaign, cases=1)
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

    def test_purchase_gate_of_the_guide(self):
        with Fleet() as fleet:
            fleet.start()
            fleet.agent("node-a")
            script = fleet.path("gate.sh")
            with open(script, "w", encoding="utf-8") as file:
                file.write(guide_script())
            evidence = fleet.path("evidence")

            def gate(text, *more, **env):
                run = subprocess.run(
                    ["bash", script, fleet.write_campaign(text), evidence, *more], check=False,
                    capture_output=True, text=True, timeout=120,
                    env={**os.environ, "ASSAY_COORDINATOR": fleet.address(), **env,
                         "PATH": f"{harness.BUILD}/bin:{os.environ['PATH']}"})
                return run.returncode

            def kept(file):
                with open(os.path.join(evidence, file), encoding="utf-8") as text:
                    return json.load(text)

            passing = ("name: passes\nbenchmarks:\n  - ok: {value: 7}\n"
                       "accept:\n  - ok.score >= 7 points\n")
            build = str(uuid.uuid4())
            for _ in range(2):
                self.assertEqual(gate(passing, BUILD_UUID=build), 0)
            self.assertEqual(os.listdir(evidence), [])
            self.assertEqual(len(fleet.cli_json("campaign", "list")), 1)

            # A case fails, and a rule does not hold.
            failing = passing.replace("passes", "fails").replace(">= 7", ">= 8")
            failing = failing.replace("accept:", "  - wrong: {}\naccept:")
            self.assertEqual(gate(failing), 1)
            campaign = kept("campaign.json")
            self.assertEqual(campaign["verdict"], "VERDICT_FAILED")
            self.assertEqual([rule["verdict"] for rule in campaign["rules"]], ["VERDICT_FAILED"])
            self.assertEqual([(one["benchmark"], one["campaign_id"])
                              for one in kept("failures.json")],
                             [("wrong", campaign["campaign_id"])])

            # A file that is wrong, and a campaign that is still running after the timeout.
            self.assertEqual(gate("name: bad\n"), 2)
            self.assertEqual(gate("name: hangs\nbenchmarks:\n  - hang: {}\n", "1s"), 124)
            self.assertTrue(fleet.campaign("hangs")["state"].endswith("CANCELLED"))

    def test_cancel_stops_a_hanging_runner(self):
        with Fleet() as fleet:
            fleet.start()
            fleet.agent("node-a")
            campaign = fleet.submit("name: hangs\nbenchmarks:\n  - hang: {}\n")
            fleet.running_job(campaign)
            fleet.cli("campaign", "cancel", campaign)
            self.assertTrue(fleet.await_end(campaign)["state"].endswith("CANCELLED"))

    def test_rerun_of_a_failed_job(self):
        with Fleet() as fleet:
            fleet.start()
            agent = fleet.agent("node-a")
            campaign = fleet.submit(slow(repetitions=1).replace("retries: 5", "retries: 0"))
            eventually(lambda: fleet.campaign(campaign)["cases_done"] == 1, 30, "the first case")
            for runner in harness.children(agent.pid):
                os.kill(runner, signal.SIGKILL)
            failed = fleet.await_end(campaign)
            self.assertEqual(failed["verdict"], "VERDICT_FAILED")
            self.assertEqual(failed["jobs"]["failed"], 1)
            request = str(uuid.uuid4())
            rerun = ("campaign", "rerun", campaign, "--failed", "--request-id", request)
            fleet.cli(*rerun, "--watch")
            passed = fleet.campaign(campaign)
            self.assertEqual(passed["verdict"], "VERDICT_PASSED")
            self.assertEqual(passed["cases_done"], 2)
            fleet.cli(*rerun)
            self.assertEqual(fleet.campaign(campaign)["verdict"], "VERDICT_PASSED")
            checker.expect_whole(fleet, campaign, cases=2)
            # No job has failed, so there is nothing to queue.
            fleet.cli("campaign", "rerun", campaign, "--failed", code=4)
            fleet.cli("campaign", "rerun", campaign, "--watch")
            checker.expect_whole(fleet, campaign, cases=4)

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
