"""Checks small rules: the size of files, unfinished code, tests that sleep, scripts that can run,
and flags of results that filters know."""

import os
import re

import tree

CODE = (".h", ".cc", ".cu", ".cuh", ".py", ".sh")
# A file should hold one idea. ./dev house warns at 500 lines.
MAXIMUM_LINES = 800
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
# Tests wait for a condition with a deadline instead of sleeping.
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")
# A fake runner exists to take time, and polling helpers hold the only other sleep.
MAY_SLEEP = {
    "tests/unit/runner/fake_runner.cc",
    "tests/e2e/harness.py",
}

# Finds where code sets a flag on a result.
FLAG = re.compile(r"""(?:flags\.push_back|add_flags|Warn|JudgeSpace)\(\s*"(\w+)\"""")
FLAGS = "wire/result_flags.h"


def flag_faults():
    """Returns flags that the code sets and the list does not have, and the reverse."""
    listed = tree.read(FLAGS)
    listed = set(re.findall(r'"(\w+)"', listed[:listed.index("kOtherDoubts")]))
    flags = {flag for path in tree.files(*CODE) if not path.startswith("tests/")
             for flag in FLAG.findall(tree.read(path))}
    return ([f"{FLAGS}: {flag} is missing" for flag in sorted(flags - listed)] +
            [f"{FLAGS}: nothing sets {flag}" for flag in sorted(listed - flags)])


def main():
    faults = flag_faults()
    for path in tree.files(*CODE):
        text = tree.read(path)
        lines = text.splitlines()
        if len(lines) > MAXIMUM_LINES:
            faults.append(f"{path}: {len(lines)} lines; at most {MAXIMUM_LINES}")
        for number, line in enumerate(lines, 1):
            if path != "tests/style/source_test.py" and UNFINISHED.search(line):
                faults.append(f"{path}:{number}: unfinished: {line.strip()}")
            if (path.startswith("tests/") and path not in MAY_SLEEP and SLEEP.search(line)
                    and path != "tests/style/source_test.py"):
                faults.append(f"{path}:{number}: a test sleeps: {line.strip()}")
            if path.endswith(".h") and number == len(lines) and "#pragma once" not in text:
                faults.append(f"{path}: no #pragma once")
        if text.startswith("#!") and not os.access(os.path.join(tree.ROOT, path), os.X_OK):
            faults.append(f"{path}: begins with #! and cannot be run: chmod +x")
        if text and not text.endswith("\n"):
            faults.append(f"{path}: does not end with a newline")
    tree.finish(faults)


if __name__ == "__main__":
    main()
