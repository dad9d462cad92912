"""Runs every command of deploy/compose with the real programs, on loopback: PostgreSQL, the
coordinator, the simulated fleet, the nights, Prometheus and Alertmanager. Only Grafana is left out.

Debian's Prometheus and Alertmanager stand in for the images'. Times are shorter: minutes of the
rules and of the faults become seconds.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import urllib.request

from stack import COMPOSE, Stack, yaml

import harness  # noqa: E402
from alerts_test import shortened
from harness import eventually, fetch

SKIPPED = 77
PROGRAMS = ("prometheus", "prometheus-alertmanager", "amtool", "haproxy", "curl", "wget")
EXPECTED = {"AgentDown", "OutlierGPU", "RegressionConfirmed", "ThrottledDuringBenchmark"}
READER_PASSWORD = "secret-of-the-reader"
NO_PRIVILEGE = "42501"  # The SQLSTATE insufficient_privilege.


def quick_scrapes(text):
    return re.sub(r"(scrape|evaluation)_interval: 10s", r"\1_interval: 500ms", text)


class StackTest(harness.FleetCase):
    def setUp(self):
        super().setUp()
        self.fleet = self.open(harness.Fleet())
        self.fleet.postgres.start()
        self.stack = Stack(self.fleet, edit={
            "alerts.yaml": shortened, "prometheus.yml": quick_scrapes,
            "h200.yaml": lambda text: text.replace("after: 1m", "after: 5s"),
        }, ASSAY_DEMO_PAUSE="0")

    def start(self, name):
        process = self.stack.add(name).start()
        if "healthcheck" in self.stack.services[name]:
            check = self.stack.health_check(name)
            eventually(lambda: self.healthy(process, check), 60, f"the health of {name}")
        return process

    def healthy(self, process, check):
        self.assertTrue(process.running(), process.tail())
        return subprocess.run(check, capture_output=True, check=False).returncode == 0

    def alerts(self):
        return json.loads(fetch(self.stack.url(9093, "/api/v2/alerts")))

    def test_findings_of_the_demonstration_reach_alertmanager(self):
        self.create_reader()
        for name in ("coordinator", "console", "alertmanager", "prometheus", "fleet-h200",
                     "fleet-h100"):
            self.start(name)
        self.assertTrue(json.loads(fetch(self.stack.url(7981, "/info")))["version"])
        nights = self.start("nights")
        seen = set()

        def complete():
            if not nights.running():
                self.assertEqual(nights.process.returncode, 0, nights.tail())
            seen.update(alert["labels"]["alertname"] for alert in self.alerts())
            return seen >= EXPECTED and not nights.running()
        try:
            eventually(complete, 900, f"{EXPECTED}")
        except AssertionError as error:
            raise AssertionError(f"{error}; seen: {seen}") from None
        self.assertEqual(seen, EXPECTED)
        self.assertEqual(self.fleet.postgres.rows("SELECT name FROM schedule"), [["nightly"]])

        with self.subTest("a second start does not repeat the nights"):
            campaigns = ("SELECT campaign_id FROM campaign WHERE campaign_id NOT IN (SELECT "
                         "campaign_id FROM schedule_run WHERE campaign_id IS NOT NULL) ORDER BY 1")
            before = self.fleet.postgres.rows(campaigns)
            again = self.start("nights")
            eventually(lambda: not again.running(), 30, "the end")
            self.assertEqual(again.process.returncode, 0)
            self.assertEqual(self.fleet.postgres.rows(campaigns), before)
        with self.subTest("the reader of the dashboards sees results and changes nothing"):
            self.check_reader()

    def test_coordinator_outage_silences_its_consequences(self):
        self.start("alertmanager")
        for labels in ({"alertname": "AgentDown", "severity": "warning"},
                       {"alertname": "CoordinatorNotReady", "severity": "warning"}):
            self.post(labels)
        eventually(lambda: len(self.alerts()) == 2, 30, "two alerts")
        self.assertEqual(self.suppressed(), set())
        self.post({"alertname": "CoordinatorNotReady", "severity": "critical"})
        eventually(lambda: self.suppressed() == {"AgentDown"}, 30, "the inhibition of AgentDown")

    def post(self, labels):
        request = urllib.request.Request(
            self.stack.url(9093, "/api/v2/alerts"), data=json.dumps([{"labels": labels}]).encode(),
            headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10):
            pass

    def suppressed(self):
        return {alert["labels"]["alertname"] for alert in self.alerts()
                if alert["status"]["inhibitedBy"]}

    def create_reader(self):
        """Runs the script that the image of PostgreSQL runs on an empty database."""
        postgres = self.fleet.postgres
        subprocess.run([os.path.join(COMPOSE, "postgres", "10-reader.sh")], check=True, env={
            **os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(postgres.port),
            "POSTGRES_USER": "assay", "POSTGRES_DB": "assay",
            "ASSAY_READER_PASSWORD": READER_PASSWORD})

    def check_reader(self):
        connection = (f"host=127.0.0.1 port={self.fleet.postgres.port} user=assay_reader "
                      "dbname=assay")
        read = subprocess.run(["psql", "-XAtc", "SELECT count(*) FROM result_view", connection],
                              capture_output=True, text=True, check=True)
        self.assertGreater(int(read.stdout), 1000)
        write = subprocess.run(["psql", "-X", "-v", "VERBOSITY=sqlstate",
                                "-c", "SET default_transaction_read_only = off",
                                "-c", "DELETE FROM node", connection],
                               capture_output=True, text=True, check=False)
        self.assertEqual((write.returncode, write.stderr), (1, f"ERROR:  {NO_PRIVILEGE}\n"))


if __name__ == "__main__":
    absent = [name for name in PROGRAMS if not shutil.which(name)]
    if absent or yaml is None:
        print(f"absent: {', '.join(absent) or 'PyYAML'}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
