"""Expands Grafana dashboards as Grafana does: variables, formats, SQL macros, intervals and links.

Follows Grafana 11 to 13. It differs on purpose in one thing: what Grafana leaves unexpanded or
replaces with a fallback (an unknown variable or format) is an error here.

    board = Dashboard(path)
    scope = Scope(board, TimeRange(start, end), sources)    # runs the queries of variables
    scope.promql(target, panel)                             # text to send to Prometheus
    scope.sql(target["rawSql"], panel)                      # text to send to PostgreSQL
    scope.url(link["url"], Row({"node": "a"}))              # address that a click opens
"""

import collections
import datetime
import json
import re
import urllib.parse

PROMETHEUS = "prometheus"
POSTGRES = "grafana-postgresql-datasource"
ALL = "$__all"

# $name | [[name:format]] | ${name.path:format}
REFERENCE = re.compile(
    r"\$(\w+)|\[\[(\w+?)(?::(\w+))?\]\]|\$\{(\w+)(?:\.([^:^}]+))?(?::([^}]+))?\}", re.ASCII)
# The first ")" ends a macro, so an argument cannot contain a call.
MACRO = re.compile(r"\$([_a-zA-Z0-9]+)\(([^)]*)\)")
UNITS = {"ms": 1, "s": 1000, "m": 60000, "h": 3600000, "d": 86400000, "w": 604800000}
# Upper bound of a computed interval, and the round interval below it, in milliseconds.
ROUND = (
    (10, 1), (15, 10), (35, 20), (75, 50), (150, 100), (350, 200), (750, 500), (1500, 1000),
    (3500, 2000), (7500, 5000), (12500, 10000), (17500, 15000), (25000, 20000), (45000, 30000),
    (90000, 60000), (210000, 120000), (450000, 300000), (750000, 600000), (1050000, 900000),
    (1500000, 1200000), (2700000, 1800000), (5400000, 3600000), (9000000, 7200000),
    (16200000, 10800000), (32400000, 21600000), (86400000, 43200000), (604800000, 86400000),
    (1814400000, 604800000), (3628800000, 2592000000))


class GrafanaError(Exception):
    """An error that Grafana shows, or a reference that Grafana would leave as it is."""


# Intervals and times.

def parse_interval(text):
    """Returns milliseconds of an interval such as "5m", "1h30m" or ">10s"."""
    text = text.strip().lstrip(">")
    if not re.fullmatch(r"(\d+(\.\d+)?(ms|[smhdw]))+", text):
        raise GrafanaError(f"error parsing interval {text}")
    return int(sum(float(number) * UNITS[unit]
                   for number, _, unit in re.findall(r"(\d+(\.\d+)?)(ms|[smhdw])", text)))


def format_interval(milliseconds):
    """Returns the largest unit's whole number, as Grafana does: 90,000 ms are "1m"."""
    for unit in ("d", "h", "m", "s"):
        if milliseconds >= UNITS[unit]:
            return f"{milliseconds // UNITS[unit]}{unit}"
    return f"{milliseconds}ms"


def round_interval(milliseconds):
    return next((value for limit, value in ROUND if milliseconds < limit), 31536000000)


def moment(milliseconds):
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)


def rfc3339(milliseconds):
    """Returns Go's RFC3339Nano, which drops zeros at the end of a fraction."""
    text = moment(milliseconds).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{milliseconds % 1000:03d}".rstrip("0")
    return f"{text}.{fraction}Z" if fraction else f"{text}Z"


def format_date(milliseconds, arguments):
    form = ":".join(arguments) or "iso"
    when = moment(int(milliseconds))
    if form == "ms":
        return str(milliseconds)
    if form == "seconds":
        return str(round(int(milliseconds) / 1000))
    if form == "iso":
        return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(milliseconds) % 1000:03d}Z"
    names = {"YYYY": "%Y", "MM": "%m", "DD": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
    return when.strftime(re.sub("|".join(names), lambda match: names[match.group()], form))


class TimeRange(collections.namedtuple("TimeRange", "start end raw_from raw_to")):
    """A dashboard's time range in milliseconds. The raw texts are those of the time picker."""

    def __new__(cls, start, end, raw_from=None, raw_to=None):
        start, end = int(start), int(end)
        return super().__new__(cls, start, end, raw_from or str(start), raw_to or str(end))

    @property
    def url(self):
        return urllib.parse.urlencode({"from": self.raw_from, "to": self.raw_to})


# Formats of values. A value is a text or a list of texts.

def encode_component(text):
    return urllib.parse.quote(str(text), safe="-_.~")


def encode_uri(text):
    return urllib.parse.quote(str(text), safe="-_.~;/?:@&=+$,#")


def escape_regex(text):
    return re.sub(r"[\\^$*+?.()|\[\]{}/]", r"\\\g<0>", text)


def listed(value):
    return value if isinstance(value, list) else [value]


def joined(separator):
    return lambda value: separator.join(listed(value))


def alternatives(values):
    return values[0] if len(values) == 1 else "(" + "|".join(values) + ")"


def braced(value):
    return "{" + ",".join(value) + "}" if isinstance(value, list) else value


def quoted(quote, escape):
    return lambda value: ",".join(
        quote + escape(one) + quote for one in listed(value))


def glob(value):
    return "{" + ",".join(value) + "}" if isinstance(value, list) and len(value) > 1 else (
        ",".join(listed(value)))


FORMATS = {
    "raw": joined(","),
    "csv": joined(","),
    "pipe": joined("|"),
    "glob": glob,
    "regex": lambda value: alternatives([escape_regex(one) for one in listed(value)]),
    "json": lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False)
            if isinstance(value, list) else value,
    "singlequote": quoted("'", lambda text: text.replace("'", "\\'")),
    "doublequote": quoted('"', lambda text: text.replace('"', '\\"')),
    # Also escapes double quotes, although PostgreSQL then reads a backslash: Grafana's choice.
    "sqlstring": quoted("'", lambda text: text.replace("'", "''").replace('"', '\\"')),
    "percentencode": lambda value: encode_component(braced(value)),
    "uriencode": lambda value: encode_uri(braced(value)),
}


def prometheus_default(value, variable):
    """Escapes for a regular expression inside a PromQL string, hence two backslashes."""
    if not variable.multi and not variable.include_all:
        return value.replace("\\", "\\\\").replace("'", "\\\\'")
    return alternatives([re.sub(r"[$^*{}\[\]'+?.()|]", lambda match: "\\\\" + match.group(),
                                one.replace("\\", "\\\\\\\\")) for one in listed(value)])


def postgres_default(value, variable):
    def quote(text):
        return "'" + text.replace("'", "''") + "'"
    if isinstance(value, list):
        return ",".join(map(quote, value))
    return quote(value) if variable.multi or variable.include_all else value.replace("'", "''")


# Dashboards.

class Dashboard:
    """A dashboard's JSON. `name` is the file's name."""

    def __init__(self, path):
        self.name = path.rsplit("/", 1)[-1]
        with open(path, encoding="utf-8") as file:
            self.json = json.load(file)
        self.uid = self.json["uid"]
        self.variables = {one["name"]: one for one in self.json["templating"]["list"]}

    @property
    def source_type(self):
        """Type of the data source, which the board's variable of type "datasource" chooses."""
        return next(one["query"] for one in self.variables.values()
                    if one["type"] == "datasource")

    def panels(self):
        """Yields all panels but rows, those of collapsed rows included."""
        for panel in self.json["panels"]:
            if panel["type"] != "row":
                yield panel
            yield from panel.get("panels", [])

    def panel(self, title):
        found = [panel for panel in self.panels() if panel["title"] == title]
        if len(found) != 1:
            raise KeyError(f"{self.name}: {len(found)} panels with the title {title!r}")
        return found[0]


class Variable:
    """A variable and its value: a text, or a list where several may be chosen."""

    def __init__(self, model, value, options=(), is_all=False):
        self.name, self.kind, self.model = model["name"], model["type"], model
        self.multi, self.include_all = bool(model.get("multi")), bool(model.get("includeAll"))
        self.all_value = model.get("allValue") or None
        self.value, self.options, self.is_all = value, list(options), is_all

    @property
    def text(self):
        return "All" if self.is_all else " + ".join(listed(self.value))

    @property
    def url(self):
        values = [ALL] if self.is_all else listed(self.value)
        return "&".join(f"var-{self.name}={encode_component(one)}" for one in values)


BuiltIn = collections.namedtuple("BuiltIn", "multi include_all")(False, False)


class Row:
    """What a data link may refer to: a row of a table, or a series with labels and a value."""

    def __init__(self, fields=None, labels=None, value=None, time=None, name=""):
        self.fields, self.labels = dict(fields or {}), dict(labels or {})
        self.value, self.time, self.name = value, time, name

    def resolve(self, name, path):
        """Returns the text of ${name.path}. Raises GrafanaError if there is no such field."""
        found = None
        if name == "__value" and path in ("raw", "numeric", "text", "time"):
            found = self.time if path == "time" else self.value
        elif name in ("__field", "__series") and path == "name":
            found = self.name
        elif name == "__field" and path:
            found = self._pick(self.labels, path.removeprefix("labels"))
        elif name == "__data" and path and path.startswith("fields"):
            found = self._pick(self.fields, path.removeprefix("fields"))
        if found is None:
            raise GrafanaError(f"a link refers to ${{{name}.{path}}}, which this row does not have")
        return str(found)

    @staticmethod
    def _pick(values, path):
        match = re.fullmatch(r"\.(\w+)|\[[\"']?([^\"'\]]+)[\"']?\]", path)
        key = match and (match.group(1) or match.group(2))
        if key and key.isdigit() and key not in values:
            return list(values.values())[int(key)] if int(key) < len(values) else None
        return values.get(key)


# Options of variables.

def javascript_regex(text):
    """Returns a compiled pattern of "/pattern/flags", or of a text that must match whole."""
    slashed = re.fullmatch(r"/(.*)/([gimsuy]*)", text, re.DOTALL)
    pattern, flags = slashed.groups() if slashed else (f"^{text}$", "")
    pattern = re.sub(r"\(\?<(?![=!])", "(?P<", pattern)
    return re.compile(pattern, re.IGNORECASE if "i" in flags else 0)


def filtered(values, pattern, sort):
    """Applies the regular expression and the order of a query variable."""
    if pattern:
        regex, kept = javascript_regex(pattern), []
        for value in values:
            match = regex.search(value)
            if match:
                named = match.groupdict().get("value")
                kept.append(named or (match.group(1) if match.groups() else value))
        values = kept
    values = list(dict.fromkeys(value for value in values if value is not None))
    if not sort:
        return values

    def key(text):
        number = re.match(r".*?(\d+)", text)
        return {1: text, 2: int(number.group(1)) if number else -1, 3: text.lower()}[kind]
    kind = (sort + 1) // 2
    if kind not in (1, 2, 3):
        raise GrafanaError(f"sort order {sort} is not supported")
    return sorted(values, key=key, reverse=sort % 2 == 0)


def custom_options(text):
    """Returns the values of "a, b, Label : value"."""
    parts = [part.replace("\\,", ",").strip() for part in re.findall(r"(?:\\,|[^,])+", text)]
    pairs = [re.match(r"(.+)\s:\s(.+)$", part) for part in parts]
    return [pair.group(2).strip() if pair else part for part, pair in zip(parts, pairs)]


class Scope:
    """The values of a dashboard's variables at one time range.

    `sources` maps a data source's type to a client:
      Prometheus: get(path, parameters) returns the member `data` of /api/v1/PATH's answer.
      PostgreSQL: query(sql) returns (names of columns, rows as lists of text).
    `choose` maps names to values, as "var-NAME=VALUE" in the address does.
    `minimum` is the data source's minimum interval, `timeInterval` in its settings.
    """

    def __init__(self, board, time_range, sources, choose=None, minimum="10s", points=1000):
        self.board, self.range, self.sources = board, time_range, sources
        self.minimum, self.points = parse_interval(minimum), points
        self.variables = {}
        choose = dict(choose or {})
        for name in self._in_order():
            self.variables[name] = self._resolve(board.variables[name], choose.pop(name, None))
        if choose:
            raise GrafanaError(f"{board.name} has no variables {sorted(choose)}")

    def _in_order(self):
        """Returns the names so that each comes after those that its query refers to."""
        ordered, visiting = [], set()

        def visit(name):
            if name in ordered:
                return
            if name in visiting:
                raise GrafanaError(f"variable {name} depends on itself")
            visiting.add(name)
            model = self.board.variables[name]
            text = json.dumps([model.get("query"), model.get("datasource"), model.get("allValue")])
            for groups in REFERENCE.findall(text):
                other = groups[0] or groups[1] or groups[3]
                if other in self.board.variables:
                    visit(other)
            ordered.append(name)
        for name in self.board.variables:
            visit(name)
        return ordered

    def _resolve(self, model, chosen):
        kind = model["type"]
        if kind in ("textbox", "constant", "datasource"):
            current = model.get("current", {}).get("value") or (
                "" if kind == "datasource" else model.get("query", ""))
            return Variable(model, chosen if chosen is not None else current)
        options = self._options(model)
        current = chosen if chosen is not None else model.get("current", {}).get("value", "")
        values = [str(one) for one in listed(current)]
        if model.get("includeAll") and (ALL in values or not set(values) & set(options)):
            if chosen is None or ALL in values:
                return Variable(model, options, options, is_all=True)
        if chosen is not None and not set(values) <= set(options):
            raise GrafanaError(f"variable {model['name']}: {chosen!r} is not one of {options[:20]}")
        values = [one for one in values if one in options] or options[:1]
        return Variable(model, values if model.get("multi") else "".join(values[:1]), options)

    def _options(self, model):
        query = model.get("query", "")
        if model["type"] == "custom":
            return custom_options(query)
        if model["type"] == "interval":
            return [one.strip() for one in query.split(",")]
        if model["type"] != "query":
            raise GrafanaError(f"variables of type {model['type']} are not supported")
        if model["datasource"]["type"] == POSTGRES:
            values = self._sql_options(query if isinstance(query, str) else query["rawSql"])
        else:
            values = self._prometheus_options(query if isinstance(query, str) else query["query"])
        return filtered(values, model.get("regex"), model.get("sort"))

    def _sql_options(self, query):
        columns, rows = self.sources[POSTGRES].query(self.sql(query))
        if "__value" in columns:
            rows = [[row[columns.index("__value")]] for row in rows]
        return [value for row in rows for value in row]

    def _prometheus_options(self, query):
        query = self.replace(query, prometheus_default).strip()
        get, window = self.sources[PROMETHEUS].get, {
            "start": self.range.start / 1000, "end": self.range.end / 1000}
        if match := re.match(r"label_values\((?:(.+),\s*)?([a-zA-Z_$][a-zA-Z0-9_]*)\)\s*$", query):
            selector = {"match[]": match.group(1)} if match.group(1) else {}
            return get(f"label/{match.group(2)}/values", {**selector, **window})
        if match := re.match(r"query_result\((.+)\)\s*$", query):
            answer = get("query", {"query": self._intervals(match.group(1), {}, {}),
                                   "time": window["end"]})
            return [self._as_text(one) for one in answer["result"]]
        if match := re.match(r"metrics\((.+)\)\s*$", query):
            names = get("label/__name__/values", window)
            return [name for name in names if re.search(match.group(1), name)]
        if re.match(r"label_names\(\)\s*$", query):
            return get("labels", window)
        raise GrafanaError(f"not a query of a variable: {query}")

    @staticmethod
    def _as_text(one):
        """Returns the text that query_result offers to the variable's regular expression."""
        labels = dict(one["metric"])
        name = labels.pop("__name__", "")
        text = ",".join(f'{key}="{value}"' for key, value in labels.items())
        return f"{name}{{{text}}} {one['value'][1]} {one['value'][0] * 1000:.0f}"

    # Expansion.

    def replace(self, text, default=None, extra=None, row=None, keep=()):
        """Replaces variables. `default` formats values without a format of their own. A function
        gets the value and the variable; a text names a format. `extra` has built-in variables.
        Names in `keep` stay as they are."""
        def replaced(match):
            name = match.group(1) or match.group(2) or match.group(4)
            path, form = match.group(5), match.group(3) or match.group(6)
            if name in keep:
                return match.group()
            if row and name in ("__value", "__field", "__series", "__data"):
                return self._format(row.resolve(name, path), BuiltIn, form, default)
            if name in (extra or {}):
                return self._format(str(extra[name]), BuiltIn, form, default)
            if name in ("__from", "__to"):
                value = self.range.start if name == "__from" else self.range.end
                return self._format(str(value), BuiltIn, form, default)
            if name == "__url_time_range":
                return self.range.url
            if name == "__all_variables":
                return self.all_variables()
            if name in self.variables:
                return self._variable(self.variables[name], form, default)
            raise GrafanaError(f"{self.board.name}: unknown variable {match.group()} in {text}")
        return REFERENCE.sub(replaced, text)

    def _variable(self, variable, form, default):
        if form == "queryparam":
            return variable.url
        if form == "text":
            return variable.text
        if variable.is_all and variable.all_value:
            if form in ("percentencode", "uriencode"):
                return FORMATS[form](variable.all_value)
            return self.replace(variable.all_value)  # Grafana does not format it.
        return self._format(variable.value, variable, form, default)

    @staticmethod
    def _format(value, variable, form, default):
        if form is None and callable(default):
            return default(value, variable)
        name, *arguments = (form or default or "glob").split(":")
        if name == "date":
            return format_date(value, arguments)
        if name not in FORMATS:
            raise GrafanaError(f"unknown format {name!r}")
        return FORMATS[name](value)

    def all_variables(self):
        return "&".join(one.url for one in self.variables.values()
                        if not one.model.get("skipUrlSync") and one.kind != "constant")

    def interval(self, panel=None, target=None):
        """Returns the milliseconds of $__interval: the range over the panel's points, rounded, and
        not less than the minimum of the target, the panel or the data source."""
        panel, target = panel or {}, target or {}
        text = self.replace(target.get("interval") or panel.get("interval") or "")
        minimum = parse_interval(text) if text else self.minimum
        points = panel.get("maxDataPoints") or self.points
        return max(round_interval((self.range.end - self.range.start) / points), minimum)

    def _intervals(self, text, panel, target):
        """Replaces the built-in intervals, which Prometheus' data source does by itself."""
        interval = self.interval(panel, target)
        scrape = self.minimum
        rate = max(interval + scrape, 4 * scrape)
        span = self.range.end - self.range.start
        values = {"__interval": format_interval(interval), "__interval_ms": interval,
                  "__rate_interval": f"{rate // 1000}s" if rate >= 1000 else f"{rate}ms",
                  "__rate_interval_ms": rate, "__range": f"{round(span / 1000)}s",
                  "__range_s": round(span / 1000), "__range_ms": span}
        names = "|".join(sorted(values, key=len, reverse=True))
        return re.sub(rf"\$(?:({names})\b|\{{({names})\}})",
                      lambda match: str(values[match.group(1) or match.group(2)]), text)

    def promql(self, target, panel=None):
        """Returns the PromQL of a panel's target, an annotation or a text."""
        target = {"expr": target} if isinstance(target, str) else target
        return self.replace(self._intervals(target["expr"], panel, target), prometheus_default)

    def sql(self, text, panel=None):
        """Returns the SQL of a panel's target, an annotation or a variable: first variables, then
        macros, as browser and server do."""
        interval = self.interval(panel)
        extra = {"__interval": format_interval(interval), "__interval_ms": interval}
        macros = {match.group(1) for match in MACRO.finditer(text)} - set(self.variables)
        text = self.replace(text, postgres_default, extra, keep=macros)
        text = text.replace("$__unixEpochFrom()", str(self.range.start // 1000))
        text = text.replace("$__unixEpochTo()", str(self.range.end // 1000))

        def evaluated(match):
            name, arguments = match.group(1), [one.strip() for one in match.group(2).split(",")]
            if name == "__timeGroup" and text[match.end():match.end() + 1] == ",":
                name = "__timeGroupAlias"  # Grafana's concession to queries before version 5.3.
            return evaluate_macro(name, arguments, self.range)
        text = MACRO.sub(evaluated, text)
        if left := re.search(r"\$__\w+", text):
            raise GrafanaError(f"{left.group()} is no macro without parentheses: {text}")
        return text

    def url(self, text, row=None):
        """Returns the address that a data link or a dashboard link leads to."""
        return self.replace(text, "uriencode", row=row)

    def dashboard_link(self, link, target):
        """Returns the address of a dashboard link to the dashboard `target`."""
        parts = ([self.range.url] if link.get("keepTime") else []) + (
            [self.all_variables()] if link.get("includeVars") else [])
        return f"/d/{target.uid}" + ("?" + "&".join(parts) if parts else "")


def evaluate_macro(name, arguments, time_range):
    """Returns the SQL of a macro of Grafana's PostgreSQL data source."""
    def group(column, template):
        if len(arguments) < 2:
            raise GrafanaError(f"macro {name} needs time column and interval and optional fill "
                               "value")
        seconds = parse_interval(arguments[1].strip("'")) / 1000
        if seconds <= 0:
            raise GrafanaError(f"interval must be positive, got {arguments[1]}")
        if len(arguments) == 3 and arguments[2] not in ("NULL", "previous"):
            float(arguments[2])
        return template.format(column, f"{seconds:g}" if seconds < 1e6 else f"{seconds:.0f}")
    first, second = rfc3339(time_range.start), rfc3339(time_range.end)
    start, end = time_range.start // 1000, time_range.end // 1000
    column = arguments[0]
    simple = {
        "__time": f'{column} AS "time"',
        "__timeEpoch": f'extract(epoch from {column}) as "time"',
        "__timeFilter": f"{column} BETWEEN '{first}' AND '{second}'",
        "__timeFrom": f"'{first}'",
        "__timeTo": f"'{second}'",
        "__unixEpochFilter": f"{column} >= {start} AND {column} <= {end}",
        "__unixEpochNanoFilter": f"{column} >= {time_range.start}000000 AND "
                                 f"{column} <= {time_range.end}000000",
        "__unixEpochNanoFrom": f"{time_range.start}000000",
        "__unixEpochNanoTo": f"{time_range.end}000000",
    }
    if name in simple:
        return simple[name]
    groups = {"__timeGroup": "floor(extract(epoch from {0})/{1})*{1}",
              "__unixEpochGroup": "floor(({0})/{1})*{1}"}
    if name.removesuffix("Alias") in groups:
        alias = ' AS "time"' if name.endswith("Alias") else ""
        return group(column, groups[name.removesuffix("Alias")]) + alias
    raise GrafanaError(f'unknown macro "{name}"')
