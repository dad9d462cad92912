"""A minute without PostgreSQL, and one without the coordinator, each under 200 running jobs.

Half of the jobs end during the outage, the other half after it. Each node then runs a second job.
Leases and heartbeats are the coordinator's defaults.

    outage_test.py OutageTest.test_database_is_away
"""

import time
import unittest

import checker
import simulate_test
from harness import Fleet, FleetCase, eventually, let_pass

AWAY = 60.0  # Seconds.
LEASE, HEARTBEAT = "30s", "5s"
NODES_OF_A_KIND = 100
# Names of the nodes begin with these. The values are how long one of their jobs takes.
KINDS = {"short-": "45s", "long-": "100s"}
NODES = NODES_OF_A_KIND * len(KINDS)
CASES = 8
JOBS = 2 * NODES
CAMPAIGN = """
name: outage
retries: 0
repetitions: 2
benchmarks:
  - cpu_memory_bandwidth: {op: [copy, scale, add, triad], bytes: [64MiB, 1GiB]}
"""


class OutageTest(FleetCase):
    def count(self, condition):
        return int(self.fleet.postgres.value(f"SELECT count(*) FROM job WHERE {condition}"))

    def run_through(self, leave, come_back):
        """Runs the campaign and lets something be away meanwhile. Expects that it costs nothing."""
        fleet = self.fleet = self.open(Fleet())
        fleet.lease, fleet.heartbeat = LEASE, HEARTBEAT
        fleet.start()
        for kind, job_time in KINDS.items():
            simulate_test.simulation(fleet, kind, "--profile", "cpu", "--prefix", kind,
                                     nodes=NODES_OF_A_KIND, jobs_take=job_time).start()
        eventually(lambda: len(simulate_test.connected(fleet)) == NODES, 60, "all sessions")
        campaign = fleet.submit(CAMPAIGN)
        eventually(lambda: self.count("state = 'running'") == NODES, 30, "a job on each node")
        # The first results are stored before, so that each job has some of each kind.
        eventually(lambda: self.count("cases_done > 0") >= NODES_OF_A_KIND, 30, "the first results")
        self.assertEqual(self.count("state = 'running'"), NODES)

        leave()
        let_pass(AWAY)
        come_back()
        back = time.monotonic()
        eventually(lambda: len(simulate_test.connected(fleet)) == NODES, 90, "all sessions again")
        print(f"all {NODES} sessions {time.monotonic() - back:.0f} s after the return", flush=True)

        ended = fleet.await_end(campaign, 400)
        self.assertEqual(ended["verdict"], "VERDICT_PASSED", ended)
        self.assertEqual(ended["jobs"]["succeeded"], JOBS, ended["jobs"])
        checker.expect_whole(fleet, campaign, JOBS * CASES)
        checker.expect_nothing_spent(fleet, campaign)
        self.assertEqual(self.count("attempts <> 1 OR epoch <> 1"), 0)
        print(f"{JOBS} jobs in one attempt each, {JOBS * CASES} results once each", flush=True)

    def test_database_is_away(self):
        self.run_through(lambda: self.fleet.postgres.stop(), lambda: self.fleet.postgres.start())

    def test_coordinator_is_away(self):
        self.run_through(lambda: self.fleet.coordinator.kill(),
                         lambda: self.fleet.restart_coordinator())


if __name__ == "__main__":
    unittest.main(verbosity=2)
