// The runs of a case over time: points by place, steps, and what else happened.

import { dot, line, link, rect, ruleX } from "@observablehq/plot";
import type {
  AnnotationJson,
  CaseIdentityJson,
  PlaceHistoryJson,
  RegressionJson,
} from "proto/analysis_pb";
import { change, localTime, plural, quantity, timeMillis } from "../format";
import { to } from "../router";
import { median, thin } from "./bins";
import { axisTitle, displayUnit } from "./columns";
import {
  ACCENT,
  BAD,
  type Drawing,
  GOOD,
  HALO,
  type LegendItem,
  MUTED,
  SERIES_COUNT,
  circlePath,
  drawFrame,
  heightFor,
  pathMark,
  seriesColor,
  seriesShape,
  symbolOf,
  textMarks,
} from "./drawing";
import { caseKey, placeName, toNumber } from "./names";
import { fitText, linearAxis, linearDomain, placeLabels, position, textWidth, timeAxis, timeDomain } from "./scales";

export interface HistoryRun {
  // Milliseconds since 1970.
  time: number;
  value: number;
  // Ends of the interval; NaN without one.
  low: number;
  high: number;
  driver: string;
  resultId: string;
  excluded: boolean;
}

export interface Segment {
  from: number;
  until: number;
  median: number;
}

export interface HistoryPlace {
  name: string;
  runs: HistoryRun[];
  segments: Segment[];
}

// Steps of several places at about the same time.
export interface StepGroup {
  // The steps lie between these times: the last run before and the first run after.
  from: number;
  until: number;
  // The median ratio of performances.
  ratio: number;
  places: string[];
  driverBefore: string;
  driverAfter: string;
}

export type EventKind = "driver" | "agent" | "note";

export interface HistoryEvent {
  time: number;
  kind: EventKind;
  text: string;
}

export interface Rerun {
  time: number;
  value: number;
  peer: boolean;
  place: string;
  resultId: string;
}

export interface HistoryModel {
  identity: CaseIdentityJson;
  places: HistoryPlace[];
  steps: StepGroup[];
  events: HistoryEvent[];
  reruns: Rerun[];
}

// Divides the histories of an answer by case.
export function historyCases(places: PlaceHistoryJson[]): PlaceHistoryJson[][] {
  const cases = new Map<string, PlaceHistoryJson[]>();
  for (const place of places) {
    const key = caseKey(place.case ?? {});
    const list = cases.get(key);
    if (list) list.push(place);
    else cases.set(key, [place]);
  }
  return [...cases.values()];
}

// Returns the segments between the steps, without runs that analyses do not use.
export function segmentsOf(runs: HistoryRun[], firstPoints: number[]): Segment[] {
  const starts = [0, ...firstPoints.filter((at) => at > 0 && at < runs.length)];
  return starts.flatMap((start, index) => {
    const part = runs.slice(start, starts[index + 1] ?? runs.length).filter((run) => !run.excluded);
    if (part.length === 0) return [];
    return [
      { from: part[0]!.time, until: part.at(-1)!.time, median: median(part.map((run) => run.value)) },
    ];
  });
}

interface SingleStep {
  from: number;
  until: number;
  ratio: number;
  place: string;
  driverBefore: string;
  driverAfter: string;
}

// Joins steps in the same direction whose times overlap or are within `tolerance`.
export function groupSteps(steps: SingleStep[], tolerance: number): StepGroup[] {
  const groups: SingleStep[][] = [];
  for (const step of [...steps].sort((a, b) => a.until - b.until)) {
    const group = groups.find(
      (one) =>
        (one[0]!.ratio < 1) === (step.ratio < 1) &&
        step.from <= Math.max(...one.map((other) => other.until)) + tolerance &&
        step.until - one[0]!.until <= tolerance + (one[0]!.until - one[0]!.from),
    );
    if (group) group.push(step);
    else groups.push([step]);
  }
  return groups.map((group) => ({
    // Places that were measured rarely do not widen the time in which most of them changed.
    from: median(group.map((step) => step.from)),
    until: median(group.map((step) => step.until)),
    ratio: median(group.map((step) => step.ratio)),
    places: group.map((step) => step.place),
    driverBefore: group[0]!.driverBefore,
    driverAfter: group[0]!.driverAfter,
  }));
}

// Joins events of the same kind and text that are within `tolerance`: a driver that was updated on
// many nodes is one event, at the earliest time.
export function groupEvents(events: HistoryEvent[], tolerance: number): HistoryEvent[] {
  const groups: (HistoryEvent & { last: number; count: number })[] = [];
  for (const event of [...events].sort((a, b) => a.time - b.time)) {
    const known = groups.find(
      (one) => one.kind === event.kind && one.text === event.text && event.time - one.last <= tolerance,
    );
    if (known) {
      known.last = event.time;
      known.count += 1;
    } else {
      groups.push({ ...event, last: event.time, count: 1 });
    }
  }
  return groups.map(({ time, kind, text }) => ({ time, kind, text }));
}

export function historyModel(
  histories: PlaceHistoryJson[],
  annotations: AnnotationJson[] = [],
  regressions: RegressionJson[] = [],
): HistoryModel {
  const identity = histories[0]?.case ?? {};
  const singles: SingleStep[] = [];
  const events: HistoryEvent[] = [];
  const places = histories.map((history): HistoryPlace => {
    const name = placeName(history.place);
    const runs = (history.points ?? []).map((point): HistoryRun => {
      const value = toNumber(point.median);
      const half = toNumber(point.uncertainty) * value;
      return {
        time: timeMillis(point.endTime) ?? NaN,
        value,
        low: value - half,
        high: value + half,
        driver: point.driverVersion ?? "",
        resultId: point.resultId ?? "",
        excluded: point.excluded ?? false,
      };
    });
    const steps = history.steps ?? [];
    for (const step of steps) {
      const first = step.firstPoint ?? 0;
      const after = runs[first]?.time ?? timeMillis(step.time);
      if (after === undefined) continue;
      singles.push({
        from: runs[first - 1]?.time ?? after,
        until: after,
        ratio: toNumber(step.ratio),
        place: name,
        driverBefore: step.driverBefore ?? "",
        driverAfter: step.driverAfter ?? "",
      });
    }
    runs.forEach((run, index) => {
      const before = runs[index - 1]?.driver;
      if (before && run.driver && before !== run.driver) {
        events.push({ time: run.time, kind: "driver", text: `driver ${before} → ${run.driver}` });
      }
    });
    return {
      name,
      runs: runs.filter((run) => Number.isFinite(run.time) && Number.isFinite(run.value)),
      segments: segmentsOf(
        runs,
        steps.map((step) => step.firstPoint ?? 0),
      ),
    };
  });
  const key = caseKey(identity);
  const mine = regressions.filter((one) => caseKey(one.case ?? {}) === key);
  for (const one of mine) {
    const time = timeMillis(one.step?.time);
    if (time === undefined || !one.agentVersionBefore || !one.agentVersionAfter) continue;
    if (one.agentVersionBefore !== one.agentVersionAfter) {
      const text = `agent ${one.agentVersionBefore} → ${one.agentVersionAfter}`;
      events.push({ time, kind: "agent", text });
    }
  }
  for (const note of annotations) {
    const time = timeMillis(note.time);
    if (time !== undefined) {
      const where = note.nodeName ? `${note.nodeName}: ` : "";
      events.push({ time, kind: "note", text: `${where}${note.text ?? ""}` });
    }
  }
  const reruns = mine.flatMap((one) =>
    (one.reruns ?? []).map((run) => ({
      time: timeMillis(run.endTime) ?? NaN,
      value: toNumber(run.median),
      peer: run.peer ?? false,
      place: placeName(run.place),
      resultId: run.resultId ?? "",
    })),
  );
  const times = places.flatMap((place) => place.runs.map((run) => run.time));
  const span = times.length ? Math.max(...times) - Math.min(...times) : 0;
  return {
    identity,
    places,
    steps: groupSteps(singles, span * 0.02),
    events: groupEvents(events, Math.max(span * 0.05, 86_400_000)),
    reruns: reruns.filter((run) => Number.isFinite(run.time) && Number.isFinite(run.value)),
  };
}

export function stepText(step: StepGroup): string {
  const where = step.places.length === 1 ? step.places[0]! : plural(step.places.length, "place");
  const driver =
    step.driverBefore !== step.driverAfter ? `, driver ${step.driverBefore} → ${step.driverAfter}` : "";
  const iso = (time: number) => localTime(new Date(time).toISOString()).slice(0, 16);
  return `${change(step.ratio)} at ${where} between ${iso(step.from)} and ${iso(step.until)}${driver}`;
}

export function historySummary(model: HistoryModel): string {
  const runs = model.places.reduce((sum, place) => sum + place.runs.length, 0);
  const steps = model.steps.map(stepText);
  return (
    `${plural(runs, "run")} at ${plural(model.places.length, "place")}. ` +
    (steps.length ? `Steps: ${steps.join("; ")}.` : "No step was found.")
  );
}

const EVENT_COLORS: Record<EventKind, string> = { driver: ACCENT, agent: ACCENT, note: MUTED };

export function drawHistory(model: HistoryModel, width: number, links = true): Drawing {
  const eventRows = model.events.length ? 2 : 0;
  const margins = { top: 28 + (eventRows ? 46 : 0), right: 18, bottom: 42, left: 58 };
  const height = heightFor(width, 0.42) + (eventRows ? 40 : 0);
  const left = margins.left;
  const right = width - margins.right;
  const bottom = height - margins.bottom;

  const everyRun = model.places.flatMap((place) => place.runs);
  const highest = Math.max(0, ...everyRun.map((run) => Math.abs(run.value)));
  const { unit, factor } = displayUnit(highest, model.identity.unit ?? "");
  const points = model.places.flatMap((place, index) =>
    place.runs.map((run) => ({
      ...run,
      value: run.value * factor,
      low: run.low * factor,
      high: run.high * factor,
      place: place.name,
      color: index < SERIES_COUNT ? seriesColor(index) : MUTED,
      shape: seriesShape(index),
    })),
  );
  const { points: shown, hidden } = thin(
    points,
    (run) => run.time,
    (run) => run.value,
    (run) => run.place,
  );
  const reruns = model.reruns.map((run) => ({ ...run, value: run.value * factor }));
  const times = [
    ...points.map((run) => run.time),
    ...model.events.map((event) => event.time),
    ...reruns.map((run) => run.time),
  ];
  const x = timeAxis(timeDomain(times), right - left);
  const values = [...points, ...reruns].map((run) => run.value);
  const y = linearAxis(linearDomain(values, 0.12), bottom - margins.top, { vertical: true });
  const xScale = { type: "linear" as const, domain: x.domain };
  const px = position(xScale, left, right);
  const py = position(y, bottom, margins.top);

  // Places without a colour of their own are drawn below the others.
  const segments = model.places
    .flatMap((place, index) =>
      place.segments.map((segment) => ({
        ...segment,
        median: segment.median * factor,
        color: index < SERIES_COUNT ? seriesColor(index) : MUTED,
        opacity: index < SERIES_COUNT ? 0.85 : 0.25,
      })),
    )
    .reverse();
  const whiskers = shown.length <= 400 ? shown.filter((run) => Number.isFinite(run.low)) : [];
  const stepLabels = placeLabels(
    [...model.steps]
      .sort((a, b) => b.places.length - a.places.length || a.ratio - b.ratio)
      .map((step) => ({
        text: step.places.length > 1 ? `${change(step.ratio)} (${step.places.length})` : change(step.ratio),
        x: (px(step.from) + px(step.until)) / 2,
        y: margins.top + 9,
        anchor: "middle" as const,
        tries: [0, 16, 32, 48].flatMap((dy): [number, number][] => [
          [0, dy],
          [-36, dy],
          [36, dy],
        ]),
        bad: step.ratio < 1,
      })),
    { x: left, y: margins.top - 2, width: right - left, height: bottom - margins.top },
  );
  const eventLabels = placeLabels(
    model.events.map((event) => {
      const label = fitText(event.text, width * 0.48);
      return {
        event,
        text: label,
        x: px(event.time),
        y: 50,
        anchor: "middle" as const,
        // Two rows above the frame, and to the left or right where the frame ends.
        tries: [0, -18].flatMap((dy): [number, number][] => {
          const half = textWidth(label) / 2;
          return [
            [0, dy],
            [-half, dy],
            [half, dy],
          ];
        }),
      };
    }),
    { x: 2, y: 20, width: width - 4, height: margins.top - 26 },
  );
  const area = { x: { ...x, type: "linear" as const }, y, left, right, top: margins.top, bottom };
  const dense = shown.length > 300;
  const used = shown.filter((run) => !run.excluded);
  const svg = drawFrame({
    width,
    height,
    margins,
    x: { ...x, type: "linear" },
    y,
    xLabel: "time (local)",
    yLabel: axisTitle(model.identity.metric ?? "", unit),
    marks: [
      rect(
        model.steps.map((step) => ({
          ...step,
          // At least 2 pixels wide.
          x1: step.from,
          x2: Math.max(step.until, step.from + (2 * (x.domain[1] - x.domain[0])) / (right - left)),
        })),
        {
          x1: "x1",
          x2: "x2",
          y1: y.domain[0],
          y2: y.domain[1],
          fill: (step: StepGroup) => (step.ratio < 1 ? BAD : GOOD),
          fillOpacity: 0.16,
        },
      ),
      ruleX(model.events, {
        x: "time",
        stroke: (event: HistoryEvent) => EVENT_COLORS[event.kind],
        strokeDasharray: "4,3",
      }),
      ruleX(whiskers, {
        x: "time",
        y1: "low",
        y2: "high",
        stroke: (run: { color: string }) => run.color,
        strokeOpacity: 0.45,
      }),
      ...model.places.slice(0, 12).map((place, index) =>
        dense
          ? null
          : line(
              place.runs.map((run) => ({ time: run.time, value: run.value * factor })),
              {
                x: "time",
                y: "value",
                stroke: index < SERIES_COUNT ? seriesColor(index) : MUTED,
                strokeOpacity: 0.25,
              },
            ),
      ),
      link(segments, {
        x1: "from",
        x2: "until",
        y: "median",
        stroke: (segment: { color: string }) => segment.color,
        strokeWidth: 2.5,
        strokeOpacity: (segment: { opacity: number }) => segment.opacity,
      }),
      dense
        ? pathMark(used, (run) => run.color, (run) => circlePath(px(run.time), py(run.value), 2), 0.7)
        : dot(used, {
            x: "time",
            y: "value",
            r: 3.5,
            symbol: (run: { shape: "circle" | "square" | "triangle" | "diamond" }) => symbolOf(run.shape),
            fill: (run: { color: string }) => run.color,
            fillOpacity: 0.9,
            stroke: HALO,
            strokeWidth: 1,
          }),
      dot(
        shown.filter((run) => run.excluded),
        { x: "time", y: "value", r: 3, symbol: "times", stroke: MUTED, strokeWidth: 1.5 },
      ),
      dot(reruns, {
        x: "time",
        y: "value",
        r: 5,
        fill: "none",
        stroke: (run: Rerun) => (run.peer ? MUTED : ACCENT),
        strokeWidth: 2,
      }),
      ...textMarks(
        stepLabels.filter((label) => label.bad),
        area,
        BAD,
      ),
      ...textMarks(
        stepLabels.filter((label) => !label.bad),
        area,
        GOOD,
      ),
      ...textMarks(eventLabels, area, MUTED),
    ],
  });

  const legend: LegendItem[] = model.places.length > 1 || model.places[0]?.name
    ? model.places.slice(0, SERIES_COUNT).map((place, index) => ({
        shape: dense ? ("circle" as const) : seriesShape(index),
        color: seriesColor(index),
        text: place.name,
      }))
    : [];
  if (model.places.length > SERIES_COUNT) {
    legend.push({ shape: "circle", color: MUTED, text: `${model.places.length - SERIES_COUNT} more places` });
  }
  if (model.steps.some((step) => step.ratio < 1)) {
    legend.push({ shape: "band", color: BAD, text: "became slower within this time" });
  }
  if (model.steps.some((step) => step.ratio >= 1)) {
    legend.push({ shape: "band", color: GOOD, text: "became faster within this time" });
  }
  if (reruns.some((run) => !run.peer)) legend.push({ shape: "ring", color: ACCENT, text: "rerun to confirm" });
  if (reruns.some((run) => run.peer)) legend.push({ shape: "ring", color: MUTED, text: "rerun of a peer" });
  if (shown.some((run) => run.excluded)) {
    legend.push({ shape: "cross", color: MUTED, text: "not used: output not verified" });
  }
  const notes: string[] = [];
  if (eventLabels.length < model.events.length) {
    const labelled = new Set(eventLabels.map((label) => label.event));
    const rest = model.events.filter((event) => !labelled.has(event));
    notes.push(`Also: ${rest.slice(0, 5).map((event) => event.text).join("; ")}.`);
  }
  if (hidden) notes.push(`${hidden} of ${points.length} runs lie between those that are drawn.`);
  const local = (time: number) => localTime(new Date(time).toISOString()).slice(0, 16);
  return {
    svg,
    legend,
    notes,
    marks: [
      ...shown.map((run) => ({
        x: px(run.time),
        y: py(run.value),
        text: [
          run.place,
          `${quantity(run.value, unit)}${Number.isFinite(run.low) ? ` ±${((100 * (run.high - run.value)) / run.value).toFixed(2)}%` : ""}`,
          `${local(run.time)}${run.driver ? `, driver ${run.driver}` : ""}`,
          run.excluded ? "not used by analyses: output not verified" : "",
        ]
          .filter(Boolean)
          .join("\n"),
        ...(links && run.resultId ? { href: to("result", run.resultId) } : {}),
      })),
      ...reruns.map((run) => ({
        x: px(run.time),
        y: py(run.value),
        text: `${run.peer ? "rerun of a peer" : "rerun"} at ${run.place}\n${quantity(run.value, unit)}\n${local(run.time)}`,
        ...(links && run.resultId ? { href: to("result", run.resultId) } : {}),
      })),
      ...model.steps.map((step) => ({
        x: (px(step.from) + px(step.until)) / 2,
        y: margins.top + 9,
        text: stepText(step),
      })),
      ...model.events.map((event) => ({
        x: px(event.time),
        y: margins.top - 6,
        text: `${event.text}\n${local(event.time)}`,
      })),
    ],
  };
}
