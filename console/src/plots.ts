// Figures of the pages of nodes and results.

import { axisX, dot, gridX, line, plot, rect, ruleX, ruleY, tickX } from "@observablehq/plot";
import { INK } from "./components/figure";
import type { Share } from "./spec";

const ROW = 30;

// Implausible shares, in percent of the spec sheet, are drawn at this edge of the figure.
export const MOST_PERCENT = 120;

// One row per benchmark: the node's GPUs as dots over the range of their peers.
export function drawShares(shares: readonly Share[], width: number): SVGElement | HTMLElement {
  const left = Math.min(180, Math.max(...shares.map(({ benchmark }) => benchmark.length)) * 7 + 16);
  const dots = shares.flatMap(({ benchmark, own }) =>
    own.map((share) => ({ benchmark, share: 100 * share })),
  );
  const compared = shares
    .filter(({ peers }) => peers > 0)
    .map(({ benchmark, peerLow, peerMedian, peerHigh }) => ({
      benchmark,
      peerLow: 100 * peerLow,
      peerMedian: 100 * peerMedian,
      peerHigh: 100 * peerHigh,
    }));
  const values = [
    ...dots.map(({ share }) => share),
    ...compared.flatMap(({ peerLow, peerHigh }) => [peerLow, peerHigh]),
  ];
  const low = Math.min(...values);
  const high = Math.min(MOST_PERCENT, Math.max(...values, Math.min(100, low + 20)));
  return plot({
    width,
    height: shares.length * ROW + 40,
    marginLeft: left,
    marginRight: 20,
    marginTop: 4,
    marginBottom: 34,
    x: {
      domain: [
        Math.max(0, low - (high - low) * 0.1),
        Math.min(MOST_PERCENT, high + (high - low) * 0.05),
      ],
      clamp: true,
    },
    y: { type: "band", domain: shares.map(({ benchmark }) => benchmark), label: null, tickSize: 0 },
    marks: [
      gridX({ stroke: INK.grid, strokeOpacity: 1 }),
      axisX({
        label: "% of spec",
        labelAnchor: "right",
        labelArrow: "none",
        tickSize: 0,
        ticks: Math.max(3, Math.floor(width / 110)),
      }),
      ruleY(compared, {
        y: "benchmark",
        x1: "peerLow",
        x2: "peerHigh",
        stroke: INK.muted,
        strokeOpacity: 0.35,
        strokeWidth: 10,
      }),
      tickX(compared, {
        y: "benchmark",
        x: "peerMedian",
        stroke: INK.muted,
        strokeWidth: 2,
        inset: 7,
      }),
      dot(dots, {
        x: "share",
        y: "benchmark",
        r: 4,
        fill: INK.accent,
        fillOpacity: 0.8,
        stroke: "var(--panel)",
      }),
    ],
  });
}

export interface SampleValues {
  samples: readonly number[];
  median: number;
  low: number | undefined;
  high: number | undefined;
  unit: string;
}

// The samples in the order in which they were measured, with the median and its interval.
export function drawSamples(values: SampleValues, width: number): SVGElement | HTMLElement {
  const { samples, median, low, high, unit } = values;
  const points = samples.map((value, index) => ({ index: index + 1, value }));
  return plot({
    width,
    height: 220,
    marginLeft: 58,
    marginRight: 12,
    marginTop: 22,
    marginBottom: 34,
    x: { domain: [0.5, samples.length + 0.5], label: null },
    y: {
      label: unit,
      labelAnchor: "top",
      labelArrow: "none",
      nice: true,
      grid: true,
      tickSize: 0,
      ticks: 5,
    },
    marks: [
      axisX({
        label: "sample, in order",
        labelArrow: "none",
        tickSize: 0,
        ticks: Math.max(2, Math.floor(width / 120)),
        tickFormat: (x: number) => (Number.isInteger(x) ? String(x) : ""),
      }),
      low !== undefined && high !== undefined
        ? rect([0], { y1: low, y2: high, fill: INK.accent, fillOpacity: 0.18 })
        : null,
      ruleY([median], { stroke: INK.accent, strokeWidth: 1.5 }),
      samples.length > 600
        ? line(points, { x: "index", y: "value", stroke: INK.text, strokeWidth: 0.8 })
        : dot(points, {
            x: "index",
            y: "value",
            r: samples.length > 150 ? 1.6 : 2.4,
            fill: INK.text,
            fillOpacity: 0.6,
          }),
    ],
  });
}

export interface PastRun {
  time: number;
  value: number;
  low: number;
  high: number;
  // True for the run of this page.
  current: boolean;
}

// The runs of a case at one place over time, with the run of this page marked.
export function drawPast(
  runs: readonly PastRun[],
  unit: string,
  width: number,
): SVGElement | HTMLElement {
  const here = runs.filter(({ current }) => current);
  return plot({
    width,
    height: 180,
    marginLeft: 58,
    marginRight: 12,
    marginTop: 22,
    marginBottom: 28,
    x: { type: "time", label: null, ticks: Math.max(2, Math.floor(width / 120)) },
    y: {
      label: unit,
      labelAnchor: "top",
      labelArrow: "none",
      nice: true,
      grid: true,
      tickSize: 0,
      ticks: 4,
    },
    marks: [
      ruleX(runs, { x: "time", y1: "low", y2: "high", stroke: INK.muted, strokeOpacity: 0.6 }),
      dot(runs, { x: "time", y: "value", r: 2.5, fill: INK.muted }),
      ruleX(here, { x: "time", y1: "low", y2: "high", stroke: INK.accent, strokeWidth: 2 }),
      dot(here, { x: "time", y: "value", r: 5, fill: INK.accent, stroke: "var(--panel)" }),
    ],
  });
}
