"""Runs the queries of dashboards on real data sources, and makes of the answers what panels show."""

import csv
import io
import json
import os
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import links
from grafana import POSTGRES, PROMETHEUS, GrafanaError, Row


class Prometheus:
    """A running Prometheus at `url`."""

    def __init__(self, url):
        self.url = url

    def get(self, path, parameters):
        query = urllib.parse.urlencode(parameters, doseq=True)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # It still starts.
                raise
            raise GrafanaError(f"{error.read().decode()}\nin: {parameters}") from error


class Postgres:
    """A running PostgreSQL, queried as the role of dashboards. `server` is harness.Postgres."""

    def __init__(self, server, role="assay_reader"):
        self.server, self.role = server, role

    def query(self, sql):
        """Returns (names of columns, rows as lists of text)."""
        run = subprocess.run(
            ["psql", "-X", "-q", "--csv", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1",
             "-p", str(self.server.port), "-U", "assay", "-d", "assay",
             "-c", f"SET ROLE {self.role}", "-c", sql],
            capture_output=True, text=True, check=False, env={**os.environ, "TZ": "UTC"})
        if run.returncode:
            raise GrafanaError(f"{run.stderr.strip()}\nin: {sql}")
        lines = list(csv.reader(io.StringIO(run.stdout)))
        return (lines[0], lines[1:]) if lines else ([], [])


def run(scope, panel):
    """Returns one answer per target, in the targets' order. Prometheus: list of series, each with
    `metric` and `value` (instant) or `values` (range). PostgreSQL: list of dictionaries."""
    return [run_target(scope, panel, target) for target in panel["targets"]]


def run_target(scope, panel, target):
    if "rawSql" in target:
        columns, rows = scope.sources[POSTGRES].query(scope.sql(target["rawSql"], panel))
        return [dict(zip(columns, row)) for row in rows]
    client, expression = scope.sources[PROMETHEUS], scope.promql(target, panel)
    end = scope.range.end / 1000
    if target.get("instant"):
        return client.get("query", {"query": expression, "time": end})["result"]
    step = scope.interval(panel, target) / 1000
    # Grafana aligns both ends, so that a refresh asks for the same points again.
    first, last = (moment // step * step for moment in (scope.range.start / 1000, end))
    return client.get("query_range", {"query": expression, "start": first, "end": last,
                                      "step": step})["result"]


def annotations(scope):
    """Yields (annotation, its rows or series)."""
    for one in scope.board.json["annotations"]["list"]:
        if one.get("builtIn"):
            continue
        if one["datasource"]["type"] == POSTGRES:
            text = one["target"]["rawSql"] if "target" in one else one["rawQuery"]
            columns, rows = scope.sources[POSTGRES].query(scope.sql(text))
            yield one, [dict(zip(columns, row)) for row in rows]
        else:
            target = {"expr": one["expr"], "interval": one.get("step")}
            yield one, run_target(scope, {}, target)


def instant_frame(target, series, several):
    """Returns the rows of Prometheus' format "table": labels, then the value."""
    name = f"Value #{target['refId']}" if several else "Value"
    return [{"Time": one["value"][0], **{key: value for key, value in one["metric"].items()},
             name: float(one["value"][1])} for one in series]


def merged(frames):
    """Joins rows whose common columns are equal, as the transformation "merge" does."""
    rows = []
    for frame in frames:
        for row in frame:
            found = next((one for one in rows
                          if all(one[key] == row[key] for key in row if key in one)
                          and not any(key.startswith("Value") and key in one for key in row)), None)
            if found is None:
                rows.append(dict(row))
            else:
                found.update(row)
    return rows


def table(scope, panel):
    """Returns the rows of a table panel after its transformations, before it renames columns: data
    links refer to the original names."""
    answers = run(scope, panel)
    if "rawSql" in panel["targets"][0]:
        frames = answers
    else:
        frames = [instant_frame(target, answer, len(answers) > 1)
                  for target, answer in zip(panel["targets"], answers)]
    for change in panel.get("transformations", []):
        kind, options = change["id"], change.get("options", {})
        if kind == "merge":
            frames = [merged(frames)]
        elif kind == "sortBy":
            (order,) = options["sort"]
            name = order["field"]
            back = {new: old for one in panel["transformations"] if one["id"] == "organize"
                    for old, new in one["options"].get("renameByName", {}).items()}
            name = back.get(name, name)
            frames = [sorted(frame, key=lambda row: (row.get(name) is None, row.get(name)),
                             reverse=order.get("desc", False)) for frame in frames]
        elif kind == "limit":
            frames = [frame[:int(options["limitField"])] for frame in frames]
        elif kind != "organize":
            raise GrafanaError(f"{panel['title']}: transformation {kind} is not supported")
    if len(frames) != 1:
        raise GrafanaError(f"{panel['title']}: {len(frames)} frames in one table; add merge")
    return frames[0]


def link_rows(panel, scope):
    """Yields what the data links of a panel can refer to: rows of a table, or series."""
    if panel["type"] == "table":
        for row in table(scope, panel):
            yield Row(fields=row, value=next(iter(row.values()), ""))
        return
    for target, answer in zip(panel["targets"], run(scope, panel)):
        for one in answer:
            if "rawSql" in target:
                yield Row(fields=one, value=next(iter(one.values()), ""))
                continue
            when, value = one["value"] if "value" in one else one["values"][-1]
            yield Row(fields=one["metric"], labels=one["metric"], value=value, time=when)


def link_faults(scope, boards, console):
    """Returns the faults of all links of a dashboard, each expanded for every row that it has."""
    faults = []

    def check(where, text, row=None):
        try:
            reason = links.fault(scope.url(text, row), boards, console)
        except GrafanaError as error:
            reason = str(error)
        if reason:
            faults.append(f"{scope.board.name}: {where}: {text}: {reason}")
    for panel in scope.board.panels():
        found = list(links.data_links(panel))
        rows = list(link_rows(panel, scope)) if found else []
        for _, link in found:
            for row in rows or [None]:
                if row or "${__" not in link["url"]:
                    check(panel["title"], link["url"], row)
    for link in scope.board.json.get("links", []):
        if link["type"] == "link":
            check("link of the dashboard", link["url"])
            continue
        targets = [board for board in boards if board is not scope.board
                   and set(link["tags"]) <= set(board.json.get("tags", []))]
        if not targets:
            faults.append(f"{scope.board.name}: no other dashboard has the tags {link['tags']}")
        for target in targets:
            scope.dashboard_link(link, target)
    return faults
