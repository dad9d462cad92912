// What all figures have in common: the frame with its axes, and what a drawing consists of.

import { axisX, axisY, gridX, gridY, plot, type Markish, text } from "@observablehq/plot";
import { type Axis, FONT_SIZE, type Label, type Tick, inverse, position, textWidth } from "./scales";

// A point of a figure that can be pointed at, in pixels of the drawing.
export interface Mark {
  x: number;
  y: number;
  // Lines are separated by "\n".
  text: string;
  // A link within the page, "#/results/...".
  href?: string;
}

export type Shape =
  | "line"
  | "dash"
  | "dots"
  | "circle"
  | "square"
  | "triangle"
  | "diamond"
  | "cross"
  | "ring"
  | "dashed ring"
  | "band";

export interface LegendItem {
  shape: Shape;
  color: string;
  text: string;
}

// The legend of a continuous scale.
export interface Ramp {
  title: string;
  low: string;
  high: string;
  // Colours from low to high.
  colors: string[];
}

export interface Drawing {
  svg: SVGSVGElement;
  marks: Mark[];
  legend: LegendItem[];
  ramp?: Ramp;
  // Sentences below the figure: what was left out, for example.
  notes: string[];
}

export interface Margins {
  top: number;
  right: number;
  bottom: number;
  left: number;
}

// Custom properties of the style sheet, so that figures follow the theme.
export const MUTED = "var(--muted)";
export const GRID = "var(--line)";
export const HALO = "var(--figure-background)";
export const ACCENT = "var(--accent)";
export const BAD = "var(--bad)";
export const WARN = "var(--warn)";
export const GOOD = "var(--good)";

// Colours of series, by their position.
export const SERIES_COUNT = 8;
export function seriesColor(index: number): string {
  return `var(--series-${(index % SERIES_COUNT) + 1})`;
}
const SERIES_SHAPES = ["circle", "square", "triangle", "diamond"] as const;
export function seriesShape(index: number): "circle" | "square" | "triangle" | "diamond" {
  return SERIES_SHAPES[index % SERIES_SHAPES.length]!;
}

// Returns the name of Plot's symbol for a shape.
export function symbolOf(shape: Shape): "circle" | "square" | "triangle" | "diamond" | "times" {
  switch (shape) {
    case "square":
    case "triangle":
    case "diamond":
      return shape;
    case "cross":
      return "times";
    default:
      return "circle";
  }
}

// Returns a height that suits the width.
export function heightFor(width: number, share = 0.5, most = 480): number {
  return Math.round(Math.max(260, Math.min(most, width * share)));
}

// Draws many shapes of a few colours as one path per colour, which is about ten times faster than an
// element for each. `shape` returns the commands of a path, in pixels.
export function pathMark<T>(
  items: T[],
  color: (item: T) => string,
  shape: (item: T) => string,
  opacity = 1,
): Markish {
  const paths = new Map<string, string[]>();
  for (const item of items) {
    const fill = color(item);
    const list = paths.get(fill);
    if (list) list.push(shape(item));
    else paths.set(fill, [shape(item)]);
  }
  return () => {
    const group = document.createElementNS("http://www.w3.org/2000/svg", "g");
    for (const [fill, shapes] of paths) {
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", shapes.join(""));
      path.setAttribute("fill", fill);
      path.setAttribute("fill-opacity", String(opacity));
      group.append(path);
    }
    return group;
  };
}

export function circlePath(x: number, y: number, radius: number): string {
  const r = radius.toFixed(1);
  const width = (2 * radius).toFixed(1);
  return `M${(x - radius).toFixed(1)},${y.toFixed(1)}a${r},${r} 0 1,0 ${width},0a${r},${r} 0 1,0 -${width},0`;
}

export interface Frame {
  width: number;
  height: number;
  margins: Margins;
  x: Axis;
  y?: Axis;
  xLabel: string;
  yLabel?: string;
  // If true, no axis of y is drawn.
  bare?: boolean;
  marks: Markish[];
}

// Draws texts at their places. Labels have pixels, so the frame's axes turn them into values.
export function textMarks(
  labels: Label[],
  frame: { x: Axis; y: Axis; left: number; right: number; top: number; bottom: number },
  fill = "currentColor",
  halo = HALO,
): Markish[] {
  const x = inverse(frame.x, frame.left, frame.right);
  const y = inverse(frame.y, frame.bottom, frame.top);
  return (["start", "middle", "end"] as const).map((anchor) =>
    text(
      labels.filter((label) => label.anchor === anchor),
      {
        x: (label: Label) => x(label.x),
        y: (label: Label) => y(label.y),
        text: (label: Label) => label.text,
        textAnchor: anchor,
        fill,
        stroke: halo,
        strokeWidth: 4,
        fontSize: FONT_SIZE,
      },
    ),
  );
}

// Draws marks in a frame with axes. Marks use the units of the axes.
export function drawFrame(frame: Frame): SVGSVGElement {
  const { x, y, margins } = frame;
  const at = position({ ...x, type: x.type === "log" ? "log" : "linear" }, margins.left, frame.width - margins.right);
  // A label at the end of the axis may not fit into the margin.
  const fits = (tick: Tick) => {
    const half = textWidth(tick.label) / 2;
    return at(tick.value) - half >= 0 && at(tick.value) + half <= frame.width;
  };
  const label = (axis: Axis) => {
    const shown = axis === x ? axis.ticks.filter(fits) : axis.ticks;
    const labels = new Map(shown.map((tick) => [tick.value, tick.label]));
    return (value: number) => labels.get(Number(value)) ?? "";
  };
  const values = (axis: Axis) => axis.ticks.map((tick) => tick.value);
  const common = { tickSize: 0, labelArrow: "none", color: MUTED, fontVariant: "tabular-nums" } as const;
  const axes: Markish[] = [
    gridX(x.minor, { stroke: GRID, strokeOpacity: 0.45 }),
    gridX(values(x), { stroke: GRID, strokeOpacity: 1 }),
    axisX(values(x), {
      ...common,
      text: label(x) as unknown as string,
      label: frame.xLabel,
      labelAnchor: "right",
      labelOffset: margins.bottom - 4,
    }),
  ];
  if (y) {
    axes.unshift(
      gridY(y.minor, { stroke: GRID, strokeOpacity: 0.45 }),
      gridY(values(y), { stroke: GRID, strokeOpacity: 1 }),
    );
    axes.push(
      axisY(values(y), {
        ...common,
        text: label(y) as unknown as string,
        label: frame.yLabel ?? null,
        labelAnchor: "top",
        labelOffset: margins.left - 2,
      }),
    );
  }
  const svg = plot({
    width: frame.width,
    height: frame.height,
    marginTop: margins.top,
    marginRight: margins.right,
    marginBottom: margins.bottom,
    marginLeft: margins.left,
    // Times are numbers in all figures. Their ticks are computed in local time.
    x: { type: x.type === "log" ? "log" : "linear", domain: x.domain, axis: null },
    y: y
      ? { type: y.type === "log" ? "log" : "linear", domain: y.domain, axis: null }
      : { type: "linear", domain: [0, 1], axis: null },
    marks: [...axes, ...frame.marks],
  }) as SVGSVGElement;
  return accessible(svg);
}

// Removes Plot's labels of groups: a group without a role must not have one. The element around
// the drawing has a label instead.
export function accessible(svg: SVGSVGElement): SVGSVGElement {
  for (const element of svg.querySelectorAll("[aria-label], [aria-description]")) {
    element.removeAttribute("aria-label");
    element.removeAttribute("aria-description");
  }
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("focusable", "false");
  return svg;
}
