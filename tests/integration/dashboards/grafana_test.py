"""Tests the expansion of grafana.py against Grafana's documented behaviour, and the links of all
dashboards. Needs no process."""

import glob
import json
import os
import re
import tempfile
import unittest

import grafana
import links
from grafana import ALL, POSTGRES, PROMETHEUS, Dashboard, GrafanaError, Row, Scope, TimeRange

# 2026-11-24 00:00:00.500 to 06:00:00 UTC.
START, END = 1795478400500, 1795500000000


def variable(name, kind="custom", query="", value=None, **more):
    return {"name": name, "type": kind, "query": query,
            "current": {} if value is None else {"value": value}, **more}


class Prometheus:
    """Gives every question the same answer, and keeps the questions."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def get(self, path, parameters):
        self.asked.append((path, parameters))
        return self.answer


class Postgres:
    def __init__(self, columns, rows):
        self.columns, self.rows, self.asked = columns, rows, []

    def query(self, sql):
        self.asked.append(sql)
        return self.columns, self.rows


def scope(*variables, sources=None, choose=None, start=START, end=END, **more):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump({"uid": "board", "templating": {"list": list(variables)}, "panels": []}, file)
        file.flush()
        board = Dashboard(file.name)
    return Scope(board, TimeRange(start, end, "now-6h", "now"), sources or {}, choose, **more)


SERVERS = variable("servers", query="test'1,test2", value=["test'1", "test2"], multi=True)


class FormatTest(unittest.TestCase):
    def test_each_format_of_several_values(self):
        cases = {
            "csv": "test'1,test2", "raw": "test'1,test2", "pipe": "test'1|test2",
            "glob": "{test'1,test2}", "regex": "(test'1|test2)", "json": '["test\'1","test2"]',
            "singlequote": "'test\\'1','test2'", "doublequote": '"test\'1","test2"',
            "sqlstring": "'test''1','test2'", "percentencode": "%7Btest%271%2Ctest2%7D",
            "queryparam": "var-servers=test%271&var-servers=test2", "text": "test'1 + test2"}
        for form, expected in cases.items():
            with self.subTest(form=form):
                self.assertEqual(scope(SERVERS).replace(f"${{servers:{form}}}"), expected)

    def test_each_format_of_one_value(self):
        one = scope(variable("v", "textbox", value='a.b "c"/'))
        cases = {"csv": 'a.b "c"/', "glob": 'a.b "c"/', "regex": 'a\\.b "c"\\/',
                 "json": 'a.b "c"/', "doublequote": '"a.b \\"c\\"/"',
                 "sqlstring": "'a.b \\\"c\\\"/'", "percentencode": "a.b%20%22c%22%2F",
                 "uriencode": "a.b%20%22c%22/"}
        for form, expected in cases.items():
            with self.subTest(form=form):
                self.assertEqual(one.replace(f"${{v:{form}}}"), expected)

    def test_all_spellings_name_the_same_variable(self):
        one = scope(variable("v", "textbox", value="x"))
        self.assertEqual(one.replace("$v ${v} [[v]] ${v:csv} [[v:csv]]"), "x x x x x")
        self.assertEqual(one.replace("a$v.b"), "ax.b")

    def test_a_name_takes_all_letters_that_follow(self):
        with self.assertRaisesRegex(GrafanaError, r"unknown variable \$v_total"):
            scope(variable("v", "textbox", value="x")).replace("$v_total")

    def test_a_dollar_without_a_name_stays(self):
        self.assertEqual(scope().replace('{node=~"^a$"} costs $'), '{node=~"^a$"} costs $')

    def test_an_unknown_format_is_an_error(self):
        with self.assertRaisesRegex(GrafanaError, "unknown format"):
            scope(SERVERS).replace("${servers:sql}")

    def test_dates(self):
        cases = {"$__from": "1795478400500", "${__to}": "1795500000000",
                 "${__from:date}": "2026-11-24T00:00:00.500Z",
                 "${__from:date:iso}": "2026-11-24T00:00:00.500Z",
                 "${__to:date:seconds}": "1795500000", "${__to:date:YYYY-MM}": "2026-11",
                 "${__to:date:YYYY-MM-DD HH:mm:ss}": "2026-11-24 06:00:00"}
        for text, expected in cases.items():
            with self.subTest(text=text):
                self.assertEqual(scope().replace(text), expected)


class DefaultFormatTest(unittest.TestCase):
    def test_prometheus_gets_alternatives_with_escaped_characters(self):
        nodes = variable("node", query="a.b,c(1)", value=["a.b", "c(1)"], multi=True)
        self.assertEqual(scope(nodes).promql('up{node=~"$node"}'),
                         'up{node=~"(a\\\\.b|c\\\\(1\\\\))"}')
        self.assertEqual(scope(nodes, choose={"node": "a.b"}).promql('up{node=~"$node"}'),
                         'up{node=~"a\\\\.b"}')

    def test_prometheus_does_not_escape_a_single_choice(self):
        self.assertEqual(scope(variable("v", "textbox", value=".*")).promql('up{n=~"$v"}'),
                         'up{n=~".*"}')

    def test_postgres_gets_quoted_values(self):
        self.assertEqual(scope(SERVERS).sql("x IN ($servers)"), "x IN ('test''1','test2')")

    def test_postgres_does_not_quote_a_single_choice(self):
        self.assertEqual(scope(variable("v", "textbox", value="it's")).sql("x = '$v'"),
                         "x = 'it''s'")


class AllTest(unittest.TestCase):
    def model(self, **more):
        return variable("v", query="a,b", value=[ALL], multi=True, includeAll=True, **more)

    def test_all_is_every_option(self):
        everything = scope(self.model())
        self.assertEqual(everything.sql("IN ($v)"), "IN ('a','b')")
        self.assertEqual(everything.promql('{x=~"$v"}'), '{x=~"(a|b)"}')
        self.assertEqual(everything.replace("${v:queryparam} ${v:text}"), "var-v=%24__all All")

    def test_an_all_value_is_not_formatted(self):
        everything = scope(self.model(allValue=".*"))
        self.assertEqual(everything.promql('{x=~"$v"}'), '{x=~".*"}')
        self.assertEqual(everything.sql("${v:sqlstring}"), ".*")
        self.assertEqual(everything.replace("${v:percentencode}"), ".%2A")
        self.assertEqual(everything.replace("${v:queryparam}"), "var-v=%24__all")

    def test_a_chosen_value_must_be_an_option(self):
        self.assertEqual(scope(self.model(), choose={"v": "b"}).sql("$v"), "'b'")
        with self.assertRaisesRegex(GrafanaError, "'z' is not one of"):
            scope(self.model(), choose={"v": "z"})
        with self.assertRaisesRegex(GrafanaError, "no variables"):
            scope(self.model(), choose={"w": "z"})

    def test_without_all_the_first_option_replaces_a_value_that_is_none(self):
        self.assertEqual(scope(variable("v", query="a,b", value="gone")).sql("$v"), "a")


class VariableTest(unittest.TestCase):
    def query_variable(self, query, name="v", **more):
        return variable(name, "query", {"query": query, "refId": "v"}, value=[ALL], multi=True,
                        includeAll=True, datasource={"type": PROMETHEUS, "uid": "p"}, **more)

    def test_label_values_asks_for_the_labels_of_a_selector(self):
        prometheus = Prometheus(["b", "a", "b"])
        found = scope(self.query_variable('label_values(up{job=~"x|y", a!=""}, instance)', sort=1),
                      sources={PROMETHEUS: prometheus})
        self.assertEqual(found.variables["v"].options, ["a", "b"])
        path, parameters = prometheus.asked[0]
        self.assertEqual(path, "label/instance/values")
        self.assertEqual(parameters["match[]"], 'up{job=~"x|y", a!=""}')
        self.assertEqual((parameters["start"], parameters["end"]), (START / 1000, END / 1000))

    def test_query_result_is_filtered_by_a_regular_expression(self):
        prometheus = Prometheus({"result": [
            {"metric": {"__name__": "m", "node": "n2"}, "value": [1.5, "7"]},
            {"metric": {"__name__": "m", "node": "n10"}, "value": [1.5, "8"]}]})
        found = scope(self.query_variable("query_result(topk(2, m))", sort=3,
                                          regex='/node="([^"]+)"/'),
                      sources={PROMETHEUS: prometheus})
        self.assertEqual(found.variables["v"].options, ["n2", "n10"])
        self.assertEqual(prometheus.asked[0][1]["query"], "topk(2, m)")

    def test_a_variable_that_refers_to_another_comes_after_it(self):
        prometheus = Prometheus(["x.y"])
        scope(self.query_variable('label_values(up{job=~"$job"}, node)', name="node"),
              self.query_variable("label_values(up, job)", name="job"),
              sources={PROMETHEUS: prometheus})
        self.assertEqual([parameters["match[]"] for _, parameters in prometheus.asked],
                         ["up", 'up{job=~"x\\\\.y"}'])

    def test_two_variables_that_refer_to_each_other_are_an_error(self):
        with self.assertRaisesRegex(GrafanaError, "depends on itself"):
            scope(self.query_variable("label_values({x=\"$b\"}, a)", name="a"),
                  self.query_variable("label_values({x=\"$a\"}, b)", name="b"))

    def test_sql_uses_the_column_of_values(self):
        postgres = Postgres(["__text", "__value"], [["One", "1"], ["Two", "2"]])
        model = variable("v", "query", "SELECT * FROM t WHERE $__timeFilter(ts)",
                         datasource={"type": POSTGRES, "uid": "p"})
        found = scope(model, sources={POSTGRES: postgres})
        self.assertEqual(found.variables["v"].options, ["1", "2"])
        self.assertIn("ts BETWEEN '2026-11-24T00:00:00.5Z' AND '2026-11-24T06:00:00Z'",
                      postgres.asked[0])

    def test_custom_options_may_have_labels_and_escaped_commas(self):
        self.assertEqual(grafana.custom_options(r"a, Real : ^$,x\,y"), ["a", "^$", "x,y"])

    def test_a_regular_expression_without_slashes_matches_whole(self):
        self.assertEqual(grafana.filtered(["ab", "b"], "b", 0), ["b"])
        self.assertEqual(grafana.filtered(["AB", "b"], "/b/i", 0), ["AB", "b"])
        self.assertEqual(grafana.filtered(["a=1", "b=2"], "/(?<text>.)=(?<value>.)/", 0),
                         ["1", "2"])


class IntervalTest(unittest.TestCase):
    def test_the_interval_is_the_range_over_the_points(self):
        self.assertEqual(scope().promql("x[$__interval] $__interval_ms"), "x[20s] 20000")
        self.assertEqual(scope().promql("x[$__interval]", {"maxDataPoints": 10}), "x[30m]")

    def test_the_interval_is_not_below_the_minimum(self):
        hour = {"start": END - 3600000}
        self.assertEqual(scope(**hour).promql("[$__interval]"), "[10s]")
        self.assertEqual(scope(**hour).promql("[$__interval]", {"interval": "5m"}), "[5m]")
        self.assertEqual(scope(**hour).promql({"expr": "[$__interval]", "interval": ">1m"}), "[1m]")

    def test_the_rate_interval_holds_four_scrapes(self):
        self.assertEqual(scope(start=END - 3600000).promql("[$__rate_interval]"), "[40s]")
        self.assertEqual(scope().promql("[${__rate_interval}]", {"interval": "5m"}), "[310s]")

    def test_the_range(self):
        self.assertEqual(scope(start=END - 3600000).promql("[$__range] $__range_s $__range_ms"),
                         "[3600s] 3600 3600000")

    def test_sql_has_the_interval_but_no_range(self):
        self.assertEqual(scope().sql("'$__interval' $__interval_ms"), "'20s' 20000")
        with self.assertRaisesRegex(GrafanaError, r"\$__range"):
            scope().sql("$__range")

    def test_texts_of_intervals(self):
        for milliseconds, text in ((500, "500ms"), (90000, "1m"), (86400000, "1d")):
            self.assertEqual(grafana.format_interval(milliseconds), text)
        self.assertEqual(grafana.parse_interval("1h30m"), 5400000)
        with self.assertRaisesRegex(GrafanaError, "error parsing interval"):
            grafana.parse_interval("often")


class MacroTest(unittest.TestCase):
    FIRST, SECOND = "'2026-11-24T00:00:00.5Z'", "'2026-11-24T06:00:00Z'"

    def test_each_macro(self):
        cases = {
            "$__time(ts)": 'ts AS "time"',
            "$__timeEpoch(ts)": 'extract(epoch from ts) as "time"',
            "$__timeFilter( r.ts )": f"r.ts BETWEEN {self.FIRST} AND {self.SECOND}",
            "$__timeFrom()": self.FIRST,
            "$__timeTo()": self.SECOND,
            "$__timeGroup(ts, '5m')": "floor(extract(epoch from ts)/300)*300",
            "$__timeGroup(ts,'5m'), x": 'floor(extract(epoch from ts)/300)*300 AS "time", x',
            "$__timeGroupAlias(ts, $__interval)":
                'floor(extract(epoch from ts)/20)*20 AS "time"',
            "$__timeGroup(ts, '1d', 0)": "floor(extract(epoch from ts)/86400)*86400",
            "$__unixEpochFilter(t)": "t >= 1795478400 AND t <= 1795500000",
            "$__unixEpochFrom() $__unixEpochTo()": "1795478400 1795500000",
            "$__unixEpochNanoTo()": "1795500000000000000",
            "$__unixEpochGroup(t, '1m')": "floor((t)/60)*60",
        }
        for text, expected in cases.items():
            with self.subTest(text=text):
                self.assertEqual(scope().sql(text), expected)

    def test_the_first_parenthesis_ends_a_macro(self):
        self.assertEqual(scope().sql("HAVING $__timeFilter(min(ts))"),
                         f"HAVING min(ts BETWEEN {self.FIRST} AND {self.SECOND})")

    def test_faulty_macros_are_errors(self):
        for text, message in (("$__timeFilters(ts)", 'unknown macro "__timeFilters"'),
                              ("$__timeGroup(ts)", "needs time column and interval"),
                              ("$__timeGroup(ts, 'often')", "error parsing interval"),
                              ("$__timeFilter", "unknown variable"),
                              ("$lower(x)", 'unknown macro "lower"')):
            with self.subTest(text=text), self.assertRaisesRegex(GrafanaError, message):
                scope().sql(text)

    def test_variables_inside_macros_come_first(self):
        self.assertEqual(scope(variable("step", query="10m,1h", value="1h")).sql(
            "$__timeGroup(ts, '$step')"), "floor(extract(epoch from ts)/3600)*3600")


class UrlTest(unittest.TestCase):
    def test_fields_labels_and_values_of_a_row(self):
        row = Row({"node": "a b&c", "GPU count": "8"}, {"gpu": "0"}, 7.5, 12, "series")
        cases = {"${__data.fields.node}": "a%20b&c",
                 "${__data.fields.node:percentencode}": "a%20b%26c",
                 '${__data.fields["GPU count"]}': "8", "${__data.fields[0]}": "a%20b&c",
                 "${__field.labels.gpu}": "0", "${__value.raw}": "7.5", "${__value.time}": "12",
                 "${__series.name}": "series"}
        for text, expected in cases.items():
            with self.subTest(text=text):
                self.assertEqual(scope().url(text, row), expected)

    def test_a_field_that_a_row_lacks_is_an_error(self):
        for text in ("${__data.fields.host}", "${__field.labels.host}", "${__data.fields[4]}"):
            with self.subTest(text=text), self.assertRaisesRegex(GrafanaError, "does not have"):
                scope().url(text, Row({"node": "a"}))

    def test_time_range_and_variables(self):
        found = scope(SERVERS, variable("v", "textbox", value="x"))
        self.assertEqual(found.url("/d/x?$__url_time_range&${v:queryparam}"),
                         "/d/x?from=now-6h&to=now&var-v=x")
        self.assertEqual(found.url("?${__all_variables}"),
                         "?var-servers=test%271&var-servers=test2&var-v=x")

    def test_dashboard_links_keep_time_and_variables(self):
        found = scope(variable("v", "textbox", value="x"))
        target = scope().board
        self.assertEqual(found.dashboard_link({"keepTime": True, "includeVars": True}, target),
                         "/d/board?from=now-6h&to=now&var-v=x")
        self.assertEqual(found.dashboard_link({}, target), "/d/board")


class LinkTest(unittest.TestCase):
    CONSOLE = "http://127.0.0.1:7980/"

    def fault(self, url):
        kind = variable("kind", query="a,b", options=[{"value": "a"}, {"value": "b"}])
        return links.fault(url, [scope(variable("node", "textbox"), kind).board], self.CONSOLE)

    def test_addresses_that_lead_somewhere(self):
        for url in ("/d/board", "/d/board?var-node=x&from=now-1h&to=now", "/d/board?var-kind=b",
                    f"{self.CONSOLE}#/results?filter=node%20%3D%20%22a%20(old)%22", self.CONSOLE,
                    f"{self.CONSOLE}#/node/a%20b", f"{self.CONSOLE}#/results?filter=x",
                    "docs/guides/alerts.md#agentdown"):
            with self.subTest(url=url):
                self.assertIsNone(self.fault(url))

    def test_addresses_that_lead_nowhere(self):
        for url, message in (("/d/other", "no dashboard"), ("/d/board?var-host=x", "no variable"),
                             ("/d/board?var-kind=c", "is not one of"),
                             (f"{self.CONSOLE}#/results?filter=node%20%3D%20a%20(old)", "quotes"),
                             (f"{self.CONSOLE}#/nodes/a", "no page"),
                             (f"{self.CONSOLE}#/node/a b", "not encoded"),
                             (f"{self.CONSOLE}#/results?where=x", "reads a parameter"),
                             ("docs/guides/none.md", "no page"),
                             ("docs/guides/alerts.md#none", "no heading"),
                             ("https://example.org", "leads neither")):
            with self.subTest(url=url):
                self.assertIn(message, self.fault(url) or "")


def boards():
    return [Dashboard(path) for path in
            sorted(glob.glob(os.path.join(links.ROOT, "dashboards", "*.json")))]


class BoardsTest(unittest.TestCase):
    def test_pages_of_the_documentation_exist(self):
        for board in boards():
            for page in links.mentioned_docs(board):
                with self.subTest(board=board.name, page=page):
                    self.assertIsNone(links.docs_fault(page))

    def test_every_alert_is_marked_on_the_fleet(self):
        rules = links.read(links.ROOT, "deploy", "prometheus", "alerts.yaml")
        fleet, = [board for board in boards() if board.uid == "assay-fleet"]
        marked = json.dumps(fleet.json["annotations"])
        for alert in set(re.findall(r"- alert: (\w+)", rules)):
            self.assertRegex(marked, rf"\b{alert}\b")

    def test_links_name_nodes_and_gpus_as_filters_need_it(self):
        node, = [board for board in boards() if board.uid == "assay-node"]
        row = Row({"node": "a \"b\" (old)", "node_id": "n-1", "uuid": "GPU-1"})
        found = Scope(node, TimeRange(START, END), {PROMETHEUS: Prometheus([])})
        console = found.variables["console"].value
        for panel in node.panels():
            for _, link in links.data_links(panel):
                with self.subTest(panel=panel["title"], link=link["title"]):
                    self.assertIsNone(links.fault(found.url(link["url"], row), boards(), console))

    def test_a_node_is_matched_by_its_name_alone(self):
        node, = [board for board in boards() if board.uid == "assay-node"]
        name = "a.b \"c\" 'd' \\e (old)"
        found = Scope(node, TimeRange(START, END), {PROMETHEUS: Prometheus([name])},
                      {"node": name})
        text = found.promql(node.panel("Session")["targets"][0])
        pattern = re.fullmatch(r"max\(assay_fleet_node_up\{node=~`([^`]*)`\}\)", text).group(1)
        self.assertRegex(name, f"^{pattern}$")
        self.assertNotRegex(name.replace(".", "x"), f"^{pattern}$")

    def test_the_power_limit_has_no_red_line(self):
        node, = [board for board in boards() if board.uid == "assay-node"]
        overrides = node.panel("Time throttled, by reason")["fieldConfig"]["overrides"]
        properties = {one["id"]: one["value"] for override in overrides
                      if override["matcher"]["options"] == "/ power$/"
                      for one in override["properties"]}
        self.assertEqual(properties["custom.thresholdsStyle"], {"mode": "off"})

    def test_an_xid_is_marked_with_its_number(self):
        node, = [board for board in boards() if board.uid == "assay-node"]
        xid, = [one for one in node.json["annotations"]["list"] if one["name"] == "Xid"]
        self.assertIn("{{xid}}", xid["titleFormat"])
        self.assertIn('"xid"', xid["expr"])


if __name__ == "__main__":
    unittest.main()
