// The roofline: performance over arithmetic intensity, under the limits of compute and bandwidth.

import { dot, link, ruleX } from "@observablehq/plot";
import type { RooflineJson, RooflinePointJson } from "proto/analysis_service_pb";
import { percent, quantity, significant } from "../format";
import { to } from "../router";
import { thin } from "./bins";
import {
  BAD,
  type Drawing,
  HALO,
  type LegendItem,
  MUTED,
  type Shape,
  drawFrame,
  heightFor,
  seriesColor,
  symbolOf,
  textMarks,
} from "./drawing";
import { parametersName, toNumber } from "./names";
import { type Label, extent, labelBox, logAxis, placeLabels, position } from "./scales";

export interface RoofLine {
  // Names of the roofs with this value: "bf16, fp16".
  name: string;
  basis: string;
  isBandwidth: boolean;
  value: number;
  // Ends in FLOP/B and FLOP/s.
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  resultId: string;
}

export interface Ridge {
  name: string;
  basis: string;
  x: number;
  y: number;
}

export interface RooflineDot {
  x: number;
  y: number;
  low: number;
  high: number;
  regime: string;
  flagged: boolean;
  resultId: string;
  text: string;
}

export interface RooflineModel {
  gpu: string;
  lines: RoofLine[];
  ridges: Ridge[];
  dots: RooflineDot[];
  x: [number, number];
  y: [number, number];
}

const REGIMES: [string, Shape, number][] = [
  ["compute", "circle", 0],
  ["memory", "square", 1],
  ["cache", "diamond", 2],
  ["launch", "triangle", 3],
  ["link", "circle", 4],
];
const BASES = ["sheet", "clock", "measured"];
const BASIS_NAMES: Record<string, string> = {
  sheet: "spec sheet",
  clock: "spec sheet at the observed clock",
  measured: "best measured",
};

export function regimeStyle(regime: string): { shape: Shape; color: string } {
  const known = REGIMES.find(([name]) => name === regime);
  return known ? { shape: known[1], color: seriesColor(known[2]) } : { shape: "cross", color: MUTED };
}

export function gpuName(roofline: RooflineJson): string {
  const { gpuModel = "", gpuFormFactor = "" } = roofline;
  if (!gpuModel) return "CPU";
  return gpuFormFactor && !gpuModel.includes(gpuFormFactor) ? `${gpuModel} ${gpuFormFactor}` : gpuModel;
}

function dotText(point: RooflinePointJson): string {
  const lines = [`${point.benchmark ?? ""} ${parametersName(point.parameters ?? {})}`];
  const flops = quantity(point.flopsPerSecond, "FLOP/s");
  lines.push(`${flops} at ${significant(toNumber(point.arithmeticIntensity), 3)} FLOP/B`);
  const shares = [
    ["of the sheet", point.efficiencySpec],
    ["at the clock", point.efficiencyClock],
    ["of the best measured", point.efficiencyMeasured],
  ] as const;
  const known = shares.filter(([, share]) => share !== undefined);
  if (known.length) lines.push(known.map(([name, share]) => `${percent(share)} ${name}`).join(", "));
  const place = [point.gpuUuid, point.nodeName].filter(Boolean).join(" on ");
  lines.push([point.regime && `${point.regime} bound`, place].filter(Boolean).join(", "));
  if (point.flags?.length) lines.push(`flags: ${point.flags.join(", ")}`);
  return lines.filter(Boolean).join("\n");
}

// Returns what to draw for one GPU model. `dtype` is a roof of compute; empty: all that the points
// use. `benchmark` may be empty too.
export function rooflineModel(
  roofline: RooflineJson,
  { dtype = "", benchmark = "" } = {},
): RooflineModel {
  const points = (roofline.points ?? []).filter(
    (point) =>
      (!benchmark || point.benchmark === benchmark) &&
      (!dtype || (point.computeRoof ?? "") === dtype || !point.computeRoof),
  );
  const dots = points
    .map((point) => ({
      x: toNumber(point.arithmeticIntensity),
      y: toNumber(point.flopsPerSecond),
      low: toNumber(point.flopsPerSecondLow),
      high: toNumber(point.flopsPerSecondHigh),
      regime: point.regime ?? "",
      flagged: Boolean(point.flags?.length),
      resultId: point.resultId ?? "",
      text: dotText(point),
    }))
    .filter((point) => point.x > 0 && point.y > 0);
  const used = new Set(points.map((point) => point.computeRoof).filter(Boolean));
  const all = (roofline.roofs ?? []).map((roof) => ({
    name: roof.name ?? "",
    basis: roof.basis ?? "",
    isBandwidth: roof.isBandwidth ?? false,
    value: toNumber(roof.value),
    resultId: roof.resultId ?? "",
  }));
  const valid = all.filter((roof) => roof.value > 0);
  const wanted = valid.filter(
    (roof) => roof.isBandwidth || (dtype ? roof.name === dtype : used.size === 0 || used.has(roof.name)),
  );
  const compute = wanted.filter((roof) => !roof.isBandwidth);
  const bandwidths = wanted.filter((roof) => roof.isBandwidth);

  // A roof of compute starts where the memory's roof of the same basis, or else the sheet's, meets it.
  const memoryFor = (basis: string) =>
    bandwidths.find((roof) => roof.name === "HBM" && roof.basis === basis) ??
    bandwidths.find((roof) => roof.name === "HBM" && roof.basis === "sheet") ??
    bandwidths.find((roof) => roof.name === "HBM") ??
    bandwidths[0];
  const peakFor = (basis: string) => {
    const same = compute.filter((roof) => roof.basis === basis);
    const values = (same.length ? same : compute).map((roof) => roof.value);
    return values.length ? Math.max(...values) : NaN;
  };
  const ridges: Ridge[] = compute.flatMap((roof) => {
    const memory = memoryFor(roof.basis);
    return memory ? [{ name: roof.name, basis: roof.basis, x: roof.value / memory.value, y: roof.value }] : [];
  });

  const xs = extent([...dots.map((one) => one.x), ...ridges.map((ridge) => ridge.x)]) ?? [1, 1000];
  const x: [number, number] = [xs[0] / 4, xs[1] * 4];
  const lowest = extent(dots.map((one) => (one.low > 0 ? one.low : one.y)))?.[0];
  const highest = extent([...compute.map((roof) => roof.value), ...dots.map((one) => one.y)])?.[1] ?? 1e12;
  const start = Math.min(...bandwidths.map((roof) => roof.value * x[0]), highest);
  const y: [number, number] = [Math.min(lowest ?? start, highest / 10) / 2, highest * 2.2];

  const lines: RoofLine[] = [];
  for (const roof of bandwidths) {
    const peak = peakFor(roof.basis);
    const x1 = Math.max(x[0], y[0] / roof.value);
    const x2 = Math.min(x[1], (Number.isFinite(peak) ? peak : y[1]) / roof.value);
    if (x2 > x1) lines.push({ ...roof, x1, y1: x1 * roof.value, x2, y2: x2 * roof.value });
  }
  for (const roof of compute) {
    const ridge = ridges.find((one) => one.name === roof.name && one.basis === roof.basis);
    const same = lines.find(
      (line) => !line.isBandwidth && line.basis === roof.basis && line.value === roof.value,
    );
    if (same) same.name += `, ${roof.name}`;
    else lines.push({ ...roof, x1: ridge?.x ?? x[0], y1: roof.value, x2: x[1], y2: roof.value });
  }
  const distinct = ridges.filter(
    (ridge, index) => ridges.findIndex((one) => one.x === ridge.x && one.y === ridge.y) === index,
  );
  return { gpu: gpuName(roofline), lines, ridges: distinct, dots, x, y };
}

export function rooflineSummary(model: RooflineModel): string {
  const roofs = model.lines
    .filter((line) => line.basis === "sheet")
    .map((line) => `${line.name} ${quantity(line.value, line.isBandwidth ? "B/s" : "FLOP/s")}`);
  const counts = new Map<string, number>();
  for (const { regime } of model.dots) counts.set(regime, (counts.get(regime) ?? 0) + 1);
  const regimes = [...counts].map(([regime, count]) => `${count} ${regime ? `${regime} bound` : "of unknown regime"}`);
  return (
    `${model.dots.length} results on ${model.gpu}` +
    (regimes.length ? `: ${regimes.join(", ")}. ` : ". ") +
    (roofs.length ? `Limits of the spec sheet: ${roofs.join("; ")}.` : "No spec sheet is known.")
  );
}

const DASHES: Record<string, string | undefined> = { measured: "7,4", clock: "2,3" };

export function drawRoofline(model: RooflineModel, width: number, link_ = true): Drawing {
  const narrow = width < 480;
  const height = narrow ? 320 : heightFor(width, 0.55, 640);
  const margins = { top: 30, right: 14, bottom: 42, left: 62 };
  const left = margins.left;
  const right = width - margins.right;
  const bottom = height - margins.bottom;
  const xAxis = logAxis(model.x, right - left, (value) => trimmed(value));
  const yAxis = logAxis(model.y, bottom - margins.top, (value) => rateLabel(value), { vertical: true });
  const px = position(xAxis, left, right);
  const py = position(yAxis, bottom, margins.top);

  const labels: Label[] = [];
  const order = (line: RoofLine) => BASES.indexOf(line.basis);
  const labelled = model.lines.filter((line) => line.basis !== "clock");
  for (const line of labelled.sort((a, b) => order(a) - order(b))) {
    const basis = line.basis === "sheet" || narrow ? "" : ` ${line.basis}`;
    // In narrow figures, only names fit. Values are in the table.
    const value = narrow ? "" : ` ${quantity(line.value, line.isBandwidth ? "B/s" : "FLOP/s")}`;
    if (narrow && line.basis !== "sheet" && line.name !== "L2") continue;
    if (line.isBandwidth) {
      // Beside the line, where it rises away from the text.
      const places: [number, number][] = [0.35, 0.5, 0.2, 0.65, 0.8, 0.95].map((part) => [
        part * (px(line.x2) - px(line.x1)),
        part * (py(line.y2) - py(line.y1)),
      ]);
      labels.push({
        text: `${line.name}${basis}${value}`,
        x: px(line.x1) - 8,
        y: py(line.y1) - 8,
        anchor: "end",
        tries: places,
      });
      // Without room on the left, below the line. Only the lowest line has nothing else below it.
      if (line.name !== "HBM") continue;
      labels.push({
        text: `${line.name}${basis}${value}`,
        x: px(line.x1) + 10,
        y: py(line.y1) + 12,
        anchor: "start",
        tries: places,
      });
    } else if (line.basis === "sheet") {
      // Other limits of arithmetic are close to the sheet's. Their values are in the table.
      labels.push({ text: `${line.name}${value}`, x: right - 4, y: py(line.value) - 8, anchor: "end" });
    }
  }
  const bounds = { x: left, y: margins.top - 8, width: right - left, height: bottom - margins.top + 4 };
  const seen = new Set<string>();
  const placedRoofs: Label[] = [];
  for (const label of labels) {
    if (seen.has(label.text)) continue;
    const [placed] = placeLabels([label], bounds, placedRoofs.map(labelBox));
    if (!placed) continue;
    seen.add(label.text);
    placedRoofs.push(placed);
  }
  const ridgeLabels = placeLabels(
    model.ridges
      .filter((ridge) => ridge.basis === "sheet" && !narrow)
      .map((ridge) => ({
        text: `ridge ${significant(ridge.x, 3)} FLOP/B`,
        x: px(ridge.x) - 6,
        y: py(ridge.y) - 9,
        anchor: "end" as const,
        tries: [[0, 0]] as [number, number][],
      })),
    bounds,
    placedRoofs.map(labelBox),
  );

  const { points: dots, hidden } = thin(
    model.dots,
    (one) => Math.log(one.x),
    (one) => one.y,
    (one) => one.regime,
  );
  const whiskers = dots.length <= 500 ? dots.filter((one) => one.low > 0 && one.high > 0) : [];
  const small = dots.length > 300;
  const area = { x: xAxis, y: yAxis, left, right, top: margins.top, bottom };
  const svg = drawFrame({
    width,
    height,
    margins,
    x: xAxis,
    y: yAxis,
    xLabel: "arithmetic intensity (FLOP/B)",
    yLabel: "performance (FLOP/s)",
    marks: [
      ...BASES.map((basis) =>
        link(
          model.lines.filter((line) => line.basis === basis),
          {
            x1: "x1",
            y1: "y1",
            x2: "x2",
            y2: "y2",
            stroke: "currentColor",
            strokeOpacity: basis === "sheet" ? 0.8 : 0.6,
            strokeWidth: basis === "sheet" ? 1.8 : 1.4,
            ...(DASHES[basis] ? { strokeDasharray: DASHES[basis] } : {}),
          },
        ),
      ),
      dot(model.ridges, { x: "x", y: "y", r: 3, symbol: "diamond", fill: HALO, stroke: "currentColor" }),
      ruleX(whiskers, { x: "x", y1: "low", y2: "high", stroke: (one: RooflineDot) => regimeStyle(one.regime).color }),
      dot(dots, {
        x: "x",
        y: "y",
        r: small ? 2.2 : 4,
        symbol: (one: RooflineDot) => symbolOf(regimeStyle(one.regime).shape),
        fill: (one: RooflineDot) => regimeStyle(one.regime).color,
        fillOpacity: small ? 0.55 : 0.85,
        stroke: (one: RooflineDot) => (one.flagged ? BAD : HALO),
        strokeWidth: small ? 0 : 1,
      }),
      ...textMarks(placedRoofs, area),
      ...textMarks(ridgeLabels, area, MUTED),
    ],
  });
  const legend: LegendItem[] = [];
  for (const [basis, shape] of [
    ["sheet", "line"],
    ["measured", "dash"],
    ["clock", "dots"],
  ] as const) {
    if (model.lines.some((line) => line.basis === basis)) {
      legend.push({ shape, color: "currentColor", text: BASIS_NAMES[basis]! });
    }
  }
  if (model.ridges.length) legend.push({ shape: "diamond", color: MUTED, text: "ridge point" });
  const regimes = new Set(model.dots.map((one) => one.regime));
  for (const [regime] of REGIMES) {
    if (regimes.has(regime)) legend.push({ ...regimeStyle(regime), text: `${regime} bound` });
  }
  if ([...regimes].some((regime) => !REGIMES.some(([name]) => name === regime))) {
    legend.push({ ...regimeStyle(""), text: "unknown regime" });
  }
  const notes: string[] = [];
  if (hidden) {
    notes.push(`${hidden} of ${model.dots.length} points lie between those that are drawn; the table has all.`);
  }
  return {
    svg,
    legend,
    notes,
    marks: [
      ...dots.map((one) => ({
        x: px(one.x),
        y: py(one.y),
        text: one.text,
        ...(link_ && one.resultId ? { href: to("result", one.resultId) } : {}),
      })),
      ...model.ridges.map((ridge) => ({
        x: px(ridge.x),
        y: py(ridge.y),
        text:
          `Ridge of ${ridge.name} (${BASIS_NAMES[ridge.basis] ?? ridge.basis}): ${significant(ridge.x, 3)} FLOP/B\n` +
          "Left of it memory is the limit, right of it arithmetic.",
      })),
    ],
  };
}

function trimmed(value: number): string {
  return value >= 1 ? value.toLocaleString("en-US") : String(Number(value.toPrecision(3)));
}

function rateLabel(value: number): string {
  return quantity(value, "FLOP/s")
    .replace(/FLOP\/s$/, "")
    .replace(/\.0+(?= |$)/, "")
    .replace(/(\d)\s+([A-Za-z]?)$/, "$1 $2")
    .trim();
}
