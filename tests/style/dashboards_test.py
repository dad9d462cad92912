"""Checks the rules for Grafana dashboards."""

import glob
import json
import os
import re

import tree

PROMETHEUS, POSTGRES = "prometheus", "grafana-postgresql-datasource"


def panel_faults(panel, board_type):
    title = panel.get("title", f"panel {panel.get('id')}")
    if not panel.get("title"):
        yield f"panel {panel.get('id')} has no title"
    if not panel.get("description"):
        yield f"{title}: no description"
    if not panel.get("fieldConfig", {}).get("defaults", {}).get("unit"):
        yield f"{title}: no unit"
    if panel.get("datasource") != {"type": board_type, "uid": "${datasource}"}:
        yield f"{title}: its data source is not the variable's"
    if not panel.get("targets"):
        yield f"{title}: no query"
    for target in panel.get("targets", []):
        text = target.get("expr") or target.get("rawSql") or ""
        if not text:
            yield f"{title}: an empty query"
        if re.search(r"\b(rate|increase|irate)\(", text) and "$__rate_interval" not in text:
            yield f"{title}: a rate over a fixed window"


def overlaps(panels):
    taken = {}
    for panel in panels:
        grid = panel["gridPos"]
        if grid["x"] + grid["w"] > 24:
            yield f"{panel.get('title')}: wider than the grid"
        for x in range(grid["x"], grid["x"] + grid["w"]):
            for y in range(grid["y"], grid["y"] + grid["h"]):
                if (x, y) in taken:
                    yield f"{panel.get('title')} lies over {taken[x, y]}"
                    return
                taken[x, y] = panel.get("title")


def board_faults(board, uids):
    if "__inputs" in board or "__requires" in board:
        yield "__inputs do not resolve under file provisioning"
    if board.get("editable") is not False:
        yield "editable is not false"
    for key in ("uid", "title", "description", "schemaVersion", "time"):
        if not board.get(key):
            yield f"no {key}"
    if board.get("uid") in uids:
        yield f"uid {board['uid']} is taken"
    uids.add(board.get("uid"))
    variables = {variable["name"]: variable for variable in board["templating"]["list"]}
    kind = variables.get("datasource", {}).get("query")
    if kind not in (PROMETHEUS, POSTGRES):
        yield "no variable `datasource` of Prometheus or PostgreSQL"
    for name, variable in variables.items():
        if name != "datasource" and not variable.get("includeAll"):
            yield f"variable {name} has no All"
    panels = board.get("panels", [])
    identifiers = [panel["id"] for panel in panels]
    if len(set(identifiers)) != len(identifiers):
        yield "panel ids are not unique"
    yield from overlaps(panels)
    for panel in panels:
        if panel["type"] != "row":
            yield from panel_faults(panel, kind)
            for variable in re.findall(r"\$\{?([a-z_]+)\b", json.dumps(panel["targets"])):
                if not variable.startswith("__") and variable not in variables:
                    yield f"{panel['title']}: unknown variable ${variable}"


def main():
    faults, uids = [], set()
    for path in sorted(glob.glob(os.path.join(tree.ROOT, "dashboards", "*.json"))):
        with open(path, encoding="utf-8") as file:
            board = json.load(file)
        faults += [f"{os.path.basename(path)}: {fault}" for fault in board_faults(board, uids)]
    linked = {link["url"] for path in glob.glob(os.path.join(tree.ROOT, "dashboards", "*.json"))
              for link in json.load(open(path, encoding="utf-8"))["links"]}
    faults += [f"a link leads to {url}, which no dashboard has" for url in linked
               if url.removeprefix("/d/") not in uids]
    tree.finish(faults)


if __name__ == "__main__":
    main()
