"""Checks the units of deploy/systemd with `systemd-analyze verify`. Skipped without systemd.
joining_test.py starts agents and coordinators by their command lines."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get("ASSAY_BUILD", os.path.join(ROOT, "build"))
UNITS = sorted(glob.glob(os.path.join(ROOT, "deploy", "systemd", "*.service")))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Units(unittest.TestCase):
    def verify(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("/opt/assay/bin", os.path.join(BUILD, "bin")))
            run = subprocess.run(["systemd-analyze", "verify", path], capture_output=True,
                                 text=True, check=False)
            return run.returncode, run.stdout + run.stderr

    def test_systemd_accepts_them(self):
        self.assertEqual(len(UNITS), 2)
        for path in UNITS:
            self.assertEqual(self.verify(os.path.basename(path), read(path)), (0, ""), path)

    def test_a_misspelt_key_is_found(self):
        text = read(UNITS[0]).replace("PrivateTmp", "PrivatTmp")
        self.assertIn("PrivatTmp", self.verify("assay-agent.service", text)[1])


if __name__ == "__main__":
    if not shutil.which("systemd-analyze"):
        print("skipped: it needs systemd-analyze (Debian: systemd)")
        sys.exit(77)
    unittest.main()
