"""Checks for plain English as far as a test can: openings of comments and phrases that are known to
puzzle readers, in code, tests, scripts and documents."""

import re

import tree

# Words that may not begin a comment.
OPENING = re.compile(r"(?:Of|What)\b")
# Each phrase with a better one.
PHRASES = [
    (re.compile(r"\b(?:goes|go|going) without\b"), "has no, is not needed"),
    (re.compile(r"\bis to be\b"), "must be"),
    (re.compile(r"\bwhichever\b"), "any, regardless of which"),
    (re.compile(r"\bbeside which\b"), "next to which"),
    (re.compile(r"\bfor ever\b"), "forever, indefinitely"),
    (re.compile(r"\bstands? still\b"), "is stopped, is suspended"),
    (re.compile(r"\btakes? leave\b"), "closes its session"),
    (re.compile(r"\btakes no \""), "unexpected argument, unknown option"),
    (re.compile(r"\bis no (?:option|benchmark|parameter|number|word) of\b"), "unknown option"),
]
CODE = (".h", ".cc", ".cu", ".cuh")
PROSE = (".md", ".py", ".sh", ".sql", ".proto", ".yaml")


def openings(path, text):
    previous = False
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*///? ?(.*)", line)
        if match and not previous and OPENING.match(match.group(1)):
            yield f'{path}:{number}: a comment begins with a verb or a noun, not "{match.group(1)}"'
        previous = match is not None


def phrases(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        for phrase, better in PHRASES:
            if phrase.search(line):
                yield f'{path}:{number}: "{phrase.search(line).group(0)}": say "{better}"'


def main():
    faults = []
    for path in tree.files(*CODE, *PROSE):
        if path == "tests/style/language_test.py":
            continue
        text = tree.read(path)
        if path.endswith(CODE):
            faults += openings(path, text)
        faults += phrases(path, text)
    tree.finish(faults)


if __name__ == "__main__":
    main()
