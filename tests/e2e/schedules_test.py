"""Campaigns that recur, with two coordinators that are killed around the times of runs."""

import contextlib
import threading
import unittest

from harness import FleetCase, eventually
from replicas import Replicas

CAMPAIGN = """
name: sweep
nodes: name = node-a
absent: wait
benchmarks:
  - slow: {value: 1, millis: 50}
"""


class SchedulesTest(FleetCase):
    def setUp(self):
        self.fleet = self.open(Replicas())
        self.fleet.lease, self.fleet.heartbeat = "2s", "500ms"
        self.fleet.start()
        self.fleet.agent("node-a")
        # Next year, so that only the times that a test sets are due.
        self.add("@yearly")

    def add(self, cron, *options, code=0):
        return self.fleet.cli("schedule", "add", self.fleet.write_campaign(CAMPAIGN), "--cron",
                              cron, "--time-zone", "Europe/Berlin", "--name", "nightly",
                              "--overlap", "allow", *options, code=code)

    def make_due(self):
        """Makes the schedule due now, and returns the time as the list shows it."""
        return self.fleet.postgres.value(
            "UPDATE schedule SET next_time = date_trunc('second', now()) RETURNING "
            "to_char(next_time AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")

    def runs(self):
        schedule, = self.fleet.cli_json("schedule", "list")
        return schedule["runs"]

    def campaigns(self):
        return [one["campaign_id"] for one in self.fleet.cli_json("campaign", "list")
                if one["schedule"] == "nightly"]

    def await_run(self, due):
        def run():
            return next((one for one in self.runs() if one["time"] == due), None)
        return eventually(run, 30, f"the run of {due}")

    @contextlib.contextmanager
    def unrecorded(self):
        """Keeps runs from being recorded, although their campaigns can be created."""
        def hold():
            with contextlib.suppress(AssertionError):  # Its connection is closed below.
                self.fleet.postgres.rows(
                    "BEGIN; LOCK TABLE schedule_run IN EXCLUSIVE MODE; SELECT pg_sleep(60)")
        holders = "pg_stat_activity WHERE wait_event = 'PgSleep'"
        thread = threading.Thread(target=hold)
        thread.start()
        try:
            eventually(lambda: self.fleet.postgres.rows(f"SELECT pid FROM {holders}"), 30,
                       "the lock")
            yield
        finally:
            self.fleet.postgres.rows(f"SELECT pg_terminate_backend(pid) FROM {holders}")
            thread.join()

    def test_due_schedule_creates_its_campaign_and_goes_on(self):
        fleet = self.fleet
        self.add("0 0 30 2 *", code=2)
        self.add("@daily", code=4)  # The name is taken.
        run = self.await_run(self.make_due())
        self.assertEqual(run["outcome"], "created")
        ended = fleet.await_end(run["campaign_id"])
        self.assertEqual((ended["name"], ended["schedule"], ended["verdict"]),
                         ("sweep", "nightly", "VERDICT_PASSED"))
        self.assertIn("nightly", fleet.cli("campaign", "show", run["campaign_id"]).stdout)
        schedule, = fleet.cli_json("schedule", "list")
        self.assertTrue(schedule["next_time"].endswith("-12-31T23:00:00Z"), schedule)
        leader = fleet.coordinators[fleet.leader()]
        self.assertIn('assay_schedule_runs_total{outcome="created"} 1', fleet.metrics(leader))
        fleet.cli("schedule", "remove", "nightly")
        self.assertEqual(fleet.cli_json("schedule", "list"), [])
        self.assertEqual(self.campaigns(), [run["campaign_id"]])

    def kill_leader(self):
        killed, successor = self.fleet.leader(), self.fleet.follower()
        self.fleet.coordinators[killed].kill()
        return killed, successor

    def test_killed_leaders_leave_one_campaign_per_due_time(self):
        fleet = self.fleet
        # Killed between the creation of the campaign and the record of the run.
        with self.unrecorded():
            due = self.make_due()
            eventually(self.campaigns, 30, "the campaign")
            killed, successor = self.kill_leader()
        fleet.await_leader(successor)
        self.assertEqual(self.await_run(due)["outcome"], "created")
        self.assertEqual(self.campaigns(), [self.runs()[0]["campaign_id"]])
        fleet.coordinators[killed].start()
        # Killed when the run is due.
        due = self.make_due()
        _, successor = self.kill_leader()
        fleet.await_leader(successor)
        run = self.await_run(due)
        self.assertEqual([one["outcome"] for one in self.runs()], ["created", "created"])
        self.assertEqual(self.campaigns(), [one["campaign_id"] for one in self.runs()])
        self.assertEqual(fleet.await_end(run["campaign_id"])["verdict"], "VERDICT_PASSED")


if __name__ == "__main__":
    unittest.main(verbosity=2)
