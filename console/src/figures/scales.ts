// Chooses domains and ticks of axes. Ticks are chosen by the size of their labels, so that labels do
// not overlap at any width.

import { shorten } from "./names";

export const FONT_SIZE = 12;

// Average width of a character, in em, where nothing can be measured.
const CHARACTER_EM = 0.6;
// Digits have equal widths in figures, which a canvas does not know.
const DIGIT_MARGIN = 1.04;

let context: CanvasRenderingContext2D | null | undefined;
const widths = new Map<string, number>();

// Returns the width of a text of a figure in pixels.
export function textWidth(text: string): number {
  if (context === undefined) {
    context = typeof document === "undefined" ? null : document.createElement("canvas").getContext("2d");
    if (context) context.font = `${FONT_SIZE}px ${getComputedStyle(document.body).fontFamily}`;
  }
  if (!context) return text.length * FONT_SIZE * CHARACTER_EM;
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 5000) widths.clear();
    width = context.measureText(text).width * DIGIT_MARGIN;
    widths.set(text, width);
  }
  return width;
}

// Shortens a text in its middle until it fits.
export function fitText(text: string, pixels: number): string {
  let length = text.length;
  let fitting = text;
  while (length > 1 && textWidth(fitting) > pixels) {
    length = Math.min(length - 1, Math.floor((length * pixels) / textWidth(fitting)));
    fitting = shorten(text, length);
  }
  return fitting;
}

export interface Tick {
  value: number;
  label: string;
}

export interface Axis {
  type: "linear" | "log" | "utc";
  domain: [number, number];
  ticks: Tick[];
  // Positions without a label, for the grid.
  minor: number[];
}

export function extent(values: Iterable<number>): [number, number] | undefined {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : undefined;
}

// Returns the position of a value in pixels from `from` to `to`.
export function position(axis: Pick<Axis, "type" | "domain">, from: number, to: number) {
  const [low, high] = axis.domain;
  const map = axis.type === "log" ? Math.log : (value: number) => value;
  const start = map(low);
  const span = map(high) - start || 1;
  return (value: number) => from + ((map(value) - start) / span) * (to - from);
}

// Returns the value at a pixel: the inverse of position().
export function inverse(axis: Pick<Axis, "type" | "domain">, from: number, to: number) {
  const [low, high] = axis.domain;
  return (pixel: number) => {
    const part = (pixel - from) / (to - from);
    return axis.type === "log" ? low * (high / low) ** part : low + part * (high - low);
  };
}

function step(span: number, count: number): number {
  const raw = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const fraction = raw / power;
  return (fraction <= 1 ? 1 : fraction <= 2 ? 2 : fraction <= 5 ? 5 : 10) * power;
}

// Returns a domain around the values. It includes 0 if the values spread over a large part of it.
export function linearDomain(values: Iterable<number>, padding = 0.06): [number, number] {
  const range = extent(values) ?? [0, 1];
  let [low, high] = range;
  if (low === high) {
    const margin = Math.abs(low) * 0.05 || 1;
    return [low - margin, high + margin];
  }
  const span = high - low;
  const fromZero = low >= 0 && low < span * 0.5;
  low = fromZero ? 0 : low - span * padding;
  return [low, high + span * padding];
}

export function linearTicks(domain: [number, number], count: number, unit = ""): Tick[] {
  const [low, high] = domain;
  const by = step(high - low, count);
  const decimals = Math.max(0, -Math.floor(Math.log10(by) + 1e-9));
  const ticks: Tick[] = [];
  for (let i = Math.ceil(low / by - 1e-9); i * by <= high + by * 1e-9; i++) {
    const value = i * by;
    const text = Math.abs(value) >= 1e6 ? value.toExponential() : value.toFixed(Math.min(decimals, 12));
    ticks.push({ value, label: (Number(text) === 0 ? "0" : text).replace("-", "−") + unit });
  }
  return ticks;
}

// Returns a linear axis. `vertical` axes have a label every 40 pixels, others as the labels allow.
export function linearAxis(
  domain: [number, number],
  pixels: number,
  { vertical = false, unit = "" } = {},
): Axis {
  let count = Math.max(2, Math.floor(pixels / (vertical ? 44 : 60)));
  let ticks = linearTicks(domain, count, unit);
  while (!vertical && count > 1) {
    const widest = Math.max(0, ...ticks.map((tick) => textWidth(tick.label)));
    if (ticks.length * (widest + 14) <= pixels + 20) break;
    count -= 1;
    ticks = linearTicks(domain, count, unit);
  }
  // One label alone gives no scale.
  while (ticks.length < 2 && count < 12) {
    count += 1;
    ticks = linearTicks(domain, count, unit);
  }
  return { type: "linear", domain, ticks, minor: [] };
}

// Keeps the first tick, and each that is far enough from the last one kept.
export function spaced(ticks: Tick[], at: (value: number) => number, gap: (tick: Tick) => number): Tick[] {
  const kept: Tick[] = [];
  let end = -Infinity;
  for (const tick of ticks) {
    const half = gap(tick) / 2;
    const center = at(tick.value);
    if (center - half < end) continue;
    kept.push(tick);
    end = center + half;
  }
  return kept;
}

// Returns a logarithmic axis: powers of `base` with a label, as many as fit. For less than two
// decades also 2 and 5 times powers of ten.
export function logAxis(
  domain: [number, number],
  pixels: number,
  label: (value: number) => string,
  { vertical = false, base = 10 } = {},
): Axis {
  const [low, high] = domain;
  const first = Math.floor(Math.log(low) / Math.log(base) + 1e-9);
  const last = Math.ceil(Math.log(high) / Math.log(base) - 1e-9);
  const decades = Math.log(high / low) / Math.log(base);
  const factors = base === 10 && decades < 2.2 ? [1, 2, 5] : [1];
  const inside = (value: number) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);
  const all: Tick[] = [];
  const minor: number[] = [];
  for (let power = first; power <= last; power++) {
    for (const factor of factors) {
      const value = factor * base ** power;
      if (inside(value)) all.push({ value, label: label(value) });
    }
    if (base === 10 && decades < 8) {
      for (let factor = 2; factor < 10; factor++) {
        const value = factor * 10 ** power;
        if (inside(value)) minor.push(value);
      }
    }
  }
  const axis = { type: "log" as const, domain };
  const at = position(axis, 0, pixels);
  const fits = (stride: number) => {
    const chosen = strided(all, stride, base, factors.length);
    const gap = vertical ? () => FONT_SIZE * 1.6 : (tick: Tick) => textWidth(tick.label) + 10;
    return spaced(chosen, at, gap).length === chosen.length ? chosen : undefined;
  };
  for (const stride of [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20]) {
    const ticks = fits(stride);
    if (ticks) return { ...axis, ticks, minor };
  }
  return { ...axis, ticks: all.slice(0, 1), minor };
}

// Every `stride`-th power; powers that are multiples of the stride, so that a wider figure adds
// labels and moves none.
function strided(all: Tick[], stride: number, base: number, perDecade: number): Tick[] {
  if (stride === 1) return all;
  return all.filter((tick) => {
    const power = Math.log(tick.value) / Math.log(base);
    const rounded = Math.round(power);
    if (Math.abs(power - rounded) > 1e-6) return false;
    return perDecade > 1 && stride === 2 ? true : rounded % stride === 0;
  });
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const two = (value: number) => String(value).padStart(2, "0");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// Returns a time axis in local time, in milliseconds since 1970.
export function timeAxis(domain: [number, number], pixels: number): Axis {
  const span = domain[1] - domain[0];
  const days = span / DAY;
  const dateLabel = (date: Date) => `${date.getDate()} ${MONTHS[date.getMonth()]}`;
  const seconds = span < 8 * MINUTE;
  const clockLabel = (date: Date) =>
    `${two(date.getHours())}:${two(date.getMinutes())}${seconds ? `:${two(date.getSeconds())}` : ""}`;
  const label = (value: number) => {
    const date = new Date(value);
    if (days > 700) return `${MONTHS[date.getMonth()]} ${date.getFullYear()}`;
    if (days > 3) return dateLabel(date);
    const midnight = date.getHours() === 0 && date.getMinutes() === 0;
    return midnight ? dateLabel(date) : clockLabel(date);
  };
  const room = Math.max(1, Math.floor(pixels / (textWidth(days > 700 || seconds ? "Sep 2026" : "30 Sep") + 20)));
  let ticks: Tick[] = [];
  if (span / (28 * DAY) > room) {
    const date = new Date(domain[0]);
    const months = [1, 2, 3, 6, 12, 24, 60, 120].find((m) => span / (30 * DAY) / m <= room) ?? 240;
    for (let i = 0; i < 10_000; i++) {
      const tick = new Date(date.getFullYear(), 0, 1);
      tick.setMonth(i * months);
      if (tick.getTime() > domain[1]) break;
      if (tick.getTime() >= domain[0]) ticks.push({ value: tick.getTime(), label: label(tick.getTime()) });
    }
  } else {
    const sizes = [1, 2, 5, 10, 15, 30].map((count) => count * SECOND);
    sizes.push(...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE));
    sizes.push(HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY);
    const start = new Date(domain[0]);
    const origin = new Date(start.getFullYear(), start.getMonth(), start.getDate()).getTime();
    const ticksEvery = (size: number): Tick[] => {
      const found: Tick[] = [];
      for (let value = origin; value <= domain[1]; ) {
        if (value >= domain[0]) found.push({ value, label: label(value) });
        const next = new Date(value);
        // By calendar days, because some days have 23 or 25 hours.
        if (size >= DAY) next.setDate(next.getDate() + Math.round(size / DAY));
        value = size >= DAY ? next.getTime() : value + size;
      }
      return found;
    };
    let index = sizes.findIndex((size) => span / size <= room);
    if (index < 0) index = sizes.length - 1;
    ticks = ticksEvery(sizes[index]!);
    // A domain may lie between two ticks.
    while (ticks.length === 0 && index > 0) ticks = ticksEvery(sizes[--index]!);
  }
  const axis = { type: "utc" as const, domain, minor: [] };
  const at = position({ type: "linear", domain }, 0, pixels);
  return { ...axis, ticks: spaced(ticks, at, (tick) => textWidth(tick.label) + 8) };
}

// Returns a time domain with some room at its ends.
export function timeDomain(values: Iterable<number>): [number, number] {
  const [low, high] = extent(values) ?? [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 2)];
  const margin = Math.max((high - low) * 0.03, SECOND);
  return [low - margin, high + margin];
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export function overlaps(a: Box, b: Box, gap = 1): boolean {
  return (
    a.x < b.x + b.width + gap &&
    b.x < a.x + a.width + gap &&
    a.y < b.y + b.height + gap &&
    b.y < a.y + a.height + gap
  );
}

export interface Label {
  text: string;
  // The baseline's left end, middle or right end, by `anchor`, in pixels.
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
  // Offsets in pixels that may be tried, in order. [0, 0] first.
  tries?: [number, number][];
}

export function labelBox(label: Label): Box {
  const width = textWidth(label.text);
  const shift = label.anchor === "start" ? 0 : label.anchor === "middle" ? width / 2 : width;
  return { x: label.x - shift, y: label.y - FONT_SIZE * 0.6, width, height: FONT_SIZE * 1.2 };
}

// Places labels so that none overlaps another or leaves `bounds`: each at the first of its offsets
// that is free. Labels without a free place are left out. Earlier labels have priority.
export function placeLabels<T extends Label>(labels: T[], bounds: Box, taken: Box[] = []): T[] {
  const boxes = [...taken];
  const placed: T[] = [];
  for (const label of labels) {
    for (const [dx, dy] of label.tries ?? [[0, 0]]) {
      const moved = { ...label, x: label.x + dx, y: label.y + dy };
      const box = labelBox(moved);
      const inside =
        box.x >= bounds.x &&
        box.y >= bounds.y &&
        box.x + box.width <= bounds.x + bounds.width &&
        box.y + box.height <= bounds.y + bounds.height;
      if (!inside || boxes.some((other) => overlaps(box, other))) continue;
      boxes.push(box);
      placed.push(moved);
      break;
    }
  }
  return placed;
}
