"""Checks that documents are short and wrapped: prose lines have at most 100 columns unless they are
generated, a page that is neither reference nor measured has at most 1,200 words, and a room's
README has at most 25 lines."""

import re

import tree

MAXIMUM_COLUMNS = 100
MAXIMUM_WORDS = 1200
ROOM_README_LINES = 25
LONG_PAGES = ("docs/reference/", "docs/measured/")
# READMEs in these folders are documents. Those elsewhere describe rooms.
NOT_ROOMS = {"README.md", "docs/README.md", "examples/README.md"}


def prose_lines(text):
    """Returns the numbered lines outside code, tables, headings and generated blocks."""
    fenced = generated = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(("<!-- generated:", "<!-- end:")):
            generated = line.startswith("<!-- generated:")
        elif line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not generated and not line.startswith(("|", "    ", "#")):
            yield number, line


def faults_of(path, text):
    measured = path.startswith("docs/measured/")
    for number, line in prose_lines(text):
        breakable = " " in re.sub(r"\[[^\]]*\]\([^)]*\)", "x", line.strip())
        if len(line) > MAXIMUM_COLUMNS and breakable and not measured:
            yield f"{path}:{number}: {len(line)} columns; at most {MAXIMUM_COLUMNS}"
    words = len(text.split())
    if words > MAXIMUM_WORDS and not path.startswith(LONG_PAGES):
        yield f"{path}: {words} words; at most {MAXIMUM_WORDS}, split it by reader or purpose"
    lines = text.count("\n")
    if path.endswith("/README.md") and path not in NOT_ROOMS and lines > ROOM_README_LINES:
        yield f"{path}: {lines} lines; a room's README has at most {ROOM_README_LINES}"


def main():
    tree.finish([fault for path in tree.files(".md") for fault in faults_of(path, tree.read(path))])


if __name__ == "__main__":
    main()
