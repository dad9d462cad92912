// Measurements between every two ends, as a square of coloured cells.

import { dot, rect } from "@observablehq/plot";
import type { GetPairsResponseJson, PairCellVerdictJson, PairMatrixJson } from "proto/analysis_service_pb";
import { num, plural, quantity, significant } from "../format";
import { axisTitle, displayUnit } from "./columns";
import { BAD, type Drawing, type LegendItem, MUTED, drawFrame, pathMark, textMarks } from "./drawing";
import { type Axis, type Label, extent, fitText, position, textWidth } from "./scales";

export type CellState = "ok" | "bad end" | "bad link" | "uncertain" | "unjudged" | "failed" | "missing";

export interface HeatCell {
  // Indices of `ends`.
  row: number;
  column: number;
  value: number | undefined;
  expected: number | undefined;
  state: CellState;
  link: string;
  flags: string[];
}

export interface HeatModel {
  // All ends of the matrix, and their names without what all have in common.
  ends: string[];
  short: string[];
  prefix: string;
  cells: HeatCell[];
  metric: string;
  unit: string;
  lowerIsBetter: boolean;
  directed: boolean;
  betweenGpus: boolean;
  title: string;
}

const STATES: { [name in PairCellVerdictJson]?: CellState } = {
  PAIR_CELL_VERDICT_OK: "ok",
  PAIR_CELL_VERDICT_BAD_END: "bad end",
  PAIR_CELL_VERDICT_BAD_LINK: "bad link",
  PAIR_CELL_VERDICT_UNCERTAIN: "uncertain",
  PAIR_CELL_VERDICT_UNJUDGED: "unjudged",
  PAIR_CELL_VERDICT_FAILED: "failed",
  PAIR_CELL_VERDICT_MISSING: "missing",
};

// Returns what all names begin with, up to the number in which they differ.
export function commonPrefix(names: string[]): string {
  if (names.length < 2) return "";
  let prefix = names[0]!;
  for (const name of names) {
    while (!name.startsWith(prefix)) prefix = prefix.slice(0, -1);
  }
  // Digits belong to the number: "sim-0001" and "sim-0002" share "sim-".
  return prefix.replace(/\d+$/, "");
}

export function heatModel(pairs: GetPairsResponseJson, matrix: PairMatrixJson): HeatModel {
  const all = pairs.ends ?? [];
  const used = new Set<number>();
  for (const cell of matrix.cells ?? []) {
    used.add(cell.from ?? 0);
    used.add(cell.to ?? 0);
  }
  const indices = [...used].sort((a, b) => a - b);
  const place = new Map(indices.map((index, at) => [index, at]));
  const ends = indices.map((index) => all[index] ?? `#${index}`);
  const prefix = commonPrefix(ends);
  const cells = (matrix.cells ?? []).flatMap((cell): HeatCell[] => {
    const row = place.get(cell.from ?? 0)!;
    const column = place.get(cell.to ?? 0)!;
    const one: HeatCell = {
      row,
      column,
      value: num(cell.value),
      expected: num(cell.expected),
      state: STATES[cell.verdict ?? "PAIR_CELL_VERDICT_UNSPECIFIED"] ?? "missing",
      link: cell.link ?? "",
      flags: cell.flags ?? [],
    };
    // Without directions the square is symmetric.
    return matrix.directed || row === column ? [one] : [one, { ...one, row: column, column: row }];
  });
  return {
    ends,
    short: ends.map((end) => end.slice(prefix.length) || end),
    prefix,
    cells,
    metric: matrix.metric ?? "",
    unit: matrix.unit ?? "",
    lowerIsBetter: matrix.direction === "DIRECTION_LOWER_IS_BETTER",
    directed: matrix.directed ?? false,
    betweenGpus: matrix.betweenGpus ?? false,
    title: [matrix.benchmark, matrix.parameters].filter(Boolean).join(" "),
  };
}

export function heatSummary(model: HeatModel): string {
  const values = model.cells.flatMap((cell) => (cell.value === undefined ? [] : [cell.value]));
  const range = extent(values);
  const counts = new Map<CellState, number>();
  for (const { state } of model.cells) counts.set(state, (counts.get(state) ?? 0) + 1);
  const divisor = model.directed ? 1 : 2;
  const parts = (["bad link", "bad end", "uncertain", "failed", "missing"] as const)
    .filter((state) => counts.has(state))
    .map((state) => {
      const number = Math.ceil(counts.get(state)! / divisor);
      if (state === "bad link") return plural(number, state);
      return `${number} ${state === "bad end" ? "of a bad end" : state}`;
    });
  const noun = model.betweenGpus ? "GPU" : "node";
  return (
    `${plural(model.ends.length, noun)}, ${plural(Math.ceil(values.length / divisor), "measurement")}` +
    (range ? ` from ${quantity(range[0], model.unit)} to ${quantity(range[1], model.unit)}` : "") +
    (parts.length ? `; ${parts.join(", ")}.` : "; none is bad.")
  );
}

// Keeps every k-th name, so that the names do not overlap.
export function thinNames(names: string[], pixels: number, size: (name: string) => number): boolean[] {
  const each = pixels / Math.max(1, names.length);
  const widest = Math.max(0, ...names.map(size));
  const stride = Math.max(1, Math.ceil(widest / each));
  return names.map((_, index) => index % stride === 0);
}

const RAMP_STEPS = 24;

export function drawHeat(model: HeatModel, width: number): Drawing {
  const count = Math.max(1, model.ends.length);
  const longest = Math.max(0, ...model.ends.map((end) => textWidth(end)));
  const full = width >= 640 && longest <= 190;
  const rowNames = full ? model.ends : model.short;
  const left = Math.ceil(Math.min(190, Math.max(28, ...rowNames.map((name) => textWidth(name)))) + 14);
  const margins = { top: 28, right: 12, bottom: 42, left };
  const cell = Math.min((width - left - margins.right) / count, 64, Math.max(10, 760 / count));
  const side = cell * count;
  const right = left + side;
  const height = Math.ceil(margins.top + side + margins.bottom);
  const bottom = margins.top + side;
  const figureWidth = Math.min(width, Math.max(Math.ceil(right + margins.right), 300));

  const values = model.cells.flatMap((one) => (one.value === undefined ? [] : [one.value]));
  const [low, high] = extent(values) ?? [0, 1];
  const { unit, factor } = displayUnit(high, model.unit);
  // Bright is good in both directions.
  const domain: [number, number] = model.lowerIsBetter ? [high, low] : [low, high];
  const flat = low === high;
  // In steps that the eye cannot tell apart.
  const part = (value: number) => (flat ? 0.5 : (value - domain[0]) / (domain[1] - domain[0]));
  const fill = (value: number) => cividis(Math.round(part(value) * 127) / 127);

  const x: Axis = { type: "linear", domain: [0, count], ticks: [], minor: [] };
  const y: Axis = { type: "linear", domain: [count, 0], ticks: [], minor: [] };
  const px = position(x, left, right);
  const py = position(y, bottom, margins.top);
  const known = model.cells.filter((one) => one.value !== undefined);
  const gap = cell > 16 ? 0.5 : 0.2;
  const box = (inset: number) => ({
    x1: (one: HeatCell) => one.column,
    x2: (one: HeatCell) => one.column + 1,
    y1: (one: HeatCell) => one.row,
    y2: (one: HeatCell) => one.row + 1,
    inset,
  });
  const outlined = (state: CellState) => model.cells.filter((one) => one.state === state);
  const stroke = cell > 12 ? 2 : 1.5;
  const badLines = badLinesOf(model);
  const badLine = { fill: "none", stroke: BAD, strokeWidth: stroke, strokeDasharray: "3,2" };

  const columnSize = (name: string) => textWidth(name) + 6;
  const columnShown = thinNames(model.short, side, columnSize);
  const rowShown = thinNames(rowNames, side, () => 15);
  const labels: Label[] = [
    ...model.short.flatMap((name, index): Label[] =>
      columnShown[index] ? [{ text: name, x: px(index + 0.5), y: bottom + 11, anchor: "middle" }] : [],
    ),
    ...rowNames.flatMap((name, index): Label[] =>
      rowShown[index] ? [{ text: fitText(name, left - 10), x: left - 8, y: py(index + 0.5), anchor: "end" }] : [],
    ),
  ];
  const axisName = model.betweenGpus ? "GPU" : "node";
  const sender = model.directed ? "sender" : axisName;
  const receiver = model.directed ? "receiver" : axisName;
  const suffix = model.prefix && !full ? ` (${model.prefix.trim()}…)` : "";
  const titles: Label[] = [
    { text: `${sender}${suffix}`, x: 2, y: 10, anchor: "start" },
    { text: `${receiver}${model.prefix ? ` (${model.prefix.trim()}…)` : ""}`, x: left, y: bottom + 30, anchor: "start" },
  ];
  const valueText = (value: number) => significant(value * factor, 3);
  const withValues = cell >= 42;
  const valueLabels: (Label & { dark: boolean })[] = withValues
    ? known.map((one) => ({
        text: valueText(one.value!),
        x: px(one.column + 0.5),
        y: py(one.row + 0.5),
        anchor: "middle",
        dark: isBright(fill(one.value!)),
      }))
    : [];
  const area = { x, y, left, right, top: margins.top, bottom };
  const svg = drawFrame({
    width: figureWidth,
    height,
    margins: { ...margins, right: figureWidth - right },
    x,
    y,
    xLabel: "",
    marks: [
      rect(
        model.cells.filter((one) => one.value === undefined),
        { ...box(gap + 0.5), fill: "none", stroke: MUTED, strokeOpacity: 0.6, strokeDasharray: "1,2" },
      ),
      pathMark(
        known,
        (one) => fill(one.value!),
        (one) => {
          const size = (cell - 2 * gap).toFixed(2);
          const x1 = (px(one.column) + gap).toFixed(2);
          return `M${x1},${(py(one.row) + gap).toFixed(2)}h${size}v${size}h-${size}z`;
        },
      ),
      dot(
        model.cells.filter((one) => one.state === "failed"),
        {
          x: (one: HeatCell) => one.column + 0.5,
          y: (one: HeatCell) => one.row + 0.5,
          symbol: "times",
          stroke: BAD,
          strokeWidth: stroke,
          r: Math.max(2, cell * 0.22),
        },
      ),
      rect(outlined("uncertain"), {
        ...box(stroke / 2),
        fill: "none",
        stroke: (one: HeatCell) => (one.value === undefined || isBright(fill(one.value)) ? "#111" : "#fff"),
        strokeWidth: stroke,
        strokeDasharray: "3,2",
      }),
      rect(badLines.rows, { x1: 0, x2: count, y1: (row: number) => row, y2: (row: number) => row + 1, ...badLine }),
      rect(badLines.columns, { y1: 0, y2: count, x1: (at: number) => at, x2: (at: number) => at + 1, ...badLine }),
      rect(badLines.others, { ...box(stroke / 2), fill: "none", stroke: BAD, strokeWidth: stroke, strokeDasharray: "3,2" }),
      rect(outlined("bad link"), { ...box(stroke / 2), fill: "none", stroke: BAD, strokeWidth: stroke + 1 }),
      ...textMarks(labels, area),
      ...textMarks(titles, area, MUTED),
      ...cellTexts(valueLabels, area),
    ],
  });
  const legend: LegendItem[] = [];
  if (outlined("bad link").length) legend.push({ shape: "ring", color: BAD, text: "bad link" });
  if (outlined("bad end").length) {
    legend.push({ shape: "dashed ring", color: BAD, text: `a bad ${axisName} at one end` });
  }
  if (outlined("uncertain").length) legend.push({ shape: "dashed ring", color: "currentColor", text: "uncertain" });
  if (outlined("failed").length) legend.push({ shape: "cross", color: BAD, text: "failed" });
  if (outlined("missing").length) legend.push({ shape: "dashed ring", color: MUTED, text: "not measured" });
  return {
    svg,
    legend,
    ...(known.length
      ? {
          ramp: {
            title: axisTitle(model.metric, unit),
            low: significant(low * factor, 3),
            high: significant(high * factor, 3),
            colors: Array.from({ length: RAMP_STEPS }, (_, index) =>
              fill(flat ? low : low + ((index + 0.5) / RAMP_STEPS) * (high - low)),
            ),
          },
        }
      : {}),
    notes: [],
    marks: model.cells.map((one) => ({
      x: px(one.column + 0.5),
      y: py(one.row + 0.5),
      text: cellText(model, one),
    })),
  };
}

// Returns the rows and columns in which most measurements have a bad end, which get one outline
// each, and the other cells with a bad end.
export function badLinesOf(model: HeatModel): { rows: number[]; columns: number[]; others: HeatCell[] } {
  const bad = model.cells.filter((cell) => cell.state === "bad end");
  const half = (model.ends.length - 1) / 2;
  const most = (index: (cell: HeatCell) => number) =>
    model.ends.map((_, at) => at).filter((at) => bad.filter((cell) => index(cell) === at).length > half);
  const rows = most((cell) => cell.row);
  const columns = most((cell) => cell.column);
  const others = bad.filter((cell) => !rows.includes(cell.row) && !columns.includes(cell.column));
  return { rows, columns, others };
}

export function cellText(model: HeatModel, cell: HeatCell): string {
  const lines = [`${model.ends[cell.row]} ${model.directed ? "→" : "–"} ${model.ends[cell.column]}`];
  lines.push(cell.value === undefined ? (cell.state === "failed" ? "failed" : "not measured") : quantity(cell.value, model.unit));
  if (cell.expected !== undefined) lines.push(`expected ${quantity(cell.expected, model.unit)}`);
  if (cell.link) lines.push(cell.link);
  if (!["ok", "failed", "missing"].includes(cell.state)) lines.push(cell.state);
  if (cell.flags.length) lines.push(`flags: ${cell.flags.join(", ")}`);
  return lines.join("\n");
}

// Cividis (Nunez, Anderton and Renslow 2018), a scale that is the same for the colour-blind, as the
// polynomial of d3-scale-chromatic: from dark blue for 0 to yellow for 1.
export function cividis(part: number): string {
  const t = Math.max(0, Math.min(1, part));
  const channel = (value: number) => Math.max(0, Math.min(255, Math.round(value)));
  const red = -4.54 - t * (35.34 - t * (2381.73 - t * (6402.7 - t * (7024.72 - t * 2710.57))));
  const green = 32.49 + t * (170.73 + t * (52.82 - t * (131.46 - t * (176.58 - t * 67.37))));
  const blue = 81.24 + t * (442.36 - t * (2482.43 - t * (6167.24 - t * (6614.94 - t * 2475.67))));
  return `rgb(${channel(red)}, ${channel(green)}, ${channel(blue)})`;
}

function isBright(fill: string): boolean {
  const [red = 0, green = 0, blue = 0] = (fill.match(/[\d.]+/g) ?? []).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 128;
}

// Texts in cells have the cell's colours and no outline.
function cellTexts(
  labels: (Label & { dark: boolean })[],
  area: Parameters<typeof textMarks>[1],
): ReturnType<typeof textMarks> {
  return [true, false].flatMap((dark) =>
    textMarks(
      labels.filter((label) => label.dark === dark),
      area,
      dark ? "#111" : "#fff",
      "none",
    ),
  );
}
