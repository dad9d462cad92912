"""Checks the rules for Grafana dashboards."""

import glob
import json
import os
import re

import tree

PROMETHEUS, POSTGRES = "prometheus", "grafana-postgresql-datasource"
# Gauges that every coordinator exports with the same value, read from the database.
SHARED = r"assay_(?:agents|nodes_cordoned|jobs|campaigns|incidents|outlier_gpus|job_queue_oldest_timestamp_seconds)\b"
WINDOWS = ("$__rate_interval", "$__range")
MOST_PANELS = 20


def provisioned_uids():
    """Returns the uids of data sources by type, as deploy/compose provisions them."""
    text = tree.read("deploy/compose/grafana/provisioning/datasources/assay.yaml")
    return dict(re.findall(r"uid: (\S+)\n\s+type: (\S+)", text))


def promql_faults(expression):
    for window in re.findall(r"\b(?:rate|increase|irate)\(.*?\[([^\]]+)\]", expression, re.DOTALL):
        if window not in WINDOWS:
            yield f"a rate over the fixed window {window}"
    for match in re.finditer(SHARED, expression):
        if not re.search(r"max( by \([\w, ]+\))? \($", expression[:match.start()]):
            yield f"{match.group()} without max: replicas export the same figure"


    if re.search(r"(?:sum|count) ?\(max by \(node\) \(assay_fleet_node_cordoned", expression):
        yield "nodes without a session are missed; assay_nodes_cordoned counts all that are cordoned"


def panel_faults(panel, source):
    title = panel.get("title") or f"panel {panel.get('id')}"
    defaults = panel.get("fieldConfig", {}).get("defaults", {})
    for key in ("title", "description", "targets"):
        if not panel.get(key):
            yield f"{title}: no {key}"
    if not defaults.get("unit") or defaults["unit"] == "none":
        yield f"{title}: no unit; a plain number has the unit short"
    if not defaults.get("noValue"):
        yield f"{title}: no noValue, so an empty panel does not say why"
    steps = defaults.get("thresholds", {}).get("steps", [])
    if not steps or steps[0].get("value") is not None:
        yield f"{title}: no explicit thresholds; Grafana's default is red from 80"
    if panel.get("datasource") != source:
        yield f"{title}: its data source is not the variable's"
    for target in panel.get("targets", []):
        text = target.get("expr") or target.get("rawSql") or ""
        if not text:
            yield f"{title}: an empty query"
        if target.get("datasource") != source:
            yield f"{title}: the data source of query {target.get('refId')} is not the variable's"
        if target.get("instant") and panel.get("options", {}).get("graphMode") == "area":
            yield f"{title}: an instant query has no graph"
        yield from (f"{title}: {fault}" for fault in promql_faults(target.get("expr", "")))


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


def variable_faults(variable, uids):
    name, kind = variable["name"], variable["type"]
    if kind == "datasource":
        if uids.get(variable.get("current", {}).get("value")) != variable["query"]:
            yield f"the current value of {name} is not the uid that deploy/compose provisions"
    elif kind == "query":
        if variable.get("multi") and not variable.get("includeAll"):
            yield f"variable {name} has no All"
        if variable.get("refresh") not in (1, 2):
            yield f"variable {name} is never refreshed"


def seconds(interval):
    number, unit = re.fullmatch(r"(\d+)([smhd])", interval).groups()
    return int(number) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[unit]


def board_faults(board, taken, uids):
    if "__inputs" in board or "__requires" in board:
        yield "__inputs do not resolve under file provisioning"
    if board.get("editable") is not False:
        yield "editable is not false"
    if board.get("schemaVersion") != 39:
        yield "schemaVersion is not 39"
    if not board.get("refresh") or seconds(board["refresh"]) < 30:
        yield "it is refreshed more often than every 30 s"
    for key in ("uid", "title", "description", "time"):
        if not board.get(key):
            yield f"no {key}"
    if board.get("uid") in taken:
        yield f"uid {board['uid']} is taken"
    taken.add(board.get("uid"))
    if not any(link["type"] == "dashboards" and link["tags"] == board["tags"] == ["assay"]
               and link["includeVars"] and link["keepTime"] for link in board["links"]):
        yield 'no link to the dashboards with the tag "assay" that keeps time and variables'
    variables = {variable["name"]: variable for variable in board["templating"]["list"]}
    sources = [one for one in variables.values() if one["type"] == "datasource"]
    if len(sources) != 1 or sources[0]["query"] not in (PROMETHEUS, POSTGRES):
        yield "not one variable that chooses a data source, Prometheus or PostgreSQL"
        return
    source = {"type": sources[0]["query"], "uid": f"${{{sources[0]['name']}}}"}
    for variable in variables.values():
        yield from variable_faults(variable, uids)
    panels = board.get("panels", [])
    identifiers = [panel["id"] for panel in panels]
    if len(set(identifiers)) != len(identifiers):
        yield "panel ids are not unique"
    shown = [panel for panel in panels if panel["type"] != "row"]
    if len(shown) > MOST_PANELS:
        yield f"{len(shown)} panels, which is too much to read"
    yield from overlaps(panels)
    for panel in shown:
        yield from panel_faults(panel, source)
    for name in re.findall(r"\$\{?([a-z]\w*)\b", json.dumps([panels, board["annotations"]])):
        if name not in variables:
            yield f"unknown variable ${name}"


def shared_faults(boards):
    """Yields lists of choices that differ: a link between dashboards passes values on."""
    seen = {}
    for name, board in boards.items():
        for variable in board["templating"]["list"]:
            if variable["type"] == "custom":
                options = [one["value"] for one in variable["options"]]
                first, expected = seen.setdefault(variable["name"], (name, options))
                if options != expected:
                    yield (f"{name}: variable {variable['name']} has the values {options}, "
                           f"in {first} {expected}")


def main():
    faults, taken, uids, boards = [], set(), provisioned_uids(), {}
    for path in sorted(glob.glob(os.path.join(tree.ROOT, "dashboards", "*.json"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        name, board = os.path.basename(path), json.loads(text)
        boards[name] = board
        faults += [f"{name}: {fault}" for fault in board_faults(board, taken, uids)]
        if text != json.dumps(board, indent=2, ensure_ascii=False) + "\n":
            faults.append(f"{name}: not formatted with two spaces per level")
    tree.finish(faults + list(shared_faults(boards)))


if __name__ == "__main__":
    main()
