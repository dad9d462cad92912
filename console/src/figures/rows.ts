// Figures with a row per group: points (strip), boxes of run medians, and intervals (forest).

import { dot, link, rect, ruleX } from "@observablehq/plot";
import type { CaseComparisonJson } from "proto/analysis_pb";
import { change, plural, quantity, words } from "../format";
import { type BoxSummary, POINT_LIMIT, boxSummary, median, spread } from "./bins";
import { axisTitle, displayUnit } from "./columns";
import {
  ACCENT,
  BAD,
  type Drawing,
  GOOD,
  GRID,
  HALO,
  type LegendItem,
  MUTED,
  type Mark,
  WARN,
  circlePath,
  drawFrame,
  pathMark,
  textMarks,
} from "./drawing";
import { caseNames, placeNoun, toNumber } from "./names";
import { type Axis, type Label, extent, fitText, linearAxis, linearDomain, position, textWidth } from "./scales";

export const ROW_LIMIT = 40;

interface RowLayout {
  height: number;
  left: number;
  // Centers of the rows in pixels.
  centers: number[];
  rowHeight: number;
  // Labels stand above their rows instead of beside them.
  stacked: boolean;
  labels: Label[];
}

const TOP = 12;
// Room for half of the last tick's label.
const RIGHT = 26;
const BOTTOM = 42;

// Places one row per label: beside its label, or below it if the figure is narrow.
function layoutRows(labels: string[], width: number, rowHeight: number): RowLayout {
  const stacked = width < 560;
  const longest = Math.max(0, ...labels.map((label) => textWidth(label)));
  const left = stacked ? 10 : Math.round(Math.min(longest + 20, width * 0.36));
  const each = stacked ? rowHeight + 16 : rowHeight;
  const room = stacked ? width - 20 : left - 14;
  const centers = labels.map((_, index) => TOP + each * index + (stacked ? 16 : 0) + rowHeight / 2);
  return {
    height: TOP + each * labels.length + BOTTOM,
    left,
    centers,
    rowHeight,
    stacked,
    labels: labels.map((label, index) => ({
      text: fitText(label, room),
      x: stacked ? left : left - 10,
      y: stacked ? TOP + each * index + 9 : centers[index]!,
      anchor: stacked ? "start" : "end",
    })),
  };
}

export interface ValueGroup {
  name: string;
  // In the metric's unit.
  points: { value: number; text: string; href?: string }[];
}

export interface GroupsModel {
  metric: string;
  unit: string;
  groups: ValueGroup[];
}

export function groupsSummary(model: GroupsModel): string {
  const parts = model.groups.slice(0, 6).map((group) => {
    const middle = median(group.points.map((point) => point.value));
    return `${group.name || "without a value"}: median ${quantity(middle, model.unit)} of ${plural(group.points.length, "result")}`;
  });
  const more = model.groups.length - parts.length;
  return parts.join("; ") + (more > 0 ? `; and ${more} more groups.` : ".");
}

interface GroupsFrame {
  layout: RowLayout;
  x: Axis;
  px: (value: number) => number;
  factor: number;
  unit: string;
  shown: ValueGroup[];
  notes: string[];
  draw: (marks: Parameters<typeof drawFrame>[0]["marks"]) => SVGSVGElement;
  // The value of y for a pixel.
  y: (pixel: number) => number;
}

function groupsFrame(model: GroupsModel, width: number, rowHeight: number): GroupsFrame {
  const shown = model.groups.slice(0, ROW_LIMIT);
  const notes: string[] = [];
  if (model.groups.length > shown.length) {
    notes.push(`${model.groups.length - shown.length} more groups are in the table.`);
  }
  const values = shown.flatMap((group) => group.points.map((point) => point.value));
  const { unit, factor } = displayUnit(Math.max(...values.map(Math.abs), 0), model.unit);
  const layout = layoutRows(
    shown.map((group) => group.name || "(none)"),
    width,
    rowHeight,
  );
  const right = width - RIGHT;
  const x = linearAxis(
    linearDomain(values.map((value) => value * factor)),
    right - layout.left,
  );
  const y: Axis = { type: "linear", domain: [0, layout.height - TOP - BOTTOM], ticks: [], minor: [] };
  const bottom = layout.height - BOTTOM;
  return {
    layout,
    x,
    px: position(x, layout.left, right),
    factor,
    unit,
    shown,
    notes,
    y: (pixel) => bottom - pixel,
    draw: (marks) =>
      drawFrame({
        width,
        height: layout.height,
        margins: { top: TOP, right: RIGHT, bottom: BOTTOM, left: layout.left },
        x,
        y,
        xLabel: axisTitle(model.metric, unit),
        marks: [
          ...marks,
          ...textMarks(layout.labels, { x, y, left: layout.left, right, top: TOP, bottom }),
        ],
      }),
  };
}

// Draws each result as a point, and each group's median as a line.
export function drawStrip(model: GroupsModel, width: number): Drawing {
  const frame = groupsFrame(model, width, 26);
  const total = frame.shown.reduce((sum, group) => sum + group.points.length, 0);
  const perGroup = Math.max(30, Math.floor(POINT_LIMIT / Math.max(1, frame.shown.length)));
  let hidden = 0;
  const points = frame.shown.flatMap((group, index) => {
    const kept = thinValues(group.points, total > POINT_LIMIT ? perGroup : Infinity);
    hidden += group.points.length - kept.length;
    const half = frame.layout.rowHeight * 0.3;
    return kept.map((point, at) => ({
      x: point.value * frame.factor,
      pixel: frame.layout.centers[index]! + (spread(at) * 2 - 1) * half,
      text: `${group.name}\n${point.text}`,
      href: point.href,
    }));
  });
  const medians = frame.shown.map((group, index) => ({
    x: median(group.points.map((point) => point.value)) * frame.factor,
    y1: frame.y(frame.layout.centers[index]! - frame.layout.rowHeight * 0.42),
    y2: frame.y(frame.layout.centers[index]! + frame.layout.rowHeight * 0.42),
  }));
  const dense = points.length > 400;
  const svg = frame.draw([
    pathMark(
      points,
      () => ACCENT,
      (point) => circlePath(frame.px(point.x), point.pixel, dense ? 2 : 3),
      dense ? 0.65 : 0.75,
    ),
    link(
      medians.filter((one) => Number.isFinite(one.x)),
      { x: "x", y1: "y1", y2: "y2", stroke: "currentColor", strokeWidth: 2.5 },
    ),
  ]);
  if (hidden) frame.notes.push(`${hidden} of ${total} points lie between those that are drawn.`);
  return {
    svg,
    legend: [
      { shape: "circle", color: ACCENT, text: "a result" },
      { shape: "line", color: "currentColor", text: "median of the group" },
    ],
    notes: frame.notes,
    marks: points.map((point) => toMark(frame.px(point.x), point.pixel, point.text, point.href)),
  };
}

function toMark(x: number, y: number, label: string, href?: string): Mark {
  return href ? { x, y, text: label, href } : { x, y, text: label };
}

// Keeps about `limit` of the points, evenly by value and with both extremes.
export function thinValues<T extends { value: number }>(points: T[], limit: number): T[] {
  if (points.length <= limit) return points;
  const sorted = points
    .map((point, index) => ({ point, index }))
    .sort((a, b) => a.point.value - b.point.value || a.index - b.index);
  const kept = new Set<number>();
  for (let i = 0; i < limit; i++) {
    kept.add(sorted[Math.round((i * (sorted.length - 1)) / (limit - 1))]!.index);
  }
  return points.filter((_, index) => kept.has(index));
}

// Draws the quartiles of each group, and points beyond 1.5 times their distance.
export function drawBoxes(model: GroupsModel, width: number): Drawing {
  const frame = groupsFrame(model, width, 24);
  const boxes: (BoxSummary & { name: string; center: number })[] = [];
  const outside: { x: number; center: number; text: string; href?: string }[] = [];
  frame.shown.forEach((group, index) => {
    const summary = boxSummary(group.points.map((point) => point.value * frame.factor));
    const center = frame.layout.centers[index]!;
    if (!summary) return;
    boxes.push({ ...summary, name: group.name, center });
    const far = group.points.filter(
      (point) => point.value * frame.factor < summary.low || point.value * frame.factor > summary.high,
    );
    for (const point of thinValues(far, 50)) {
      outside.push({
        x: point.value * frame.factor,
        center,
        text: `${group.name}\n${point.text}`,
        ...(point.href ? { href: point.href } : {}),
      });
    }
  });
  const half = frame.layout.rowHeight * 0.3;
  const at = (shift: number) => (box: { center: number }) => frame.y(box.center + shift);
  const svg = frame.draw([
    link(boxes, { x1: "low", x2: "high", y: at(0), stroke: MUTED, strokeWidth: 1.5 }),
    rect(boxes, { x1: "q1", x2: "q3", y1: at(-half), y2: at(half), fill: ACCENT, fillOpacity: 0.35, stroke: ACCENT }),
    link(boxes, { x: "median", y1: at(-half), y2: at(half), stroke: "currentColor", strokeWidth: 2.5 }),
    dot(outside, { x: "x", y: at(0), r: 3, fill: HALO, stroke: BAD, strokeWidth: 1.5 }),
  ]);
  return {
    svg,
    legend: [
      { shape: "band", color: ACCENT, text: "middle half of the runs" },
      { shape: "line", color: "currentColor", text: "median" },
      { shape: "circle", color: BAD, text: "far from the others" },
    ],
    notes: frame.notes,
    marks: [
      ...outside.map((point) => toMark(frame.px(point.x), point.center, point.text, point.href)),
      ...boxes.map((box) => ({
        x: frame.px(box.median),
        y: box.center,
        text:
          `${box.name}\nmedian ${quantity(box.median, frame.unit)} of ${plural(box.count, "run")}\n` +
          `middle half: ${quantity(box.q1, frame.unit)} to ${quantity(box.q3, frame.unit)}`,
      })),
    ],
  };
}

export interface ForestRow {
  name: string;
  // In percent.
  change: number;
  low: number;
  high: number;
  verdict: string;
  // "99% interval −9.9% to −9.5%".
  interval: string;
  places: string;
  needs: string;
  a: number;
  b: number;
  unit: string;
  runs: string;
}

export interface ForestModel {
  rows: ForestRow[];
  margin: number;
  labelA: string;
  labelB: string;
}

// Says what would give an inconclusive case a verdict.
export function needText(one: CaseComparisonJson, noun: string): string {
  if (one.verdict !== "COMPARISON_VERDICT_INCONCLUSIVE") return "";
  const count = one.missingCount ?? 0;
  const many = (word: string) => (count > 0 ? `about ${plural(count, `more ${word}`)}` : `more ${word}s`);
  switch (one.missing) {
    case "MISSING_EVIDENCE_RUNS":
      return `needs ${many("run")} per ${noun}`;
    case "MISSING_EVIDENCE_PLACES":
      return `needs ${many(noun)}`;
    case "MISSING_EVIDENCE_ALTERNATING_RUNS":
      return "needs runs of A and B in turns";
    default:
      return "needs more runs";
  }
}

export function forestModel(
  cases: CaseComparisonJson[],
  labels: { a: string; b: string },
  margin = 0.02,
): ForestModel {
  const identities = cases.map((one) => one.case ?? {});
  const name = caseNames(identities);
  const noun = placeNoun(identities);
  const rows = cases.map((one): ForestRow => {
    const percent = (ratio: number | string | undefined) => (toNumber(ratio) - 1) * 100;
    const known = one.ratioLow !== undefined && one.ratioHigh !== undefined;
    const common = one.commonPlaces ?? 0;
    return {
      name: name(one.case ?? {}),
      change: percent(one.ratio),
      low: percent(one.ratioLow),
      high: percent(one.ratioHigh),
      verdict: words(one.verdict, "COMPARISON_VERDICT"),
      interval: known ? `${change(one.ratioLow)} to ${change(one.ratioHigh)}` : "",
      places:
        common > 0
          ? plural(common, noun)
          : `${one.placesA ?? 0}/${one.placesB ?? 0} ${noun}s`,
      needs: needText(one, noun),
      a: toNumber(one.medianA),
      b: toNumber(one.medianB),
      unit: one.case?.unit ?? "",
      runs: `${one.runsA ?? 0}/${one.runsB ?? 0}`,
    };
  });
  return { rows, margin: margin * 100, labelA: labels.a, labelB: labels.b };
}

export function verdictColor(verdict: string): string {
  if (verdict === "regressed") return BAD;
  if (verdict === "improved") return GOOD;
  return verdict === "inconclusive" ? WARN : MUTED;
}

export function forestSummary(model: ForestModel): string {
  const counts = new Map<string, number>();
  for (const { verdict } of model.rows) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  const parts = ["regressed", "improved", "equivalent", "inconclusive"]
    .filter((verdict) => counts.has(verdict))
    .map((verdict) => `${counts.get(verdict)} ${verdict}`);
  const worst = model.rows.find((row) => row.verdict === "regressed");
  return (
    `${model.labelB || "B"} against ${model.labelA || "A"}, ${plural(model.rows.length, "case")}: ${parts.join(", ")}.` +
    (worst ? ` Worst: ${worst.name}, ${change(1 + worst.change / 100)}.` : "")
  );
}

// Returns the part of the axis that shows the rows. Intervals that are much wider than all others
// are cut off, so that they do not make the rest unreadable.
export function forestDomain(model: ForestModel): [number, number] {
  const changes = model.rows.map((row) => row.change);
  const [low, high] = extent([0, ...changes, -model.margin * 2, model.margin * 2])!;
  const widths = model.rows
    .map((row) => (row.high - row.low) / 2)
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  const typical = widths.length ? widths[Math.floor((widths.length - 1) * 0.8)]! : 0;
  const reach = Math.max(typical * 1.5, (high - low) * 0.2);
  const ends = extent([
    low,
    high,
    ...model.rows.flatMap((row) => [Math.max(row.low, low - reach), Math.min(row.high, high + reach)]),
  ])!;
  const margin = (ends[1] - ends[0]) * 0.04;
  return [ends[0] - margin, ends[1] + margin];
}

// Draws a row per case: the change from A to B with its interval.
export function drawForest(model: ForestModel, width: number): Drawing {
  const shown = model.rows.slice(0, ROW_LIMIT);
  const layout = layoutRows(
    shown.map((row) => row.name),
    width,
    24,
  );
  // What stands right of the intervals: the change and what the case needs.
  const side = shown.map((row) => {
    const parts = [change(1 + row.change / 100), row.places];
    if (row.needs) parts.push(row.needs);
    return parts.join(" · ");
  });
  const wide = Math.max(0, ...side.map((one) => textWidth(one)));
  const asideWidth = !layout.stacked && width - layout.left - wide > 360 ? Math.ceil(wide) + 24 : 0;
  const right = width - RIGHT - asideWidth;
  const bottom = layout.height - BOTTOM;
  const domain = forestDomain({ ...model, rows: shown });
  const x = linearAxis(domain, right - layout.left, { unit: "%" });
  for (const tick of x.ticks) if (tick.value > 0) tick.label = `+${tick.label}`;
  const y: Axis = { type: "linear", domain: [0, bottom - TOP], ticks: [], minor: [] };
  const px = position(x, layout.left, right);
  const yOf = (pixel: number) => bottom - pixel;
  const rows = shown.map((row, index) => ({
    ...row,
    y: yOf(layout.centers[index]!),
    pixel: layout.centers[index]!,
    from: Math.max(row.low, domain[0]),
    until: Math.min(row.high, domain[1]),
    text: [
      row.name,
      `${change(1 + row.change / 100)}${row.interval ? `, 99% interval ${row.interval}` : ""}`,
      `${row.verdict} on ${row.places}`,
      row.needs,
    ]
      .filter(Boolean)
      .join("\n"),
  }));
  const known = rows.filter((row) => Number.isFinite(row.low) && Number.isFinite(row.high));
  const area = { x, y, left: layout.left, right, top: TOP, bottom };
  const labels = layout.stacked ? stackedForestLabels(layout, side, width) : layout.labels;
  const svg = drawFrame({
    width,
    height: layout.height,
    margins: { top: TOP, right: width - right, bottom: BOTTOM, left: layout.left },
    x,
    y,
    xLabel: "change from A to B",
    marks: [
      rect([0], { x1: -model.margin, x2: model.margin, y1: 0, y2: bottom - TOP, fill: GRID, fillOpacity: 0.6 }),
      ruleX([0], { stroke: MUTED, strokeWidth: 1.5 }),
      link(known, {
        x1: "from",
        x2: "until",
        y: "y",
        stroke: (row: ForestRow) => verdictColor(row.verdict),
        strokeWidth: 2.5,
      }),
      dot(
        rows.filter((row) => Number.isFinite(row.change)),
        {
          x: "change",
          y: "y",
          r: 4.5,
          symbol: (row: ForestRow) => verdictSymbol(row.verdict),
          fill: (row: ForestRow) => verdictColor(row.verdict),
          stroke: HALO,
        },
      ),
      ...textMarks(labels, area),
      ...(asideWidth
        ? textMarks(
            side.map((one, index) => ({
              text: one,
              x: right + 14,
              y: layout.centers[index]!,
              anchor: "start" as const,
            })),
            area,
            MUTED,
          )
        : []),
    ],
  });
  const verdicts = new Set(shown.map((row) => row.verdict));
  const legend: LegendItem[] = [];
  for (const [verdict, shape, meaning] of [
    ["regressed", "square", "regressed"],
    ["improved", "triangle", "improved"],
    ["inconclusive", "diamond", "inconclusive"],
    ["equivalent", "circle", "equivalent"],
  ] as const) {
    if (verdicts.has(verdict)) legend.push({ shape, color: verdictColor(verdict), text: meaning });
  }
  legend.push({ shape: "band", color: MUTED, text: `within ±${model.margin}%: does not matter` });
  return {
    svg,
    legend,
    notes:
      model.rows.length > shown.length
        ? [`${model.rows.length - shown.length} more cases are in the table.`]
        : [],
    marks: rows
      .filter((row) => Number.isFinite(row.change))
      .map((row) => ({ x: px(row.change), y: row.pixel, text: row.text })),
  };
}

function verdictSymbol(verdict: string): "square" | "triangle" | "diamond" | "circle" {
  if (verdict === "regressed") return "square";
  if (verdict === "improved") return "triangle";
  return verdict === "inconclusive" ? "diamond" : "circle";
}

// In narrow figures, the change stands at the right end of the line with the name.
function stackedForestLabels(layout: RowLayout, side: string[], width: number): Label[] {
  return layout.labels.flatMap((label, index): Label[] => {
    const value = side[index]!.split(" · ")[0]!;
    return [
      { ...label, text: fitText(label.text, width - 40 - textWidth(value)) },
      { text: value, x: width - 16, y: label.y, anchor: "end" },
    ];
  });
}

