"""Checks the alert rules with promtool: their syntax, and unit tests with a firing and a silent case
for each alert. Also checks that each alert is complete and has a runbook."""

import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
RULES = os.path.join(ROOT, "deploy", "prometheus", "alerts.yaml")
UNIT_TESTS = sorted(glob.glob(os.path.join(os.path.dirname(__file__), "*.yaml")))
SKIPPED = 77

try:
    import yaml
except ImportError:
    yaml = None


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def rules():
    return [rule for group in yaml.safe_load(read(RULES))["groups"] for rule in group["rules"]]


class RulesTest(unittest.TestCase):
    def promtool(self, *arguments):
        run = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_rules_are_valid(self):
        self.promtool("check", "rules", RULES)

    def test_unit_tests_pass(self):
        self.promtool("test", "rules", *UNIT_TESTS)

    def test_each_alert_is_tested_firing_and_silent(self):
        firing, silent = set(), set()
        for path in UNIT_TESTS:
            for test in yaml.safe_load(read(path))["tests"]:
                for case in test.get("alert_rule_test", []):
                    (firing if case["exp_alerts"] else silent).add(case["alertname"])
        names = {rule["alert"] for rule in rules()}
        self.assertEqual(names - firing, set(), "alerts without a case in which they fire")
        self.assertEqual(names - silent, set(), "alerts without a case in which they are silent")

    def test_each_alert_is_complete_and_has_a_runbook(self):
        for rule in rules():
            with self.subTest(alert=rule["alert"]):
                self.assertIn("for", rule)
                self.assertIn(rule["labels"]["severity"], ("critical", "warning"))
                annotations = rule["annotations"]
                self.assertEqual(set(annotations), {"summary", "description", "runbook_url"})
                page, _, anchor = annotations["runbook_url"].partition("#")
                headings = re.findall(r"^## (\w+)$", read(os.path.join(ROOT, page)), re.MULTILINE)
                self.assertEqual(anchor, rule["alert"].lower())
                self.assertIn(rule["alert"], headings)


if __name__ == "__main__":
    if yaml is None or not shutil.which("promtool"):
        print("promtool (package prometheus) or PyYAML is absent")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
