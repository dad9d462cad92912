// Shows a figure in an element: draws it again when its width changes, and shows the point that the
// mouse, a finger or the arrow keys select.

import type { Drawing, LegendItem, Mark, Ramp, Shape } from "./drawing";

export interface FigureOptions {
  title: string;
  // What the figure shows, in a sentence or two, for those who cannot see it.
  summary: string;
  // Draws the figure for a width in pixels.
  draw: (width: number) => Drawing;
}

export interface MountedFigure {
  update(options: FigureOptions): void;
  remove(): void;
}

const SVG = "http://www.w3.org/2000/svg";
// A point is selected from this distance in pixels.
const REACH = 32;
const SMALLEST_WIDTH = 240;

function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className: string,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const created = document.createElement(name);
  if (className) created.className = className;
  created.append(...children);
  return created;
}

function svgElement(name: string, attributes: Record<string, string | number>): SVGElement {
  const created = document.createElementNS(SVG, name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, String(value));
  return created;
}

function swatch(shape: Shape, color: string): SVGElement {
  const svg = svgElement("svg", { width: 22, height: 12, viewBox: "0 0 22 12", "aria-hidden": "true" });
  const line = (dash?: string) =>
    svgElement("line", {
      x1: 1,
      x2: 21,
      y1: 6,
      y2: 6,
      stroke: color,
      "stroke-width": 2,
      ...(dash ? { "stroke-dasharray": dash } : {}),
    });
  const path = (d: string) => svgElement("path", { d, fill: color });
  switch (shape) {
    case "line":
      svg.append(line());
      break;
    case "dash":
      svg.append(line("6,3"));
      break;
    case "dots":
      svg.append(line("2,3"));
      break;
    case "circle":
      svg.append(svgElement("circle", { cx: 11, cy: 6, r: 4, fill: color }));
      break;
    case "ring":
    case "dashed ring":
      svg.append(
        svgElement("rect", {
          x: 6,
          y: 1,
          width: 10,
          height: 10,
          fill: "none",
          stroke: color,
          "stroke-width": 2,
          ...(shape === "dashed ring" ? { "stroke-dasharray": "3,2" } : {}),
        }),
      );
      break;
    case "square":
      svg.append(path("M7.5,2.5h7v7h-7z"));
      break;
    case "triangle":
      svg.append(path("M11,1.5 15.5,10h-9z"));
      break;
    case "diamond":
      svg.append(path("M11,1 16,6 11,11 6,6z"));
      break;
    case "cross":
      svg.append(svgElement("path", { d: "M7.5,2.5 14.5,9.5M14.5,2.5 7.5,9.5", stroke: color, "stroke-width": 2 }));
      break;
    case "band":
      svg.append(svgElement("rect", { x: 1, y: 2, width: 20, height: 8, fill: color, "fill-opacity": 0.25 }));
      break;
  }
  return svg;
}

function legendOf(items: LegendItem[]): HTMLElement | undefined {
  if (items.length === 0) return undefined;
  return element("ul", "figure-legend", ...items.map((item) => element("li", "", swatch(item.shape, item.color), item.text)));
}

function rampOf(ramp: Ramp): HTMLElement {
  const svg = svgElement("svg", {
    width: 160,
    height: 12,
    viewBox: `0 0 ${ramp.colors.length} 1`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  ramp.colors.forEach((fill, x) => svg.append(svgElement("rect", { x, y: 0, width: 1.05, height: 1, fill })));
  return element(
    "div",
    "figure-ramp",
    element("span", "figure-ramp-title", ramp.title),
    element("span", "", ramp.low),
    svg,
    element("span", "", ramp.high),
  );
}

// Returns the index of the nearest mark in reach, or -1.
export function nearest(marks: Mark[], x: number, y: number, reach = REACH): number {
  let best = -1;
  let distance = reach * reach;
  marks.forEach((mark, index) => {
    const to = (mark.x - x) ** 2 + (mark.y - y) ** 2;
    if (to < distance) {
      distance = to;
      best = index;
    }
  });
  return best;
}

// Returns the nearest mark in the direction of an arrow key, or `from` if there is none.
export function nextMark(marks: Mark[], from: number, key: string): number {
  const start = marks[from];
  if (!start) return marks.length ? 0 : -1;
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key] ?? [0, 0];
  let best = from;
  let cost = Infinity;
  marks.forEach((mark, index) => {
    const along = (mark.x - start.x) * dx! + (mark.y - start.y) * dy!;
    const across = Math.abs((mark.x - start.x) * dy!) + Math.abs((mark.y - start.y) * dx!);
    if (along <= 0.01 || along + 3 * across >= cost) return;
    cost = along + 3 * across;
    best = index;
  });
  return best;
}

export function mountFigure(host: HTMLElement, first: FigureOptions): MountedFigure {
  let options = first;
  let drawing: Drawing | undefined;
  let drawnWidth = 0;
  let selected = -1;

  const image = element("div", "figure-image");
  image.setAttribute("role", "img");
  const ring = element("div", "figure-ring");
  const tip = element("div", "figure-tip");
  tip.setAttribute("role", "status");
  const stage = element("div", "figure-stage", image, ring, tip);
  const above = element("div", "figure-keys");
  const below = element("div", "figure-notes");
  host.replaceChildren(above, stage, below);

  function select(index: number) {
    selected = index;
    const mark = drawing?.marks[index];
    ring.hidden = tip.hidden = !mark;
    stage.classList.toggle("figure-link", Boolean(mark?.href));
    if (!mark || !drawing) return;
    tip.textContent = mark.text;
    // The drawing may be shown smaller than it was drawn, for example in print.
    const scale = image.clientWidth / drawnWidth || 1;
    const x = mark.x * scale;
    const y = mark.y * scale;
    ring.style.left = `${x}px`;
    ring.style.top = `${y}px`;
    tip.style.left = "0";
    const left = Math.max(0, Math.min(x + 12, stage.clientWidth - tip.offsetWidth));
    const fitsAbove = y - tip.offsetHeight - 12 > 0;
    tip.style.left = `${left}px`;
    tip.style.top = `${fitsAbove ? y - tip.offsetHeight - 12 : y + 14}px`;
  }

  function draw() {
    const width = Math.max(SMALLEST_WIDTH, Math.floor(host.clientWidth));
    drawnWidth = width;
    drawing = options.draw(width);
    image.replaceChildren(drawing.svg);
    image.setAttribute("aria-label", `${options.title}. ${options.summary}`);
    stage.setAttribute("aria-label", `${options.title}: select points with the arrow keys`);
    if (drawing.marks.length) {
      stage.tabIndex = 0;
      stage.setAttribute("role", "group");
    } else {
      stage.removeAttribute("tabindex");
      stage.removeAttribute("role");
    }
    const keys: Node[] = [];
    if (drawing.ramp) keys.push(rampOf(drawing.ramp));
    const legend = legendOf(drawing.legend);
    if (legend) keys.push(legend);
    above.replaceChildren(...keys);
    below.replaceChildren(...drawing.notes.map((note) => element("p", "", note)));
    select(-1);
  }

  const at = (event: MouseEvent) => {
    const box = image.getBoundingClientRect();
    const scale = drawnWidth / box.width || 1;
    return nearest(drawing?.marks ?? [], (event.clientX - box.left) * scale, (event.clientY - box.top) * scale);
  };
  const follow = () => {
    const href = drawing?.marks[selected]?.href;
    if (href?.startsWith("#")) location.hash = href.slice(1);
  };
  stage.addEventListener("pointermove", (event) => {
    const index = at(event);
    if (index !== selected) select(index);
  });
  stage.addEventListener("pointerleave", () => select(-1));
  stage.addEventListener("click", (event) => {
    const index = at(event);
    select(index);
    if (index >= 0) follow();
  });
  stage.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) {
      select(nextMark(drawing?.marks ?? [], selected, event.key));
      event.preventDefault();
    } else if (event.key === "Escape" && selected >= 0) {
      select(-1);
      event.stopPropagation();
    } else if (event.key === "Enter") {
      follow();
    }
  });
  stage.addEventListener("blur", () => select(-1));

  let frame = 0;
  const observer = new ResizeObserver(() => {
    if (Math.max(SMALLEST_WIDTH, Math.floor(host.clientWidth)) === drawnWidth || frame) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      draw();
    });
  });
  draw();
  observer.observe(host);

  return {
    update(next) {
      options = next;
      draw();
    },
    remove() {
      observer.disconnect();
      cancelAnimationFrame(frame);
      host.replaceChildren();
    },
  };
}
