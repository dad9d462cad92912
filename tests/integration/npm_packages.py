"""Packages of npm that a test needs, as its package-lock.json lists them."""

import os
import shutil
import subprocess
import sys

SKIPPED = 77
OFFLINE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH",
           "ENOTCACHED")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def _differs(name, source, folder):
    """Tells if a file of `source` is not yet in the folder as it is."""
    target = os.path.join(folder, name)
    if not os.path.isfile(target):
        return True
    with open(os.path.join(source, name), "rb") as wanted, open(target, "rb") as found:
        return wanted.read() != found.read()


def install(source, folder):
    """Installs what source/package-lock.json lists into the folder, once, and returns the path of
    node. Skips the test without node and npm, and where the packages cannot be fetched."""
    node, npm = shutil.which("node") or shutil.which("nodejs"), shutil.which("npm")
    if not node or not npm:
        skip("it needs node and npm (Debian: nodejs, npm)")
    os.makedirs(folder, exist_ok=True)
    packages = ("package.json", "package-lock.json")
    installed = os.path.join(folder, "node_modules", ".package-lock.json")
    if os.path.isfile(installed) and not any(_differs(name, source, folder) for name in packages):
        return node
    for name in packages:
        shutil.copyfile(os.path.join(source, name), os.path.join(folder, name))
    run = subprocess.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode:
        os.remove(os.path.join(folder, "package-lock.json"))
        if any(code in run.stderr for code in OFFLINE):
            skip(f"npm cannot fetch the packages: {run.stderr.strip().splitlines()[0]}")
        sys.exit(run.stdout + run.stderr)
    return node
