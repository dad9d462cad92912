"""Lists the files of the source tree for the style tests."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IGNORED = {".git", "build", "dist", ".cache", "node_modules", "__pycache__"}


def files(*suffixes):
    """Returns paths relative to the root, sorted. Uses git's list if there is a repository."""
    try:
        listed = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        listed = list(_walk())
    listed = [path for path in listed if os.path.isfile(os.path.join(ROOT, path))]
    return sorted({path for path in listed if not suffixes or path.endswith(suffixes)})


def _walk():
    for folder, children, names in os.walk(ROOT):
        children[:] = [c for c in children if c not in IGNORED and not c.startswith("build-")]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), ROOT)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def finish(faults):
    """Prints the faults, or that there are none, and ends the test."""
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    sys.exit(1 if faults else 0)
