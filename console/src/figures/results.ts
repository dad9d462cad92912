// Turns results into the data of figures: which case, which groups, and which parameter.

import type { ResultGroupJson, TabulateResultsResponseJson } from "proto/result_service_pb";
import { localTime, percent, quantity } from "../format";
import { to } from "../router";
import { Columns } from "./columns";
import { type LinesModel, type Sample, linesModel } from "./lines";
import { type Parameters, parameterOrder, parametersName, shorten } from "./names";
import type { GroupsModel, ValueGroup } from "./rows";

export interface CaseFamily {
  benchmark: string;
  metric: string;
  unit: string;
  resultCount: number;
  // The parameters that differ, with their values in order.
  varying: Map<string, string[]>;
}

// Returns the benchmarks and metrics of groups, that with most results first.
export function familiesOf(groups: ResultGroupJson[]): CaseFamily[] {
  const families = new Map<string, CaseFamily & { all: Map<string, Set<string>> }>();
  for (const group of groups) {
    const run = group.best?.caseResult;
    const measured = run?.measurements?.[0];
    if (!run?.benchmark || !measured?.metric) continue;
    const key = familyKey(run.benchmark, measured.metric);
    const family = families.get(key) ?? {
      benchmark: run.benchmark,
      metric: measured.metric,
      unit: measured.unit ?? "",
      resultCount: 0,
      varying: new Map<string, string[]>(),
      all: new Map<string, Set<string>>(),
    };
    families.set(key, family);
    family.resultCount += group.resultCount ?? 0;
    for (const [name, value] of Object.entries(run.parameters ?? {})) {
      family.all.set(name, (family.all.get(name) ?? new Set()).add(value));
    }
  }
  const list = [...families.values()].map(({ all, ...family }) => ({
    ...family,
    varying: new Map(
      [...all]
        .filter(([, values]) => values.size > 1)
        .map(([name, values]) => [name, sortedValues(values)]),
    ),
  }));
  return list.sort((a, b) => b.resultCount - a.resultCount || (a.benchmark < b.benchmark ? -1 : 1));
}

// Returns the family of a table whose rows have one benchmark and metric.
export function familyOf(response: TabulateResultsResponseJson): CaseFamily {
  const table = new Columns(response);
  const varying = new Map<string, string[]>();
  for (const column of response.columns ?? []) {
    const field = column.field ?? "";
    if (!field.startsWith("parameters.")) continue;
    const values = table.values(field).filter(Boolean);
    if (values.length > 1) varying.set(field.slice("parameters.".length), sortedValues(values));
  }
  return {
    benchmark: table.text("benchmark", 0),
    metric: table.text("metric", 0),
    unit: table.text("unit", 0),
    resultCount: table.rowCount,
    varying,
  };
}

function sortedValues(values: Iterable<string>): string[] {
  return [...values].sort((a, b) => Number(a) - Number(b) || (a < b ? -1 : 1));
}

export function familyKey(benchmark: string, metric: string): string {
  return `${benchmark}.${metric}`;
}

const isNumber = (text: string) => text !== "" && Number.isFinite(Number(text));
const LINE_POINTS = 4;

// Picks the parameter for the x axis: the number with most values, if it has four or more. "bytes"
// and sizes come before others.
export function xParameter(family: CaseFamily): string {
  const rank = (name: string) => {
    const at = ["bytes", "m", "elements", "n"].indexOf(name);
    return at < 0 ? 9 : at;
  };
  const candidates = [...family.varying].filter(
    ([, values]) => values.length >= LINE_POINTS && values.every(isNumber),
  );
  candidates.sort(([a, x], [b, y]) => y.length - x.length || rank(a) - rank(b) || (a < b ? -1 : 1));
  return candidates[0]?.[0] ?? "";
}

// Fields that a figure of a family needs.
export function figureFields(family: CaseFamily, by: string[]): string[] {
  const fields = ["median", "ci_low", "ci_high", "node", "gpu.uuid", "end_time", "result_id", "flag"];
  const extra = family.unit.endsWith("B/s")
    ? ["model_latency_seconds", "model_bandwidth", "model_error", "model_sizes"]
    : [];
  const parameters = [...family.varying.keys()].map((name) => `parameters.${name}`);
  return [...new Set([...fields, ...extra, ...by, ...parameters])].slice(0, 40);
}

// Leaves out parameters that follow from the others: n = m is not a second parameter.
export function independent(table: Columns, names: string[], given: string): string[] {
  const kept: string[] = [];
  for (const name of parameterOrder(names)) {
    if (name === given) continue;
    const known = new Map<string, string>();
    let follows = true;
    for (let row = 0; row < table.rowCount && follows; row++) {
      const key = JSON.stringify([given, ...kept].filter(Boolean).map((one) => table.text(`parameters.${one}`, row)));
      const value = table.text(`parameters.${name}`, row);
      const before = known.get(key);
      if (before !== undefined && before !== value) follows = false;
      known.set(key, value);
    }
    if (!follows) kept.push(name);
  }
  return kept;
}

// Leaves out fields that have the same value everywhere, if the parameters make a name.
function namingFields(table: Columns, by: string[], parameters: string[]): string[] {
  const several = by.filter((field) => table.values(field).length > 1);
  return several.length || parameters.length ? several : by;
}

function seriesName(table: Columns, row: number, by: string[], parameters: string[]): string {
  const values = by.map((field) => {
    const value = table.text(field, row);
    return field === "gpu.uuid" ? shorten(value, 16) : value || "none";
  });
  const pairs: Parameters = {};
  for (const name of parameters) pairs[name] = table.text(`parameters.${name}`, row);
  return [parametersName(pairs), ...values].filter(Boolean).join(", ");
}

function pointText(table: Columns, row: number, unit: string): string {
  const value = table.number("median", row);
  const half = (table.number("ci_high", row) - table.number("ci_low", row)) / 2 / value;
  const interval = Number.isFinite(half) ? ` ±${percent(half)}` : "";
  const place = [table.text("gpu.uuid", row).slice(0, 12), table.text("node", row)].filter(Boolean).join(" on ");
  return [
    `${quantity(value, unit)}${interval}`,
    place,
    localTime(table.text("end_time", row)).slice(0, 16),
    table.text("flag", row) && `flags: ${table.text("flag", row)}`,
  ]
    .filter(Boolean)
    .join("\n");
}

// Returns one group per value of `by` and of the parameters that differ.
export function groupsModel(
  response: TabulateResultsResponseJson,
  family: CaseFamily,
  by: string[],
  links = true,
): GroupsModel {
  const table = new Columns(response);
  const parameters = independent(table, [...family.varying.keys()], "");
  const fields = namingFields(table, by, parameters);
  const groups = new Map<string, ValueGroup>();
  for (let row = 0; row < table.rowCount; row++) {
    const value = table.number("median", row);
    if (!Number.isFinite(value)) continue;
    const name = seriesName(table, row, fields, parameters) || family.benchmark;
    const group = groups.get(name) ?? { name, points: [] };
    groups.set(name, group);
    const id = table.text("result_id", row);
    group.points.push({
      value,
      text: pointText(table, row, family.unit),
      ...(links && id ? { href: to("result", id) } : {}),
    });
  }
  const collator = new Intl.Collator("en", { numeric: true });
  const sorted = [...groups.values()].sort((a, b) => collator.compare(a.name, b.name));
  return { metric: family.metric, unit: family.unit, groups: sorted };
}

// Returns a line per value of `by` and of the other parameters that differ.
export function linesOf(
  response: TabulateResultsResponseJson,
  family: CaseFamily,
  parameter: string,
  by: string[],
  links = true,
): LinesModel {
  const table = new Columns(response);
  const others = independent(table, [...family.varying.keys()], parameter);
  const fields = namingFields(table, by, others);
  const samples: Sample[] = [];
  for (let row = 0; row < table.rowCount; row++) {
    const bandwidth = table.number("model_bandwidth", row);
    const id = table.text("result_id", row);
    samples.push({
      series: seriesName(table, row, fields, others),
      x: table.number(`parameters.${parameter}`, row),
      value: table.number("median", row),
      ...(links && id ? { href: to("result", id) } : {}),
      ...(bandwidth > 0
        ? {
            fit: {
              latencySeconds: table.number("model_latency_seconds", row),
              bandwidth,
              error: table.number("model_error", row),
              sizes: table.number("model_sizes", row) || 0,
            },
          }
        : {}),
    });
  }
  const collator = new Intl.Collator("en", { numeric: true });
  samples.sort((a, b) => collator.compare(a.series, b.series));
  return linesModel(samples, { parameter, metric: family.metric, unit: family.unit });
}
