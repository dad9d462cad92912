"""Finds the links of dashboards, and checks that each leads somewhere."""

import os
import re
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
CONSOLE = os.path.join(ROOT, "console", "src")
DOCS = re.compile(r"docs/[\w./-]+\.md(?:#[\w-]+)?")


def data_links(panel):
    """Yields (name of the field or "", link) of a panel's links."""
    config = panel.get("fieldConfig", {})
    for link in config.get("defaults", {}).get("links", []):
        yield "", link
    for override in config.get("overrides", []):
        for one in override["properties"]:
            if one["id"] == "links":
                for link in one["value"]:
                    yield override["matcher"].get("options", ""), link
    for link in panel.get("links", []):
        yield "", link


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def console_pages():
    """Returns the console's pages: the keys of PAGES in its main.tsx."""
    table = re.search(r"const PAGES.*? = \{\n(.*?)\n\};", read(CONSOLE, "main.tsx"), re.DOTALL)
    return {key.strip('"') for key in re.findall(r'^  ("?\w*"?): \{', table.group(1),
                                                 re.MULTILINE)}


def console_parameters():
    """Returns the names of all parameters that pages of the console read from their address."""
    return {name for folder, _, names in os.walk(CONSOLE) for file in names
            if file.endswith((".ts", ".tsx"))
            for name in re.findall(r'\bparam\("(\w+)"', read(folder, file))}


def anchors(text):
    """Returns the anchors of a Markdown page's headings."""
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")
            for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def dashboard_fault(url, boards):
    parts = urllib.parse.urlsplit(url)
    uid = parts.path.removeprefix("/d/").split("/")[0]
    board = next((one for one in boards if one.uid == uid), None)
    if not board:
        return f"no dashboard has the uid {uid!r}"
    for name, values in urllib.parse.parse_qs(parts.query, keep_blank_values=True).items():
        if name in ("from", "to"):
            continue
        if name.removeprefix("var-") == name or name.removeprefix("var-") not in board.variables:
            return f"{board.name} has no variable for {name}={values[0]}"
        variable = board.variables[name.removeprefix("var-")]
        options = [one["value"] for one in variable.get("options", [])]
        if variable["type"] == "custom" and options and not set(values) <= set(options):
            return f"{board.name}: {name}={values[0]} is not one of {options}"
    return None


def console_fault(url):
    fragment = urllib.parse.urlsplit(url).fragment.removeprefix("/")
    path, _, query = fragment.partition("?")
    page, _, argument = path.partition("/")
    if page not in console_pages():
        return f"the console has no page {page!r}"
    if argument and urllib.parse.quote(urllib.parse.unquote(argument), safe="-_.~") != argument:
        return f"the argument {argument!r} is not encoded; use ${{name:percentencode}}"
    for name in urllib.parse.parse_qs(query, keep_blank_values=True):
        if name not in console_parameters():
            return f"no page of the console reads a parameter {name!r}"
    for value in urllib.parse.parse_qs(query).get("filter", []):
        if stray := re.search(r'[\w.]+ = (?!(?:[\w.-]+|"(?:[^"\\]|\\.)*")(?: AND | OR |$)).*', value):
            return f"the filter {value!r} needs quotes: {stray.group()}"
    return None


def docs_fault(path):
    page, _, anchor = path.partition("#")
    if not os.path.isfile(os.path.join(ROOT, page)):
        return f"there is no page {page}"
    if anchor and anchor not in anchors(read(ROOT, page)):
        return f"{page} has no heading for #{anchor}"
    return None


def fault(url, boards, console):
    """Returns why an expanded address leads nowhere, or None. `console` is the console's address.
    """
    if url.startswith("/d/"):
        return dashboard_fault(url, boards)
    if console and url.startswith(console):
        return console_fault(url)
    if docs := DOCS.search(url):
        return docs_fault(docs.group())
    return "it leads neither to a dashboard nor to the console nor to a page of the documentation"


def mentioned_docs(board):
    """Yields the pages of the documentation that texts of a dashboard name."""
    for text in strings(board.json):
        yield from DOCS.findall(text)


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings(one)
