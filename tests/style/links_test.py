"""Checks that every relative link, and every file named in a code span, exists.

A link may name a line by its text: [text](../common/units.h#ParseBytes) requires that the file's
code contains "ParseBytes", outside comments and strings.
"""

import os
import re

import tree

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([\w./-]+\.(?:h|cc|cu|cuh|inc|py|sh|proto|md|yaml|sql|csv))`")
COMMENT_OR_STRING = re.compile(r'//.*|"(?:[^"\\\n]|\\.)*"')
HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)


def anchor_of(heading):
    words = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return words.strip().replace(" ", "-")


def check(path, target):
    file, _, fragment = target.partition("#")
    base = os.path.dirname(path)
    resolved = os.path.normpath(os.path.join(base, file)) if file else path
    full = os.path.join(tree.ROOT, resolved)
    if not os.path.exists(full):
        return f"{resolved} does not exist"
    if not fragment or os.path.isdir(full):
        return None
    text = tree.read(resolved)
    if resolved.endswith(".md"):
        if fragment not in {anchor_of(heading) for heading in HEADING.findall(text)}:
            return f"{resolved} has no heading #{fragment}"
    elif not re.search(rf"\b{re.escape(fragment)}\b", COMMENT_OR_STRING.sub("", text)):
        return f"{resolved} does not contain {fragment}"
    return None


def missing_paths(path, text, known):
    """Returns the files named in code spans that the tree does not have. NAME stands for any name.
    """
    for match in SPAN.finditer(text):
        name = match.group(1)
        if "NAME" not in name and not any(file == name or file.endswith("/" + name) for file in known):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: there is no {name}"


def main():
    faults = []
    known = tree.files()
    for path in tree.files(".md"):
        text = tree.read(path)
        faults += missing_paths(path, text, known)
        for match in LINK.finditer(text):
            target = match.group(1)
            if re.match(r"[a-z]+:", target):
                continue
            fault = check(path, target)
            if fault:
                line = text.count("\n", 0, match.start()) + 1
                faults.append(f"{path}:{line}: {fault}")
    tree.finish(faults)


if __name__ == "__main__":
    main()
