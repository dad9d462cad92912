"""One bad day: databases, coordinators and agents that leave for a while cost no job and no result.

Each test is one thing that goes wrong without any enemy. Leases are 5 s, heartbeats 1 s.
"""

import os
import re
import shutil
import signal
import unittest
import urllib.error

import checker
import harness
from harness import Fleet, FleetCase, eventually, let_pass
from relay import Relay

# One job, which must not be retried at the user's expense.
JOB = """
name: {name}
retries: 0
benchmarks:
  - slow: {{value: {values}, millis: {millis}}}
"""
# Longer than a lease, and than the grace that a coordinator gives after its start.
OUTAGE = 7
# Exits at once while the file `broken` exists.
BLACK_HOLE = """#!/bin/sh
[ -e {broken} ] && exit 1
exec {runner} "$@"
"""


def job(name, values=(1, 2), millis=5000):
    return JOB.format(name=name, values=list(values), millis=millis)


class BadDayTest(FleetCase):
    def setUp(self):
        self.fleet = self.open(Fleet())
        self.fleet.start()

    def submit_running(self, agent, text):
        """Submits a campaign and returns its id when the agent runs its job."""
        campaign = self.fleet.submit(text)
        self.fleet.await_runner(agent)
        return campaign

    def expect_passed(self, campaign, cases, seconds=60):
        """Expects that the campaign passes with a result for each case."""
        ended = self.fleet.await_end(campaign, seconds)
        self.assertEqual(ended["verdict"], "VERDICT_PASSED", (ended, self.fleet.jobs(campaign)))
        checker.expect_whole(self.fleet, campaign, cases)

    def await_spooled(self, agent, folder, results=1):
        """Waits until the agent has finished its job and keeps results of it on its disk, at least
        so many. The last one may be written after the end of the runner.
        """
        eventually(lambda: "assay_agent_running_jobs 0" in self.fleet.metrics(agent), 30,
                   "the end of the runner")
        eventually(lambda: len(self.fleet.spool(folder)) >= results, 30, "results in the spool")
        return self.fleet.spool(folder)


class OutageTest(BadDayTest):
    def test_database_away_for_longer_than_a_lease_costs_no_attempt(self):
        fleet = self.fleet
        campaign = self.submit_running(fleet.agent("node-a"), job("database-away"))
        fleet.postgres.stop()
        # The first case ends meanwhile, the second one afterwards.
        let_pass(OUTAGE)
        fleet.postgres.start()
        self.expect_passed(campaign, 2)
        checker.expect_nothing_spent(fleet, campaign)

    def test_coordinator_killed_for_longer_than_a_lease_costs_no_attempt(self):
        fleet = self.fleet
        campaign = self.submit_running(fleet.agent("node-a"), job("coordinator-away"))
        fleet.coordinator.kill()
        let_pass(OUTAGE)
        fleet.restart_coordinator()
        self.expect_passed(campaign, 2)
        checker.expect_nothing_spent(fleet, campaign)

    def test_coordinator_suspended_for_longer_than_a_lease_costs_no_attempt(self):
        fleet = self.fleet
        campaign = self.submit_running(fleet.agent("node-a"), job("coordinator-suspended"))
        fleet.coordinator.send_signal(signal.SIGSTOP)
        let_pass(OUTAGE)
        fleet.coordinator.send_signal(signal.SIGCONT)
        self.expect_passed(campaign, 2)
        checker.expect_nothing_spent(fleet, campaign)

    def test_read_only_database_ends_no_session(self):
        fleet = self.fleet
        agent = fleet.agent("node-a")
        campaign = self.submit_running(agent, job("read-only", millis=3000))

        def read_only(value):
            # Also changes the sessions that exist. A session may always make itself writable.
            for statement in (f"ALTER SYSTEM SET default_transaction_read_only = {value}",
                              "SELECT pg_reload_conf()"):
                fleet.postgres.rows(statement, writable=True)
        read_only("on")
        # The first case ends meanwhile, and its result cannot be stored.
        eventually(lambda: fleet.spool("node-a"), 30, "a result in the spool")
        eventually(lambda: fleet.postgres.server.said("in a read-only transaction"), 30,
                   "a refused statement")
        read_only("off")
        self.expect_passed(campaign, 2)
        checker.expect_nothing_spent(fleet, campaign)
        self.assertEqual(agent.said("in session with coordinator"), 1)

    def ready(self):
        try:
            harness.fetch(f"http://{self.fleet.coordinator.addresses['http']}/readyz")
        except (urllib.error.HTTPError, TimeoutError, OSError):
            return False
        return True

    def test_coordinator_of_a_suspended_database_is_not_ready_and_obeys_sigterm(self):
        fleet = self.fleet
        campaign = self.submit_running(fleet.agent("node-a"), job("suspended", millis=8000))
        self.assertTrue(self.ready())
        fleet.postgres.suspend()
        try:
            eventually(lambda: not self.ready(), 30, "the coordinator's notice of the database")
            self.assertEqual(fleet.coordinator.stop(seconds=10), 0)
        finally:
            fleet.postgres.resume()
        fleet.restart_coordinator()
        self.expect_passed(campaign, 2)
        checker.expect_nothing_spent(fleet, campaign)


class AgentTest(BadDayTest):
    def test_agent_restarted_by_sigterm_hands_its_job_back(self):
        fleet = self.fleet
        agent = fleet.agent("node-a")
        campaign = self.submit_running(agent, job("upgrade", [1, 2, 3], 1500))

        def stored():
            return fleet.postgres.rows("SELECT case_index, epoch FROM case_result ORDER BY 1")
        eventually(stored, 30, "the first case's result")
        self.assertEqual(agent.stop(), 0)
        before = stored()
        again = fleet.agent("node-a")
        self.expect_passed(campaign, 3)
        checker.expect_nothing_spent(fleet, campaign, {"AGENT_STOPPED"})
        # A finished case that is measured again has another result, which is refused.
        self.assertEqual(stored()[:len(before)], before)
        self.assertEqual(again.said("did not store"), 0)
        self.assertEqual([row[1] for row in stored()].count("1"), len(before))

    def test_results_that_arrive_after_the_attempt_was_given_up_mend_the_job(self):
        fleet = self.fleet
        with Relay(fleet.address()) as relay:
            agent = fleet.agent("node-a", coordinator=relay.address)
            campaign = self.submit_running(agent, job("late", [1, 2, 3], 500))
            relay.cut()
            self.await_spooled(agent, "node-a")
            eventually(lambda: fleet.jobs(campaign)[0]["state"] == "JOB_STATE_FAILED", 30,
                       "the end of the attempt")
            relay.restore()
            eventually(lambda: fleet.jobs(campaign)[0]["state"] == "JOB_STATE_SUCCEEDED", 60,
                       "the mended job")
            eventually(lambda: fleet.campaign(campaign)["verdict"] == "VERDICT_PASSED", 30,
                       "the mended verdict")
            checker.expect_whole(fleet, campaign, 3)
            eventually(lambda: not fleet.spool("node-a"), 30, "the end of the spool")

    def test_silent_node_gets_no_job(self):
        fleet = self.fleet
        agents = {name: fleet.agent(name) for name in ("node-a", "node-b")}
        agents["node-b"].send_signal(signal.SIGSTOP)
        eventually(lambda: fleet.postgres.rows(
            "SELECT 1 FROM node_session JOIN node USING (node_id) "
            "WHERE name = 'node-b' AND now() - last_heartbeat_time > interval '3 s'"),
            30, "two missed heartbeats")
        campaign = fleet.submit("name: silent\nplacement: any\nabsent: warn\nrepetitions: 10\n"
                                "retries: 0\nbenchmarks:\n  - ok: {value: 1}\n")
        self.expect_passed(campaign, 10)
        self.assertEqual({name for each in fleet.jobs(campaign) for name in each["node_names"]},
                         {"node-a"})
        checker.expect_nothing_spent(fleet, campaign)
        fleet.await_node("node-b", "DISCONNECTED")
        agents["node-b"].send_signal(signal.SIGCONT)
        fleet.await_node("node-b", seconds=90)

    def test_two_agents_with_one_node_id_are_named(self):
        fleet = self.fleet
        first = fleet.agent("node-a")
        eventually(lambda: first.said("in session with coordinator"), 30, "the first session")
        first.stop()
        shutil.copytree(fleet.path("node-a"), fleet.path("copy"))
        agent = fleet.agent("node-a")
        copy = fleet.new_agent("copy", name="node-a").start()
        eventually(lambda: fleet.coordinator.said("two agents use node id"), 30,
                   "the line about the second agent")
        node_id = fleet.cli_json("node", "show", "node-a")["description"]["node_id"]
        self.assertEqual(set(re.findall(r"two agents use node id ([0-9a-f-]{36})",
                                        fleet.coordinator.tail(100_000))), {node_id})
        campaign = fleet.submit("name: twins\nretries: 0\nrepetitions: 5\n"
                                "benchmarks:\n  - slow: {value: 1, millis: 500}\n")
        self.expect_passed(campaign, 5)
        checker.expect_nothing_spent(fleet, campaign)
        # Each log says where the other agent is.
        self.assertTrue(agent.said("has refused another agent with the node id"))
        self.assertTrue(copy.said(f"two agents use node id {node_id}"))
        # The session of the first one stays. Its log is continued from before the copy.
        self.assertEqual(agent.said("in session with coordinator"), 2)
        self.assertEqual(copy.said("in session with coordinator"), 0)

    def test_fresh_machine_takes_the_name_of_a_node_that_died_with_its_coordinator(self):
        fleet = self.fleet
        agent = fleet.agent("node-a")
        old = fleet.nodes()[0]["description"]["node_id"]
        agent.kill()
        fleet.coordinator.kill()
        fleet.restart_coordinator()
        fleet.await_node("node-a", "DISCONNECTED")
        fleet.new_agent("fresh", name="node-a").start()

        def taken():
            return [node for node in fleet.nodes() if node["description"]["name"] == "node-a" and
                    node["state"] == "NODE_STATE_CONNECTED"]
        node, = eventually(taken, 60, "the fresh machine")
        self.assertNotEqual(node["description"]["node_id"], old)
        campaign = fleet.submit("name: fresh\nabsent: warn\nbenchmarks:\n  - ok: {value: 1}\n")
        self.expect_passed(campaign, 1)

    def test_black_hole_loses_few_jobs_and_is_quarantined_until_it_works(self):
        fleet = self.fleet
        broken, script = fleet.path("broken"), fleet.path("black-hole.sh")
        with open(script, "w", encoding="ascii") as file:
            file.write(BLACK_HOLE.format(broken=broken, runner=harness.FAKE_RUNNER))
        os.chmod(script, 0o755)
        for name in ("node-a", "node-b"):
            fleet.agent(name)
        fleet.agent("hole", runner=script)
        with open(broken, "w", encoding="ascii"):
            pass
        campaign = fleet.submit("name: black-hole\nplacement: any\nretries: 0\nrepetitions: 40\n"
                                "benchmarks:\n  - slow: {value: 1, millis: 200}\n")
        jobs = fleet.await_end(campaign)["jobs"]
        self.assertGreaterEqual(jobs["succeeded"], 35, jobs)
        self.assertEqual(jobs["succeeded"] + jobs["failed"], 40, jobs)
        self.assertEqual({name for each in fleet.jobs(campaign) for name in each["node_names"]
                          if each["state"] == "JOB_STATE_FAILED"}, {"hole"})

        def quarantine():
            return fleet.cli_json("node", "show", "hole").get("quarantine", "")
        self.assertNotEqual(quarantine(), "")
        # A check that fails must not end the quarantine.
        eventually(lambda: fleet.coordinator.said("node hole stays quarantined"), 60,
                   "a check of the broken node")
        self.assertNotEqual(quarantine(), "")
        os.unlink(broken)
        eventually(lambda: not quarantine(), 60, "the end of the quarantine")
        campaign = fleet.submit("name: repaired\nnodes: name = hole\nbenchmarks:\n"
                                "  - ok: {value: 1}\n")
        self.expect_passed(campaign, 1)


class WrongDatabaseTest(BadDayTest):
    def test_empty_database_costs_no_spooled_result(self):
        fleet = self.fleet
        agent = fleet.agent("node-a")
        campaign = self.submit_running(agent, job("wrong-database", [1, 2, 3], 300))
        fleet.coordinator.kill()
        spooled = self.await_spooled(agent, "node-a")
        fleet.postgres.rows("CREATE DATABASE wrong", "postgres")
        fleet.restart_coordinator(database=fleet.postgres.conninfo_of("wrong"))
        fleet.await_node("node-a")
        # The agent works for this coordinator too, so it has had the chance to lose results.
        other = fleet.submit("name: other\nbenchmarks:\n  - ok: {value: 1}\n")
        self.assertEqual(fleet.await_end(other)["jobs"]["succeeded"], 1)
        self.assertEqual(sorted(fleet.spool("node-a")), sorted(spooled))
        fleet.coordinator.kill()
        fleet.restart_coordinator()
        self.expect_passed(campaign, 3)
        checker.expect_nothing_spent(fleet, campaign)
        eventually(lambda: not fleet.spool("node-a"), 30, "the end of the spool")

    def test_fleet_goes_on_after_a_restore_into_another_cluster(self):
        fleet = self.fleet
        agent = fleet.agent("node-a")
        campaign = fleet.submit("name: before\nbenchmarks:\n  - ok: {value: 1}\n")
        self.expect_passed(campaign, 1)
        dump = fleet.path("dump.sql")
        fleet.postgres.dump(dump)
        fleet_id = fleet.postgres.value("SELECT fleet_id FROM fleet")
        self.submit_running(agent, job("after-the-dump", [1, 2, 3], 300))
        fleet.coordinator.kill()
        spooled = self.await_spooled(agent, "node-a", 3)
        fleet.postgres.stop()

        fleet.postgres = harness.Postgres(fleet.path("pg-restored")).start()
        fleet.postgres.restore(dump)
        fleet.restart_coordinator()
        self.assertEqual(fleet.postgres.value("SELECT fleet_id FROM fleet"), fleet_id)
        self.expect_passed(campaign, 1)
        eventually(lambda: agent.said("in session with coordinator") == 2, 60,
                   "the agent's session with the new coordinator")
        file = fleet.write_campaign("name: restored\nbenchmarks:\n  - ok: {value: [1, 2]}\n")
        fleet.cli("campaign", "submit", file, "--watch")
        checker.expect_whole(fleet)
        # The restored database does not know the job of these, and a better backup might.
        self.assertEqual(sorted(fleet.spool("node-a")), sorted(spooled))


class UserTest(BadDayTest):
    def test_interrupted_watch_does_not_exit_as_if_the_campaign_had_passed(self):
        fleet = self.fleet
        agent = fleet.agent("node-a")
        file = fleet.write_campaign("name: watched\nbenchmarks:\n  - hang: {}\n")
        watches = {
            signal.SIGINT: fleet.add("submit-watch",
                                     fleet.command("campaign", "submit", file, "--watch")),
            signal.SIGTERM: fleet.add("watch", fleet.command("campaign", "watch", "watched"))}
        for number, watch in watches.items():
            watch.start()
            fleet.await_runner(agent)
            eventually(lambda watch=watch: watch.tail(), 30, "the watch's first line")
            watch.send_signal(number)
            # A shell sees both forms as 128 + signal.
            self.assertIn(watch.process.wait(15), (128 + number, -number), watch.tail())
        self.assertEqual(fleet.campaign("watched")["state"], "CAMPAIGN_STATE_ACTIVE")
        fleet.cli("campaign", "cancel", "watched")

    def refused(self, text):
        """Expects that the campaign is refused and not stored. Returns what the user reads."""
        before = self.fleet.postgres.value("SELECT count(*) FROM campaign")
        run = self.fleet.cli("campaign", "submit", self.fleet.write_campaign(text), code=None)
        self.assertIn(run.returncode, (2, 4), run)
        self.assertEqual(self.fleet.postgres.value("SELECT count(*) FROM campaign"), before)
        return run.stderr

    def expect_coverage(self, campaign, nodes, absent):
        coverage = campaign["coverage"]
        self.assertEqual((coverage["node_count"], coverage.get("absent_node_count", 0),
                          coverage.get("absent_nodes", [])), (nodes, len(absent), absent))

    def test_campaign_says_which_nodes_it_covers(self):
        fleet = self.fleet
        fleet.agent("node-a")
        fleet.agent("node-b").stop()
        fleet.await_node("node-b", "DISCONNECTED")
        text = "name: {}\n{}benchmarks:\n  - ok: {{value: 1}}\n"
        accept = "accept:\n  - ok.score >= 1 points\n"
        for options in (accept, "absent: fail\n", "absent: warn\nexpect_nodes: 3\n"):
            self.refused(text.format("refused", options))

        file = fleet.write_campaign(text.format("warns", "absent: warn\n" + accept))
        dry = fleet.cli_json("campaign", "submit", file, "--dry-run")
        self.expect_coverage(dry, 2, ["node-b"])
        spec = {**dry["spec"], "absent": "ABSENT_POLICY_UNSPECIFIED"}
        self.assertEqual(fleet.refusal("CampaignService/CreateCampaign", {"spec": spec}),
                         "NODES_ABSENT")
        [absent] = dry["coverage"]["absent_nodes"]
        self.assertIn(absent, self.refused(text.format("refused", accept)))
        watched = fleet.cli("campaign", "submit", file, "--watch")
        self.assertIn(absent, watched.stdout + watched.stderr)
        shown = fleet.campaign("warns")
        self.expect_coverage(shown, 2, ["node-b"])
        self.assertEqual(shown["jobs"]["succeeded"], 1, shown)
        # Without rules the default is to warn.
        plain = fleet.submit(text.format("plain", "expect_nodes: 2\n"))
        self.expect_coverage(fleet.await_end(plain), 2, ["node-b"])

        waits = fleet.submit(text.format("waits", "absent: wait\n" + accept))
        eventually(lambda: fleet.campaign(waits)["jobs"].get("succeeded") == 1, 30,
                   "the job of the connected node")
        shown = fleet.campaign(waits)
        self.assertEqual(shown["jobs"]["queued"], 1, shown)
        self.expect_coverage(shown, 2, ["node-b"])
        fleet.agent("node-b")
        self.expect_passed(waits, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
