// The state of the fleet as WatchFleet sends it, and how its squares are coloured.

import type {
  CordonJson,
  FleetGpuJson,
  FleetNodeJson,
  FleetSummaryJson,
  GetFleetResponseJson,
  WatchFleetResponseJson,
} from "proto/node_service_pb";
import { count, NOT_MEASURED, percent } from "./format";
import { sortRows } from "./table";

export interface Fleet {
  // By node id.
  nodes: ReadonlyMap<string, FleetNodeJson>;
  summary: FleetSummaryJson | undefined;
}

export function fromSnapshot(response: GetFleetResponseJson): Fleet {
  return {
    nodes: new Map((response.nodes ?? []).map((node) => [node.nodeId ?? "", node])),
    summary: response.summary,
  };
}

// Applies one message of a stream. `fleet` is undefined before the first message, which has all
// nodes. Nodes that did not change keep their objects.
export function applyMessage(fleet: Fleet | undefined, message: WatchFleetResponseJson): Fleet {
  const changed = message.nodes ?? [];
  const removed = message.removedNodeIds ?? [];
  const summary = message.summary ?? fleet?.summary;
  if (fleet && changed.length === 0 && removed.length === 0) return { ...fleet, summary };
  const nodes = new Map(fleet?.nodes);
  for (const node of changed) nodes.set(node.nodeId ?? "", node);
  for (const id of removed) nodes.delete(id);
  return { nodes, summary };
}

// What needs a look, worst first. The key is the value of the parameter "only".
export const CONDITIONS = [
  { key: "lost", label: "lost" },
  { key: "quarantined", label: "quarantined" },
  { key: "failing", label: "failing preflight" },
  { key: "outlier", label: "outlier" },
  { key: "regressed", label: "regressed" },
  { key: "cordoned", label: "cordoned" },
  { key: "running", label: "running a job" },
  { key: "idle", label: "idle" },
] as const;
export type Condition = (typeof CONDITIONS)[number]["key"];

// The worst condition of a GPU, or of a node without GPUs.
export function conditionOf(node: FleetNodeJson, gpu?: FleetGpuJson): Condition {
  if (node.state !== "NODE_STATE_CONNECTED") return "lost";
  if (node.quarantine) return "quarantined";
  if ((node.healthErrorCount ?? 0) > 0) return "failing";
  // A GPU that differs from its peers stands out, also if all have regressed.
  if (isOutlier(gpu)) return "outlier";
  if ((gpu?.regressionCount ?? 0) > 0 || (!gpu && (node.regressionCount ?? 0) > 0)) {
    return "regressed";
  }
  // A person wants the node to be idle, so it is no finding.
  if (node.cordon) return "cordoned";
  return (node.runningJobCount ?? 0) > 0 ? "running" : "idle";
}

// The worst condition of a node and its GPUs, in words.
export function conditionLabel(node: FleetNodeJson): string {
  const worst = Math.min(
    ...(node.gpus ?? []).map((gpu) => conditionIndex(node, gpu)),
    conditionIndex(node, undefined),
  );
  return CONDITIONS[worst]!.label;
}

function conditionIndex(node: FleetNodeJson, gpu: FleetGpuJson | undefined): number {
  return CONDITIONS.findIndex(({ key }) => key === conditionOf(node, gpu));
}

// The state of a cordoned node: "draining" while jobs still run that the deadline will stop.
export function cordonLabel(cordon: CordonJson, runningJobs: number): string {
  if (!cordon.drainDeadline) return "cordoned";
  return runningJobs > 0 ? "draining" : "drained";
}

export function isOutlier(gpu: FleetGpuJson | undefined): boolean {
  return gpu?.outlierKind !== undefined && gpu.outlierKind !== "OUTLIER_KIND_UNSPECIFIED";
}

// Returns true if the node belongs to the choice "only" of the headline and the legend.
export function matchesOnly(node: FleetNodeJson, only: string): boolean {
  switch (only) {
    case "":
      return true;
    case "lost":
      return node.state !== "NODE_STATE_CONNECTED";
    case "quarantined":
      return Boolean(node.quarantine);
    case "failing":
      return (node.healthErrorCount ?? 0) > 0;
    case "cordoned":
      return node.cordon !== undefined;
    case "regressed":
      return (
        (node.regressionCount ?? 0) > 0 ||
        (node.gpus ?? []).some((gpu) => (gpu.regressionCount ?? 0) > 0)
      );
    case "outlier":
      return (node.gpus ?? []).some(isOutlier);
    default:
      return (
        conditionOf(node) === only ||
        (node.gpus ?? []).some((gpu) => conditionOf(node, gpu) === only)
      );
  }
}

// Colours. The sequential scales are YlGnBu and cividis, which people with any colour vision can
// read.

export type Rgb = readonly [number, number, number];

const YLGNBU: readonly Rgb[] = [
  [255, 255, 217],
  [237, 248, 177],
  [199, 233, 180],
  [127, 205, 187],
  [65, 182, 196],
  [29, 145, 192],
  [34, 94, 168],
  [37, 52, 148],
  [8, 29, 88],
];
const CIVIDIS: readonly Rgb[] = [
  [0, 34, 78],
  [26, 56, 111],
  [65, 77, 107],
  [92, 99, 110],
  [123, 123, 120],
  [154, 148, 119],
  [188, 175, 111],
  [223, 203, 94],
  [254, 232, 56],
];

// Returns the colour at `position` (0 to 1) of a scale. Positions outside are moved to its ends.
export function interpolate(stops: readonly Rgb[], position: number): string {
  const clamped = Math.min(1, Math.max(0, Number.isFinite(position) ? position : 0));
  const at = clamped * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const mix = at - low;
  const channel = (index: 0 | 1 | 2): number =>
    Math.round(stops[low]![index] * (1 - mix) + stops[low + 1]![index] * mix);
  return `rgb(${channel(0)} ${channel(1)} ${channel(2)})`;
}

// More is darker, on white; on a dark page, more is lighter. The ends that the page's background
// would swallow are left out.
export function ramp(position: number, dark: boolean): string {
  const clamped = Math.min(1, Math.max(0, position));
  return dark
    ? interpolate(CIVIDIS, 0.15 + 0.85 * clamped)
    : interpolate(YLGNBU, 0.12 + 0.88 * clamped);
}

interface Palette {
  unknown: string;
  conditions: Record<Condition, string>;
  categories: readonly string[];
}

const LIGHT: Palette = {
  unknown: "#e3e7ec",
  conditions: {
    lost: "#8f1d16",
    quarantined: "#c0261d",
    failing: "#e0564b",
    regressed: "#f08a80",
    outlier: "#e5a836",
    cordoned: "#8a94a1",
    running: "#3b8fd0",
    idle: "#bcd5ea",
  },
  categories: ["#3b8fd0", "#e08a3c", "#2fa37f", "#c57bab", "#a89b2c", "#7a6cc9", "#7d8793"],
};
const DARK: Palette = {
  unknown: "#2a323c",
  conditions: {
    lost: "#a3352d",
    quarantined: "#e04a40",
    failing: "#f0776d",
    regressed: "#f6a49c",
    outlier: "#deb050",
    cordoned: "#6d7885",
    running: "#5aa5ea",
    idle: "#2f5273",
  },
  categories: ["#5aa5ea", "#e8935a", "#45bd96", "#d591bd", "#cabd4f", "#9d91e6", "#8a95a2"],
};

export interface LegendEntry {
  label: string;
  colour: string;
  count: number;
  // Set if a click on the entry shows only its nodes.
  only?: string;
}

// How the squares are coloured in one mode.
export interface Colouring {
  // One colour per square: per GPU, or one for a node without GPUs.
  colour: (node: FleetNodeJson, gpu: FleetGpuJson | undefined) => string;
  // What the mode says about a square: "64 C", "not measured".
  text: (node: FleetNodeJson, gpu: FleetGpuJson | undefined) => string;
  // The value to sort by in the table of nodes.
  value: (node: FleetNodeJson, gpu: FleetGpuJson | undefined) => number | string | undefined;
  // Either categories or a scale from `low` to `high`.
  legend: LegendEntry[];
  scale?: { low: string; high: string; colours: string[] };
}

export const MODES = [
  { key: "state", label: "state" },
  { key: "spec", label: "% of spec" },
  { key: "peers", label: "deviation from peers" },
  { key: "temperature", label: "temperature" },
  { key: "power", label: "power, % of limit" },
  { key: "utilization", label: "utilization" },
  { key: "throttle", label: "throttling" },
  { key: "driver", label: "driver" },
  { key: "model", label: "GPU model" },
] as const;
export type Mode = (typeof MODES)[number]["key"];

type Squares = (visit: (node: FleetNodeJson, gpu: FleetGpuJson | undefined) => void) => void;

function squaresOf(nodes: readonly FleetNodeJson[]): Squares {
  return (visit) => {
    for (const node of nodes) {
      const gpus = node.gpus ?? [];
      if (gpus.length === 0) visit(node, undefined);
      for (const gpu of gpus) visit(node, gpu);
    }
  };
}

const SCALE_STEPS = 9;

function scaled(options: {
  nodes: readonly FleetNodeJson[];
  dark: boolean;
  value: (node: FleetNodeJson, gpu: FleetGpuJson | undefined) => number | undefined;
  format: (value: number) => string;
  low: number;
  high: number;
  // High values are the ones to look at: the scale's strong end.
  missing?: string;
}): Colouring {
  const palette = options.dark ? DARK : LIGHT;
  const { value, format, low, high } = options;
  const position = (x: number): number => (high > low ? (x - low) / (high - low) : 0.5);
  let missing = 0;
  squaresOf(options.nodes)((node, gpu) => {
    if (value(node, gpu) === undefined) missing += 1;
  });
  return {
    value,
    colour: (node, gpu) => {
      const x = value(node, gpu);
      return x === undefined ? palette.unknown : ramp(position(x), options.dark);
    },
    text: (node, gpu) => {
      const x = value(node, gpu);
      return x === undefined ? (options.missing ?? NOT_MEASURED) : format(x);
    },
    legend:
      missing > 0
        ? [{ label: options.missing ?? NOT_MEASURED, colour: palette.unknown, count: missing }]
        : [],
    scale: {
      low: format(low),
      high: format(high),
      colours: Array.from({ length: SCALE_STEPS }, (_, step) =>
        ramp(step / (SCALE_STEPS - 1), options.dark),
      ),
    },
  };
}

function categorical(options: {
  nodes: readonly FleetNodeJson[];
  dark: boolean;
  value: (node: FleetNodeJson, gpu: FleetGpuJson | undefined) => string | undefined;
  // Values without a colour of their own, such as "none".
  plain?: string;
}): Colouring {
  const palette = options.dark ? DARK : LIGHT;
  const counts = new Map<string, number>();
  squaresOf(options.nodes)((node, gpu) => {
    const value = options.value(node, gpu) ?? NOT_MEASURED;
    counts.set(value, (counts.get(value) ?? 0) + 1);
  });
  // The most frequent values get colours; the last colour is for all others.
  const named = [...counts.keys()]
    .filter((value) => value !== NOT_MEASURED && value !== options.plain)
    .sort((a, b) => counts.get(b)! - counts.get(a)! || (a < b ? -1 : 1));
  const last = palette.categories.length - 1;
  const colours = new Map<string, string>();
  named.forEach((value, index) => {
    colours.set(value, palette.categories[Math.min(index, last)]!);
  });
  if (options.plain !== undefined) colours.set(options.plain, palette.conditions.idle);
  colours.set(NOT_MEASURED, palette.unknown);
  const legend: LegendEntry[] = [];
  for (const value of [...named.slice(0, last), options.plain, NOT_MEASURED]) {
    if (value === undefined || !counts.has(value)) continue;
    legend.push({ label: value, colour: colours.get(value)!, count: counts.get(value)! });
  }
  const others = named.slice(last);
  if (others.length > 0) {
    legend.push({
      label: others.length === 1 ? others[0]! : `${count(others.length)} others`,
      colour: palette.categories[last]!,
      count: others.reduce((sum, value) => sum + counts.get(value)!, 0),
    });
  }
  return {
    value: options.value,
    colour: (node, gpu) => colours.get(options.value(node, gpu) ?? NOT_MEASURED)!,
    text: (node, gpu) => options.value(node, gpu) ?? NOT_MEASURED,
    legend,
  };
}

// How far the scale of "% of spec" reaches down: the lowest value among these, to 5%.
function roundedDown(values: Iterable<number>, step: number, fallback: number): number {
  let low = Infinity;
  for (const value of values) low = Math.min(low, value);
  return Number.isFinite(low) ? Math.floor(low / step + 1e-9) * step : fallback;
}

export function colouring(
  mode: Mode,
  nodes: readonly FleetNodeJson[],
  dark: boolean,
  // Achieved over predicted by the spec sheet, by UUID of the GPU.
  efficiencies: ReadonlyMap<string, number>,
): Colouring {
  const palette = dark ? DARK : LIGHT;
  switch (mode) {
    case "spec": {
      const values = [...efficiencies.values()];
      // Implausible values above the spec sheet must not hide differences between the others.
      return scaled({
        nodes,
        dark,
        value: (_, gpu) => efficiencies.get(gpu?.uuid ?? ""),
        format: (x) => `${percent(x)} of spec`,
        low: Math.min(roundedDown(values, 0.05, 0), 0.95),
        high: 1,
      });
    }
    case "peers": {
      const ratios: number[] = [];
      squaresOf(nodes)((_, gpu) => {
        if (isOutlier(gpu) && typeof gpu?.outlierRatio === "number") ratios.push(gpu.outlierRatio);
      });
      const low = Math.min(roundedDown(ratios, 0.05, 0.9), 0.95);
      return scaled({
        nodes,
        dark,
        // Distance below or above the peers: both are worth a look.
        value: (_, gpu) =>
          isOutlier(gpu) && typeof gpu?.outlierRatio === "number"
            ? Math.abs(gpu.outlierRatio - 1)
            : undefined,
        format: (x) => `${percent(x)} off`,
        low: 0,
        high: 1 - low,
        missing: "like its peers, or not judged",
      });
    }
    case "temperature":
      return scaled({
        nodes,
        dark,
        value: (_, gpu) => gpu?.temperatureCelsius,
        format: (x) => `${x.toFixed(0)} C`,
        low: 30,
        high: 90,
      });
    case "power":
      return scaled({
        nodes,
        dark,
        value: (_, gpu) =>
          gpu?.powerWatts !== undefined && gpu.powerLimitWatts
            ? gpu.powerWatts / gpu.powerLimitWatts
            : undefined,
        format: (x) => `${(100 * x).toFixed(0)}% of limit`,
        low: 0,
        high: 1,
      });
    case "utilization":
      return scaled({
        nodes,
        dark,
        value: (_, gpu) =>
          gpu?.utilizationPercent === undefined ? undefined : gpu.utilizationPercent / 100,
        format: (x) => `${(100 * x).toFixed(0)}% busy`,
        low: 0,
        high: 1,
      });
    case "throttle":
      return categorical({
        nodes,
        dark,
        plain: "none",
        value: (_, gpu) =>
          gpu?.throttleReasons && gpu.throttleReasons.length > 0
            ? gpu.throttleReasons.map((reason) => reason.replaceAll("_", " ")).join(", ")
            : gpu?.temperatureCelsius === undefined && gpu?.smClockMhz === undefined
              ? undefined
              : "none",
      });
    case "driver":
      return categorical({ nodes, dark, value: (node) => node.driverVersion || undefined });
    case "model":
      return categorical({
        nodes,
        dark,
        value: (_, gpu) => gpuModel(gpu) || undefined,
      });
    case "state": {
      const counts = new Map<Condition, number>();
      squaresOf(nodes)((node, gpu) => {
        const condition = conditionOf(node, gpu);
        counts.set(condition, (counts.get(condition) ?? 0) + 1);
      });
      const label = (condition: Condition): string =>
        CONDITIONS.find(({ key }) => key === condition)!.label;
      return {
        // Sorts by what needs a look first.
        value: (node, gpu) => CONDITIONS.findIndex(({ key }) => key === conditionOf(node, gpu)),
        colour: (node, gpu) => palette.conditions[conditionOf(node, gpu)],
        text: (node, gpu) => label(conditionOf(node, gpu)),
        legend: CONDITIONS.filter(({ key }) => counts.has(key)).map(({ key, label: text }) => ({
          label: text,
          colour: palette.conditions[key],
          count: counts.get(key)!,
          only: key,
        })),
      };
    }
  }
}

export function gpuModel(gpu: FleetGpuJson | undefined): string {
  if (!gpu) return "";
  return [gpu.model, gpu.formFactor, gpu.migProfile].filter(Boolean).join(" ");
}

// The models of a node's GPUs: "8 x H200 SXM".
export function gpusText(node: FleetNodeJson): string {
  const counts = new Map<string, number>();
  for (const gpu of node.gpus ?? []) {
    const model = gpuModel(gpu) || "unknown GPU";
    counts.set(model, (counts.get(model) ?? 0) + 1);
  }
  if (counts.size === 0) return node.cpuModel ? `no GPU, ${node.cpuModel}` : "no GPU";
  return [...counts].map(([model, number]) => `${number} x ${model}`).join(", ");
}

export const GROUPINGS = [
  { key: "", label: "nothing" },
  { key: "provider", label: "provider" },
  { key: "model", label: "GPU model" },
  { key: "driver", label: "driver" },
  { key: "region", label: "region" },
] as const;

// The group of a node. `by` is one of GROUPINGS or "label.NAME".
export function groupOf(node: FleetNodeJson, by: string): string {
  if (by.startsWith("label.")) return node.labels?.[by.slice("label.".length)] ?? "";
  switch (by) {
    case "provider":
      return node.provider ?? "";
    case "model":
      return gpusText(node);
    case "driver":
      return node.driverVersion ?? "";
    case "region":
      return node.region ?? "";
    default:
      return "";
  }
}

export interface Group {
  name: string;
  nodes: FleetNodeJson[];
  gpuCount: number;
}

// Groups sorted by name, those without a value last. The nodes keep their order.
export function groupNodes(nodes: readonly FleetNodeJson[], by: string): Group[] {
  const groups = new Map<string, Group>();
  for (const node of nodes) {
    const name = groupOf(node, by);
    let group = groups.get(name);
    if (!group) groups.set(name, (group = { name, nodes: [], gpuCount: 0 }));
    group.nodes.push(node);
    group.gpuCount += node.gpus?.length ?? 0;
  }
  return sortRows([...groups.values()], ({ name }) => name, false);
}

// A gradient that draws one square per colour, with gaps of 1 pixel.
export function squares(colours: readonly string[], size: number): string {
  const stops = colours.map((colour, index) => {
    const start = index * (size + 1);
    return `${colour} ${start}px ${start + size}px, transparent ${start + size}px ${start + size + 1}px`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

const TILE_GAP_X = 8;
const TILE_GAP_Y = 5;

// The largest size of a square with which `nodes` tiles of up to `gpus` squares fit into `width` x
// `height` pixels: from 10 to 22.
export function squareSize(nodes: number, gpus: number, width: number, height: number): number {
  for (let size = 22; size > 10; size -= 1) {
    const columns = Math.floor((width + TILE_GAP_X) / (gpus * (size + 1) + TILE_GAP_X));
    if (columns > 0 && Math.ceil(nodes / columns) * (size + TILE_GAP_Y) <= height) return size;
  }
  return 10;
}

// The square below a pointer at `x` pixels from the left edge.
export function squareAt(x: number, number: number, size: number): number {
  return Math.min(Math.max(0, Math.floor(x / (size + 1))), Math.max(0, number - 1));
}
