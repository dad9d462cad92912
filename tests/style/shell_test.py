"""Checks that shell scripts are strict, executable where they are run, and clean to shellcheck."""

import os
import re
import shutil
import subprocess

import tree

SHEBANG = re.compile(r"^#!.*\b(bash|sh)\b")
# Scripts that others source. They have no first line and set no options.
FRAGMENTS = {"tools/common.sh", "tools/packages.sh"}


def scripts():
    for path in tree.files():
        if path.endswith((".md", ".json", ".py", ".cc", ".h", ".txt")):
            continue
        with open(os.path.join(tree.ROOT, path), "rb") as file:
            first = file.readline(80).decode("utf-8", "replace")
        if SHEBANG.match(first) or path.endswith(".sh"):
            yield path


def main():
    faults = []
    found = list(scripts())
    for path in found:
        if path in FRAGMENTS:
            continue
        if not re.search(r"^set -\w*u", tree.read(path), re.MULTILINE):
            faults.append(f"{path}: no `set -u`")
        if not os.access(os.path.join(tree.ROOT, path), os.X_OK):
            faults.append(f"{path}: not executable")
    if shutil.which("shellcheck"):
        run = subprocess.run(
            ["shellcheck", "--shell=bash", "--severity=warning", "--exclude=SC1091,SC2034,SC2154",
             "--external-sources", *found],
            cwd=tree.ROOT, capture_output=True, text=True)
        if run.returncode:
            faults.append(run.stdout)
    tree.finish(faults)


if __name__ == "__main__":
    main()
