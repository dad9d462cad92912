"""Two coordinators on one database: either may be asked, one schedules, and either may die."""

import signal
import sys
import unittest

import checker
from harness import FleetCase, eventually
from replicas import Replicas

JOBS = """
name: {name}
placement: any
retries: 0
repetitions: {repetitions}
benchmarks:
  - slow: {{value: [1, 2], millis: {millis}}}
"""


def jobs(name, repetitions=4, millis=3000):
    return JOBS.format(name=name, repetitions=repetitions, millis=millis)


class TogetherTest(FleetCase):
    """Both coordinators run. The tests share one fleet and leave it as it was."""

    @classmethod
    def setUpClass(cls):
        cls.fleet = Replicas().__enter__()
        try:
            cls.fleet.start()
            # Each dials one coordinator, which is not the elected one for half of them.
            cls.agents = {
                name: cls.fleet.new_agent(
                    name, coordinator=cls.fleet.address_of(coordinator)).start()
                for name, coordinator in (("node-a", "c1"), ("node-b", "c1"),
                                          ("node-c", "c2"), ("node-d", "c2"))}
            for name in cls.agents:
                cls.fleet.await_node(name)
        except BaseException:
            cls.fleet.__exit__(*sys.exc_info())
            raise

    @classmethod
    def tearDownClass(cls):
        cls.fleet.__exit__(AssertionError if cls.failed else None, None, None)

    def tearDown(self):
        self.note_failure()

    def expect_passed(self, campaign, cases):
        ended = self.fleet.await_end(campaign)
        self.assertEqual(ended["verdict"], "VERDICT_PASSED", (ended, self.fleet.jobs(campaign)))
        checker.expect_whole(self.fleet, campaign, cases)
        checker.expect_nothing_spent(self.fleet, campaign)

    def test_agents_of_either_end_up_with_the_elected_one(self):
        fleet = self.fleet
        self.assertEqual(len(fleet.owners()), 1)
        for name in (fleet.leader(), fleet.follower()):
            with fleet.ask(name):
                states = {node["description"]["name"]: node["state"] for node in fleet.nodes()}
                self.assertLessEqual(
                    {(agent, "NODE_STATE_CONNECTED") for agent in self.agents}, states.items())
        self.assertEqual(fleet.coordinators[fleet.follower()].said("is in session"), 0)

    def test_gang_over_agents_that_dialled_different_coordinators_runs(self):
        fleet = self.fleet
        campaign = fleet.submit("name: gang\nnodes: name = node-a OR name = node-c\nretries: 0\n"
                                "benchmarks:\n  - gang_ok: {ranks: 2, value: 1}\n")
        self.expect_passed(campaign, 1)
        self.assertEqual(sorted(fleet.jobs(campaign)[0]["node_names"]), ["node-a", "node-c"])

    def test_campaign_submitted_to_the_follower_runs_and_is_watched_there(self):
        fleet = self.fleet
        file = fleet.write_campaign(jobs("at-the-follower", 4, 200))
        with fleet.ask(fleet.follower()):
            fleet.cli("campaign", "submit", file, "--watch")
            self.expect_passed(fleet.campaign("at-the-follower")["campaign_id"], 8)

    def test_dialled_node_has_one_session_and_keeps_it(self):
        fleet = self.fleet
        agent = fleet.agent("dialled", attach=False)
        # The CLI asks the follower first.
        both = [fleet.address_of(fleet.follower()), fleet.address_of(fleet.leader())]
        fleet.address = lambda: ",".join(both)
        try:
            fleet.cli("node", "add", agent.addresses["grpc"])
        finally:
            del fleet.address
        fleet.await_node("dialled")
        # Takes longer than the interval at which coordinators look for addresses to dial.
        campaign = fleet.submit("name: dialled\nnodes: name = dialled\nrepetitions: 8\n"
                                "retries: 0\nbenchmarks:\n  - slow: {value: 1, millis: 800}\n")
        self.expect_passed(campaign, 8)
        self.assertEqual(agent.said("in session with coordinator"), 1)
        fleet.cli("node", "remove", "dialled")
        self.assertNotIn("dialled", [node["description"]["name"] for node in fleet.nodes()])
        agent.stop()


class HandoverTest(FleetCase):
    def start(self, lease="5s"):
        fleet = self.open(Replicas())
        fleet.lease = lease
        fleet.start()
        self.agents = [fleet.agent(f"node-{number}") for number in range(4)]
        return fleet

    def running(self, fleet, **options):
        """Submits a campaign with jobs on all nodes, and watches it."""
        campaign = fleet.submit(jobs("handover", **options))
        for agent in self.agents:
            fleet.await_runner(agent)
        watch = fleet.add("watch", fleet.command("campaign", "watch", campaign)).start()
        eventually(lambda: watch.tail(), 30, "the watch's first line")
        return campaign, watch

    def expect_passed(self, fleet, campaign, watch, cases):
        ended = fleet.await_end(campaign)
        self.assertEqual(ended["verdict"], "VERDICT_PASSED", (ended, fleet.jobs(campaign)))
        self.assertEqual(watch.process.wait(30), 0, watch.tail())
        checker.expect_whole(fleet, campaign, cases)
        checker.expect_nothing_spent(fleet, campaign)
        self.assertEqual(len(fleet.owners()), 1)

    def test_killed_leader_is_replaced_and_its_jobs_go_on(self):
        fleet = self.start()
        campaign, watch = self.running(fleet)
        leader, follower = fleet.leader(), fleet.follower()
        term = fleet.scheduler()[1]
        fleet.coordinators[leader].kill()
        fleet.await_leader(follower)
        self.assertEqual(fleet.scheduler()[1], term + 1)
        fleet.coordinator = fleet.coordinators[follower]
        self.expect_passed(fleet, campaign, watch, 8)
        # The killed one comes back as a follower, and can be asked.
        fleet.coordinators[leader].start()
        with fleet.ask(leader):
            self.assertEqual(fleet.campaign(campaign)["verdict"], "VERDICT_PASSED")
        self.assertEqual(fleet.scheduler(), (follower, term + 1))

    def test_leader_that_ends_hands_over_without_waiting_for_its_lease(self):
        # Within the test's patience no lease of this length ends.
        fleet = self.start(lease="10m")
        campaign, watch = self.running(fleet)
        leader, follower = fleet.leader(), fleet.follower()
        self.assertEqual(fleet.coordinators[leader].stop(), 0)
        fleet.await_leader(follower)
        fleet.coordinator = fleet.coordinators[follower]
        self.expect_passed(fleet, campaign, watch, 8)

    def test_leader_that_was_suspended_does_not_schedule_when_it_wakes(self):
        fleet = self.start()
        campaign, watch = self.running(fleet)
        leader, follower = fleet.leader(), fleet.follower()
        fleet.coordinators[leader].send_signal(signal.SIGSTOP)
        try:
            fleet.await_leader(follower)
        finally:
            fleet.coordinators[leader].send_signal(signal.SIGCONT)
        eventually(lambda: fleet.coordinators[leader].said("schedules the fleet now"), 30,
                   "the former leader's word about its successor")
        fleet.coordinator = fleet.coordinators[follower]
        self.expect_passed(fleet, campaign, watch, 8)
        again = fleet.submit(jobs("again", 8, 100))
        self.assertEqual(fleet.await_end(again)["verdict"], "VERDICT_PASSED")
        checker.expect_nothing_spent(fleet, again)
        self.assertEqual(fleet.scheduler()[0], follower)


if __name__ == "__main__":
    unittest.main(verbosity=2)
