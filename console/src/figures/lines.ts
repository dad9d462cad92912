// A metric over a parameter: bus bandwidth over the size of messages, TFLOP/s over m.

import { dot, line, ruleX } from "@observablehq/plot";
import { bytes, quantity, significant } from "../format";
import { median } from "./bins";
import { axisTitle, displayUnit } from "./columns";
import {
  type Drawing,
  HALO,
  MUTED,
  SERIES_COUNT,
  drawFrame,
  heightFor,
  seriesColor,
  seriesShape,
  symbolOf,
  textMarks,
} from "./drawing";
import { type Axis, extent, linearAxis, linearDomain, logAxis, placeLabels, position, textWidth } from "./scales";

// One result.
export interface Sample {
  series: string;
  // The parameter.
  x: number;
  // In the metric's unit.
  value: number;
  href?: string;
  // The alpha-beta model that the result has, if any.
  fit?: LinkFit;
}

export interface LinkFit {
  latencySeconds: number;
  // In bytes per second.
  bandwidth: number;
  error: number;
  // Number of sizes that the model was fitted to.
  sizes: number;
}

export interface LinePoint {
  x: number;
  median: number;
  low: number;
  high: number;
  count: number;
  href?: string;
}

export interface LineSeries {
  name: string;
  points: LinePoint[];
  fit?: FitCurve;
}

export interface FitCurve {
  latencySeconds: number;
  bandwidth: number;
  kneeBytes: number;
  error: number;
  // value = scale * x / (latency + x / bandwidth), in the metric's unit.
  scale: number;
}

export interface LinesModel {
  parameter: string;
  metric: string;
  unit: string;
  series: LineSeries[];
  // Names of series beyond the limit.
  left: string[];
}

// Returns a line per series: the median of the results at each value of the parameter, and the
// smallest and largest.
export function linesModel(
  samples: Sample[],
  names: { parameter: string; metric: string; unit: string },
): LinesModel {
  const groups = new Map<string, Map<number, Sample[]>>();
  for (const sample of samples) {
    if (!Number.isFinite(sample.x) || !Number.isFinite(sample.value)) continue;
    const points = groups.get(sample.series) ?? new Map<number, Sample[]>();
    groups.set(sample.series, points);
    const list = points.get(sample.x);
    if (list) list.push(sample);
    else points.set(sample.x, [sample]);
  }
  // Rates only: the curve of the model is bytes over time.
  const isRate = names.parameter === "bytes" && names.unit.endsWith("B/s");
  const series = [...groups].map(([name, byX]): LineSeries => {
    const points = [...byX]
      .sort(([a], [b]) => a - b)
      .map(([x, list]): LinePoint => {
        const values = list.map((sample) => sample.value);
        const middle = median(values);
        const closest = list.reduce((best, sample) =>
          Math.abs(sample.value - middle) < Math.abs(best.value - middle) ? sample : best,
        );
        return {
          x,
          median: middle,
          low: Math.min(...values),
          high: Math.max(...values),
          count: list.length,
          ...(closest.href ? { href: closest.href } : {}),
        };
      });
    const fit = isRate ? fitCurve([...byX.values()].flat(), points) : undefined;
    return { name, points, ...(fit ? { fit } : {}) };
  });
  return {
    ...names,
    series: series.slice(0, SERIES_COUNT),
    left: series.slice(SERIES_COUNT).map((one) => one.name),
  };
}

// Picks the model with most sizes; of several, the one of the largest message. Bus bandwidth is a
// multiple of bytes over time that depends on the operation, so the scale comes from the points.
function fitCurve(samples: Sample[], points: LinePoint[]): FitCurve | undefined {
  const usable = samples.filter((sample) => sample.fit && sample.fit.bandwidth > 0);
  if (usable.length === 0 || points.length < 3) return undefined;
  usable.sort((a, b) => b.fit!.sizes - a.fit!.sizes || b.x - a.x || a.fit!.latencySeconds - b.fit!.latencySeconds);
  const { latencySeconds, bandwidth, error } = usable[0]!.fit!;
  const shape = (x: number) => x / (latencySeconds + x / bandwidth);
  const scale = median(points.map((point) => point.median / shape(point.x)));
  if (!(scale > 0)) return undefined;
  return { latencySeconds, bandwidth, kneeBytes: latencySeconds * bandwidth, error, scale };
}

export function fitValue(fit: FitCurve, x: number): number {
  return (fit.scale * x) / (fit.latencySeconds + x / fit.bandwidth);
}

function parameterText(parameter: string, value: number): string {
  return parameter === "bytes" ? bytes(value) : value.toLocaleString("en-US");
}

export function linesSummary(model: LinesModel): string {
  const parts = model.series.slice(0, 4).map((series) => {
    const best = series.points.reduce((a, b) => (b.median > a.median ? b : a), series.points[0]!);
    const knee = series.fit?.kneeBytes ? `, knee at ${bytes(Math.round(series.fit.kneeBytes))}` : "";
    return (
      `${series.name || model.metric.replaceAll("_", " ")}: highest ${quantity(best.median, model.unit)} at ` +
      `${model.parameter} ${parameterText(model.parameter, best.x)}${knee}`
    );
  });
  return `${parts.join("; ")}.`;
}

function xAxisFor(model: LinesModel, pixels: number): Axis {
  const [low, high] = extent(model.series.flatMap((one) => one.points.map((point) => point.x))) ?? [1, 2];
  if (low > 0 && high / low >= 8) {
    const room = (high / low) ** 0.03;
    const isBytes = model.parameter === "bytes";
    const domain: [number, number] = [low / room, high * room];
    return logAxis(domain, pixels, (value) => parameterText(model.parameter, value), {
      base: isBytes || isPowerOfTwo(model) ? 2 : 10,
    });
  }
  return linearAxis(linearDomain([low, high]), pixels);
}

function isPowerOfTwo(model: LinesModel): boolean {
  return model.series.every((one) =>
    one.points.every((point) => Number.isInteger(Math.log2(point.x)) || point.x % 1024 === 0),
  );
}

export function drawLines(model: LinesModel, width: number): Drawing {
  const height = heightFor(width, 0.5);
  const margins = { top: 30, right: 22, bottom: 42, left: 56 };
  const left = margins.left;
  const right = width - margins.right;
  const bottom = height - margins.bottom;
  const all = model.series.flatMap((one) => one.points);
  const highest = Math.max(0, ...all.map((point) => Math.abs(point.high)));
  const { unit, factor } = displayUnit(highest, model.unit);
  const scaled = model.series.map((one, index) => ({
    ...one,
    color: seriesColor(index),
    shape: seriesShape(index),
    points: one.points.map((point) => ({
      ...point,
      median: point.median * factor,
      low: point.low * factor,
      high: point.high * factor,
    })),
  }));
  const values = scaled.flatMap((one) => one.points.flatMap((point) => [point.low, point.high]));
  const [low, high] = extent(values) ?? [0, 1];
  const x = xAxisFor(model, right - left);
  // Times span decades, and short ones matter as much as long ones.
  const isTime = model.unit === "s";
  const y =
    isTime && low > 0 && high / low > 50
      ? logAxis([low / 1.5, high * 1.5], bottom - margins.top, (value) => significant(value, 1), { vertical: true })
      : linearAxis(linearDomain(isTime ? values : [0, ...values]), bottom - margins.top, { vertical: true });
  const px = position(x, left, right);
  const py = position(y, bottom, margins.top);

  const fits = scaled.filter((one) => one.fit);
  const knees = fits
    .filter((one) => one.fit!.kneeBytes > x.domain[0] && one.fit!.kneeBytes < x.domain[1])
    .map((one) => ({ x: one.fit!.kneeBytes, color: one.color, name: one.name }));
  const kneeLabels = placeLabels(
    knees.map((knee) => ({
      text: `knee ${bytes(Math.round(knee.x))}`,
      x: px(knee.x) + 5,
      y: margins.top + 8,
      anchor: "start" as const,
      tries: [0, 16, 32, 48].flatMap((dy): [number, number][] => [
        [0, dy],
        [-10 - textWidth(`knee ${bytes(Math.round(knee.x))}`), dy],
      ]),
    })),
    { x: left, y: 0, width: right - left, height: bottom },
  );
  const banded = scaled.filter((one) => one.points.some((point) => point.count > 1 && point.high > point.low));
  const dots = scaled.flatMap((one) =>
    one.points.map((point) => ({ ...point, color: one.color, shape: one.shape, series: one.name })),
  );
  const area = { x, y, left, right, top: margins.top, bottom };
  const svg = drawFrame({
    width,
    height,
    margins,
    x,
    y,
    xLabel: axisTitle(model.parameter, ""),
    yLabel: axisTitle(model.metric, unit),
    marks: [
      ...banded.map((one) =>
        // An area as a closed line: Plot's area() brings its transforms, 5 kB, into the bundle.
        line(
          [
            ...one.points.map((point) => ({ x: point.x, y: point.low })),
            ...[...one.points].reverse().map((point) => ({ x: point.x, y: point.high })),
          ],
          { x: "x", y: "y", fill: one.color, fillOpacity: 0.2, stroke: "none" },
        ),
      ),
      ruleX(knees, { x: "x", stroke: (knee: { color: string }) => knee.color, strokeDasharray: "2,3" }),
      ...fits.map((one) =>
        line(curve(one.fit!, x, factor), {
          x: "x",
          y: "y",
          stroke: one.color,
          strokeWidth: 1.5,
          strokeDasharray: "6,4",
          clip: true,
        }),
      ),
      ...scaled.map((one) => line(one.points, { x: "x", y: "median", stroke: one.color, strokeWidth: 2 })),
      dot(dots, {
        x: "x",
        y: "median",
        r: 3.5,
        symbol: (one: { shape: "circle" | "square" | "triangle" | "diamond" }) => symbolOf(one.shape),
        fill: (one: { color: string }) => one.color,
        stroke: HALO,
      }),
      ...textMarks(kneeLabels, area, MUTED),
    ],
  });
  const notes = fits.map(({ name, fit }) => {
    const typical = Number.isFinite(fit!.error) ? `, typical error ${(fit!.error * 100).toFixed(0)}%` : "";
    return (
      `${name ? `${name}: ` : ""}fitted latency ${quantity(fit!.latencySeconds, "s")}, bandwidth ` +
      `${quantity(fit!.bandwidth, "B/s")}, knee ${bytes(Math.round(fit!.kneeBytes))}${typical}.`
    );
  });
  if (model.left.length) notes.push(`${model.left.length} more series are in the table.`);
  return {
    svg,
    legend: [
      ...(scaled.length > 1
        ? scaled.map((one) => ({ shape: one.shape, color: one.color, text: one.name || "(none)" }))
        : []),
      ...(fits.length ? [{ shape: "dash" as const, color: MUTED, text: "latency and bandwidth fitted" }] : []),
      ...(banded.length ? [{ shape: "band" as const, color: MUTED, text: "smallest to largest" }] : []),
    ],
    notes,
    marks: dots.map((point) => ({
      x: px(point.x),
      y: py(point.median),
      text:
        `${point.series ? `${point.series}\n` : ""}${model.parameter} ${parameterText(model.parameter, point.x)}: ` +
        `${quantity(point.median, unit)}\n` +
        (point.count > 1
          ? `${point.count} results from ${quantity(point.low, unit)} to ${quantity(point.high, unit)}`
          : "1 result"),
      ...(point.href ? { href: point.href } : {}),
    })),
  };
}

// Returns points of the fitted curve, evenly over the axis.
function curve(fit: FitCurve, axis: Axis, factor: number): { x: number; y: number }[] {
  const count = 64;
  const [low, high] = axis.domain;
  return Array.from({ length: count + 1 }, (_, index) => {
    const part = index / count;
    const x = axis.type === "log" ? low * (high / low) ** part : low + part * (high - low);
    return { x, y: fitValue(fit, Math.max(x, 0)) * factor };
  });
}
