#!/usr/bin/env python3
"""What tools/bundle_papers.py refuses and writes, on a folder with two of this machine's files."""
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location(
    "bundle_papers", os.path.join(HERE, "..", "..", "..", "tools", "bundle_papers.py"))
papers = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(papers)

COMPILED_IN = "libcli11-dev BSD-3-Clause\nnlohmann-json3-dev MIT\n"


class Papers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.stage = os.path.join(folder.name, "stage")
        self.origins = os.path.join(folder.name, "origins")
        self.table = os.path.join(folder.name, "licences")
        os.makedirs(os.path.join(self.stage, "usr/bin"))
        shutil.copy("/bin/gzip", os.path.join(self.stage, "usr/bin/assay-runner"))
        with open(self.origins, "w", encoding="utf-8") as file:
            file.write("usr/bin/assay-runner\t/bin/gzip\n")
        self.addCleanup(setattr, papers, "LICENCES", papers.LICENCES)
        papers.LICENCES = self.table

    def write(self, licences):
        with open(self.table, "w", encoding="utf-8") as file:
            file.write(licences + COMPILED_IN)
        papers.write(self.stage, self.origins, "assay-node", "1.2.3", "abc", 1700000000, "dev")

    def test_package_without_a_known_licence_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "licence of gzip .*assay-runner"):
            self.write("")

    def test_package_under_the_gpl_alone_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "gzip .*under the GPL"):
            self.write("gzip GPL-3.0-or-later\n")

    def test_choice_and_exception_are_no_gpl(self):
        self.assertFalse(papers.gpl_only("BSD-3-Clause OR GPL-2.0-only"))
        self.assertFalse(papers.gpl_only("GPL-3.0-or-later WITH GCC-exception-3.1"))
        self.assertTrue(papers.gpl_only("GPL-2.0-only OR GPL-3.0-only"))

    def test_file_of_no_package_is_refused(self):
        with open(self.origins, "a", encoding="utf-8") as file:
            file.write(f"usr/lib/x.so\t{self.table}\n")
        with self.assertRaisesRegex(SystemExit, "is in no Debian package"):
            self.write("gzip MIT\n")

    def test_documents_name_packages_and_checksums(self):
        self.write("gzip MIT\n")
        subprocess.run(["sha256sum", "--quiet", "-c", "MANIFEST"], cwd=self.stage, check=True)
        with open(os.path.join(self.stage, "assay-node.spdx.json"), encoding="utf-8") as file:
            document = json.load(file)
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        self.assertEqual(document["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        names = [package["name"] for package in document["packages"]]
        self.assertEqual(names, ["assay-node", "gzip", "libcli11-dev", "nlohmann-json3-dev"])
        self.assertIn("./usr/bin/assay-runner", [file["fileName"] for file in document["files"]])
        self.assertTrue(os.path.isfile(os.path.join(self.stage, "NOTICES/gzip/copyright")))

    def test_newer_symbols_and_missing_libraries_are_named(self):
        papers.check(self.stage)
        newest = papers.NEWEST["GLIBC"]
        self.addCleanup(papers.NEWEST.__setitem__, "GLIBC", newest)
        papers.NEWEST["GLIBC"] = (2, 2, 4)
        with self.assertRaisesRegex(SystemExit, "assay-runner needs GLIBC_2"):
            papers.check(self.stage)
        papers.NEWEST["GLIBC"] = newest
        shutil.copy("/usr/bin/curl", os.path.join(self.stage, "usr/bin/curl"))
        with self.assertRaisesRegex(SystemExit, "curl needs libcurl.so.4, which is not in"):
            papers.check(self.stage)


if __name__ == "__main__":
    unittest.main()
