"""The clients in docs/reference/api.md work as they are printed there: the commands and programs run
against a real coordinator and agent."""

import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import harness  # noqa: E402

PAGE = os.path.join(harness.ROOT, "docs", "reference", "api.md")


def block(language):
    """The one block of this language in the page."""
    with open(PAGE, encoding="utf-8") as file:
        found = re.findall(rf"^```{language}\n(.*?)^```$", file.read(), re.DOTALL | re.MULTILINE)
    assert len(found) == 1, f"{len(found)} blocks of {language}"
    return found[0]


class ApiPage(unittest.TestCase):
    def run_client(self, fleet, program):
        """Its exit status, stdout and stderr."""
        os.symlink(os.path.join(harness.ROOT, "proto"), fleet.path("proto"))
        subprocess.run(["sh", "-e", "-c", block("sh")], cwd=fleet.folder, check=True)
        run = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
            check=False, env={**os.environ, "PYTHONPATH": fleet.path("client"),
                              "ASSAY_COORDINATOR": fleet.coordinator.addresses["grpc"]})
        return run.returncode, run.stdout, run.stderr

    def test_client_explains_a_refusal_by_field(self):
        with harness.Fleet() as fleet:
            fleet.start()
            fleet.agent("node-a", runner=harness.RUNNER)
            wrong = block("python").replace('"128", "256"', '"128", "-1"')
            status, _, errors = self.run_client(fleet, wrong)
            self.assertEqual(status, 1)
            for part in ("INVALID_ARGUMENT", "benchmarks[0].m"):
                self.assertIn(part, errors)

    def test_http_clients_read_what_the_grpc_client_submitted_and_watched(self):
        with harness.Fleet() as fleet:
            fleet.start()
            fleet.agent("node-a", runner=harness.RUNNER)
            status, out, errors = self.run_client(fleet, block("python"))
            self.assertEqual(status, 0, out + errors)
            for size in ("128", "256"):
                self.assertRegex(out, rf"(?m)^{size} gflops [0-9.e+]+ GFLOP/s$")
            self.environment = {**os.environ,
                                "ASSAY_CONSOLE": fleet.coordinator.addresses["console"].rstrip("/")}
            out = self.output("bash", "-eo", "pipefail", "-c", block("bash"))
            self.assertIn("node-a NODE_STATE_CONNECTED", out)
            self.assertIn('"field":"median"', out)
            out = self.output(sys.executable, "-c", block("py"))
            self.assertRegex(out, r"(?m)^256 [0-9.e+]+ GFLOP/s$")
            with self.subTest("Go"):
                if shutil.which("go") is None:
                    self.skipTest("go is not installed")
                program = fleet.path("main.go")
                with open(program, "w", encoding="utf-8") as file:
                    file.write(block("go"))
                self.assertIn("from-python CAMPAIGN_STATE_COMPLETED VERDICT_PASSED",
                              self.output("go", "run", program))

    def output(self, *command):
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                             env=self.environment)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout


if __name__ == "__main__":
    unittest.main()
