#!/usr/bin/env python3
"""./dev house: how large and how plain the tree is, against its limits.

Prints one row a figure and exits 1 if one is over its limit.
"""

import collections
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "style"))

import tree  # noqa: E402

CODE = (".cc", ".h", ".cu", ".cuh")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# An assertion on the words of a message, in C++ and in Python.
PROSE = re.compile(r"HasSubstr|ContainsRegex|MatchesRegex|StartsWith\(\"|EndsWith\(\"|"
                   r"EXPECT_(?:EQ|NE)\([^;]*(?:message\(\)|stderr_text|\berrors?\b)[^;]*\"|"
                   r"assert(?:In|Regex)\(\s*f?\"")
REASON_TABLE = "wire/reasons.cc"


def production(*suffixes):
    return [path for path in tree.files(*suffixes) if not path.startswith("tests/")]


def lines(path):
    return tree.read(path).count("\n")


def headers_with_one_user():
    """Headers that one file includes, besides the source of the same name.

    A test is a user: a part that is tested by itself is worth a header.
    """
    users = collections.defaultdict(set)
    for path in tree.files(*CODE):
        for header in INCLUDE.findall(tree.read(path)):
            if os.path.splitext(header)[0] != os.path.splitext(path)[0]:
                users[header].add(path)
    return [header for header in production(".h", ".cuh") if len(users[header]) == 1]


def comment_blocks(text):
    """The first line of every block of // comments."""
    previous = False
    for line in text.splitlines():
        match = re.match(r"\s*///? ?(.*)", line)
        if match and not previous:
            yield match.group(1)
        previous = match is not None


def obscure_openings():
    return [f"{path}: {first}" for path in tree.files(*CODE)
            for first in comment_blocks(tree.read(path)) if re.match(r"(?:Of|What)\b", first)]


def prose_assertions():
    return [path for path in tree.files(".cc", ".cu", ".h", ".py")
            if path.startswith("tests/") and not path.startswith(("tests/style/", "tests/wording"))
            for _ in PROSE.findall(tree.read(path))]


def reason_literals():
    """Reasons of the wire's table that production code writes as text."""
    if not os.path.exists(os.path.join(tree.ROOT, REASON_TABLE)):
        return ["there is no table of reasons"]
    reasons = set(re.findall(r'"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"', tree.read(REASON_TABLE)))
    return [f'{path}: "{word}"' for path in production(*CODE) if path != REASON_TABLE
            for word in re.findall(r'"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"', tree.read(path))
            if word in reasons]


def longest_document():
    """Words of the longest page that is neither a reference nor a record of measurements."""
    pages = [path for path in tree.files(".md")
             if not path.startswith(("docs/reference/", "docs/measured/", "CHANGELOG"))]
    return max((len(tree.read(path).split()), path) for path in pages)


def files_over(limit):
    return [f"{path}: {lines(path)} lines" for path in tree.files(*CODE, ".py", ".sh")
            if lines(path) > limit]


def main():
    verbose = "--list" in sys.argv[1:]
    words, page = longest_document()
    rows = [
        # Shown without a limit: they grow with what the platform does.
        ("production lines (.cc .h .cu .cuh)", sum(map(lines, production(*CODE))), None),
        ("headers with one user", headers_with_one_user(), 50),
        ('comments that begin with "Of" or "What"', obscure_openings(), 0),
        ("assertions on prose", prose_assertions(), 120),
        ("reasons as literals outside their table", reason_literals(), 0),
        ("files over 500 lines (a warning)", files_over(500), None),
        ("files over 800 lines", files_over(800), 0),
        (f"words of the longest page ({page})", words, 1200),
        ("lines of CHANGELOG.md", lines("CHANGELOG.md"), 70),
    ]
    over = 0
    print(f"{'what':56}{'now':>8}{'limit':>8}")
    for what, found, limit in rows:
        count = found if isinstance(found, int) else len(found)
        mark = ""
        if limit is not None and count > limit:
            over += 1
            mark = "  over"
        print(f"{what:56}{count:8}{'' if limit is None else limit:>8}{mark}")
        if verbose and not isinstance(found, int):
            for name, times in collections.Counter(found).most_common():
                print(f"    {name}" + (f" ({times})" if times > 1 else ""))
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
