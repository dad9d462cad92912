import assert from "node:assert/strict";
import { test } from "node:test";
import { boxSummary, median, quantile, spread, thin } from "../src/figures/bins";
import { Columns, displayUnit, selectRows } from "../src/figures/columns";
import { badLinesOf, cividis, commonPrefix, heatModel, heatSummary, thinNames } from "../src/figures/heatmap";
import { groupEvents, groupSteps, historyCases, historyModel, segmentsOf } from "../src/figures/history";
import { fitValue, linesModel } from "../src/figures/lines";
import { nearest, nextMark } from "../src/figures/mount";
import { caseNames, parametersName, placeName, placeNoun, shorten } from "../src/figures/names";
import { familiesOf, familyOf, groupsModel, independent, linesOf, xParameter } from "../src/figures/results";
import { rooflineModel } from "../src/figures/roofline";
import { forestDomain, forestModel, needText, thinValues } from "../src/figures/rows";
import {
  extent,
  inverse,
  labelBox,
  linearAxis,
  linearDomain,
  logAxis,
  overlaps,
  placeLabels,
  position,
  textWidth,
  timeAxis,
} from "../src/figures/scales";

const WIDTHS = [200, 320, 480, 900, 1800, 2500];

// Whether neighbouring labels of a horizontal axis overlap.
function labelsOverlap(axis: ReturnType<typeof linearAxis>, pixels: number): boolean {
  const at = position({ ...axis, type: axis.type === "log" ? "log" : "linear" }, 0, pixels);
  let end = -Infinity;
  for (const tick of axis.ticks) {
    const half = textWidth(tick.label) / 2;
    if (at(tick.value) - half < end) return true;
    end = at(tick.value) + half;
  }
  return false;
}

test("linear ticks cover the domain and do not overlap", () => {
  for (const pixels of WIDTHS) {
    for (const domain of [[0, 1], [0.001, 0.0021], [-4, 9], [0, 123456], [731, 733], [-4.5, 4.5]] as [number, number][]) {
      const axis = linearAxis(domain, pixels);
      assert.ok(axis.ticks.length >= 2, `${domain} ${pixels}`);
      assert.equal(labelsOverlap(axis, pixels), false, `${domain} ${pixels}`);
      for (const tick of axis.ticks) assert.ok(tick.value >= domain[0] - 1e-9 && tick.value <= domain[1] + 1e-9);
    }
  }
});

test("logarithmic ticks do not overlap and are powers of the base", () => {
  for (const pixels of WIDTHS) {
    const bytes = logAxis([8192, 2 ** 33], pixels, (value) => `${value} bytes`, { base: 2 });
    assert.ok(bytes.ticks.length >= 1);
    assert.equal(labelsOverlap(bytes, pixels), false);
    for (const tick of bytes.ticks) assert.ok(Number.isInteger(Math.log2(tick.value)));
    const decades = logAxis([0.03, 40_000], pixels, (value) => String(value));
    assert.equal(labelsOverlap(decades, pixels), false);
  }
});

test("time ticks begin at local midnights and do not overlap", () => {
  const day = 86_400_000;
  const start = Date.UTC(2026, 9, 17, 5, 34, 31);
  for (const pixels of WIDTHS) {
    for (const days of [0.0002, 0.01, 0.5, 3, 41, 400, 3000]) {
      const axis = timeAxis([start, start + days * day], pixels);
      assert.ok(axis.ticks.length >= 1, `${days} days on ${pixels}`);
      assert.equal(labelsOverlap(axis, pixels), false, `${days} days on ${pixels}`);
      if (days > 3) for (const tick of axis.ticks) assert.equal(new Date(tick.value).getHours(), 0);
    }
  }
});

test("position and its inverse agree", () => {
  for (const axis of [
    { type: "log" as const, domain: [1, 1000] as [number, number] },
    { type: "linear" as const, domain: [-5, 5] as [number, number] },
  ]) {
    const value = axis.type === "log" ? 31 : 2;
    const pixel = position(axis, 40, 400)(value);
    assert.ok(Math.abs(inverse(axis, 40, 400)(pixel) - value) < 1e-9);
  }
});

test("domains begin at 0 only if the values spread that far", () => {
  assert.equal(linearDomain([10, 400])[0], 0);
  assert.ok(linearDomain([731, 745])[0] > 700);
  const [low, high] = linearDomain([5, 5]);
  assert.ok(low < 5 && high > 5);
  assert.equal(extent([NaN, Infinity]), undefined);
});

test("placed labels do not overlap, and earlier ones have priority", () => {
  const bounds = { x: 0, y: 0, width: 300, height: 100 };
  const label = (text: string) => ({
    text,
    x: 100,
    y: 50,
    anchor: "middle" as const,
    tries: [[0, 0], [0, 20], [0, -20]] as [number, number][],
  });
  const placed = placeLabels([label("first"), label("second"), label("third"), label("fourth")], bounds);
  assert.deepEqual(
    placed.map((one) => [one.text, one.y]),
    [["first", 50], ["second", 70], ["third", 30]],
  );
  for (const a of placed) for (const b of placed) if (a !== b) assert.equal(overlaps(labelBox(a), labelBox(b)), false);
  assert.deepEqual(placeLabels([{ text: "outside", x: 0, y: 50, anchor: "end" }], bounds), []);
});

test("thinning keeps extremes of each group and is the same each time", () => {
  const points = Array.from({ length: 5000 }, (_, index) => ({
    x: index,
    y: Math.sin(index) + (index === 1234 ? 50 : 0) - (index === 4321 ? 50 : 0),
    group: index % 2 ? "a" : "b",
  }));
  const run = () => thin(points, (p) => p.x, (p) => p.y, (p) => p.group);
  const { points: kept, hidden } = run();
  assert.ok(kept.length <= 2000);
  assert.equal(kept.length + hidden, 5000);
  assert.ok(kept.includes(points[1234]!));
  assert.ok(kept.includes(points[4321]!));
  assert.deepEqual(run().points, kept);
  assert.deepEqual([...kept].sort((a, b) => a.x - b.x), kept);
  assert.equal(thin(points.slice(0, 2000), (p) => p.x, (p) => p.y, () => "").hidden, 0);
});

test("quantiles interpolate and boxes end at values", () => {
  assert.equal(quantile([1, 2, 3, 4], 0.5), 2.5);
  assert.equal(median([3, NaN, 1]), 2);
  const box = boxSummary([1, 2, 3, 4, 5, 6, 7, 8, 100])!;
  assert.equal(box.median, 5);
  assert.equal(box.high, 8);
  assert.equal(box.count, 9);
  assert.equal(boxSummary([NaN]), undefined);
  assert.equal(new Set(Array.from({ length: 50 }, (_, index) => spread(index))).size, 50);
});

test("thinned strips keep both extremes", () => {
  const points = Array.from({ length: 1000 }, (_, index) => ({ value: (index * 7919) % 1000 }));
  const kept = thinValues(points, 40);
  assert.equal(kept.length, 40);
  const values = kept.map((point) => point.value);
  assert.equal(Math.min(...values), 0);
  assert.equal(Math.max(...values), 999);
});

const TABLE = {
  rowCount: 3,
  columns: [
    { field: "node", texts: ["a", "b"], indices: [0, 1, -1] },
    { field: "median", numbers: [1, "NaN" as const, 3] },
    { field: "parameters.bytes", texts: ["1024", "2048"], indices: [0, 1, 1] },
  ],
};

test("columns tell absent values from others", () => {
  const table = new Columns(TABLE);
  assert.equal(table.text("node", 1), "b");
  assert.equal(table.text("node", 2), "");
  assert.ok(Number.isNaN(table.number("median", 1)));
  assert.equal(table.number("parameters.bytes", 1), 2048);
  assert.equal(table.has("driver"), false);
  assert.ok(Number.isNaN(table.number("driver", 0)));
});

test("selected rows keep their columns", () => {
  const table = new Columns(selectRows(TABLE, (row) => row !== 1));
  assert.equal(table.rowCount, 2);
  assert.equal(table.number("median", 1), 3);
  assert.equal(table.text("parameters.bytes", 1), "2048");
});

test("figures show units with a prefix that suits the largest value", () => {
  assert.deepEqual(displayUnit(2e-5, "s"), { unit: "us", factor: 1e6 });
  assert.deepEqual(displayUnit(450, "GB/s"), { unit: "GB/s", factor: 1 });
  const large = displayUnit(12_000, "GB/s");
  assert.equal(large.unit, "TB/s");
  assert.ok(Math.abs(large.factor - 1e-3) < 1e-12);
  assert.deepEqual(displayUnit(5, "retransmits"), { unit: "retransmits", factor: 1 });
});

const hardware = (gpuCount: number) => ({ gpuModel: "H200", gpuFormFactor: "SXM", gpuCount });

test("case names have only what differs", () => {
  const cases = ["4096", "8192"].map((m) => ({
    benchmark: "gemm",
    parameters: { m, n: m, k: m, dtype: "bf16" },
    metric: "tflops",
    hardware: hardware(1),
  }));
  const name = caseNames(cases);
  assert.equal(name(cases[1]!), "gemm m=n=k=8192");
  assert.equal(caseNames([cases[0]!])(cases[0]!), "gemm m=n=k=4096 dtype=bf16");
  assert.equal(parametersName({ bytes: "1048576", ranks: "8", nodes: "8" }), "bytes=1MiB nodes=8 ranks=8");
});

test("places have names", () => {
  assert.equal(placeName({ nodeNames: ["g1"], gpuUuids: ["GPU-1"], gpuIndices: [3] }), "GPU 3 of g1");
  assert.equal(placeName({ nodeNames: ["g1"], gpuUuids: ["GPU-5d81be3d-11"] }), "GPU-5d81be3d of g1");
  assert.equal(placeName({ nodeNames: ["g1", "g1"], gpuUuids: ["a", "b"] }), "g1 (2 GPUs)");
  assert.equal(placeName({ nodeNames: ["a", "b", "c", "d"], gpuUuids: Array(32).fill("x") }), "a +3 (32 GPUs)");
  assert.equal(placeName(undefined), "unknown place");
  assert.equal(placeNoun([{ hardware: hardware(1) }]), "GPU");
  assert.equal(placeNoun([{ hardware: hardware(0) }]), "node");
  assert.equal(placeNoun([{ hardware: hardware(1) }, { hardware: hardware(8) }]), "place");
  assert.equal(shorten("gpu-node-0001", 7), "gpu…001");
});

test("a roofline has ridges where compute meets memory", () => {
  const model = rooflineModel({
    gpuModel: "H200",
    gpuFormFactor: "SXM",
    roofs: [
      { name: "HBM", isBandwidth: true, basis: "sheet", value: 4.8e12 },
      { name: "HBM", isBandwidth: true, basis: "measured", value: 4.4e12 },
      { name: "bf16", basis: "sheet", value: 989.5e12 },
      { name: "fp16", basis: "sheet", value: 989.5e12 },
      { name: "bf16", basis: "measured", value: 780e12 },
      { name: "fp64", basis: "sheet", value: 67e12 },
    ],
    points: [
      { computeRoof: "bf16", benchmark: "gemm", arithmeticIntensity: 2730, flopsPerSecond: 7e14, regime: "compute" },
      { computeRoof: "fp16", benchmark: "gemm", arithmeticIntensity: 2730, flopsPerSecond: 7e14, regime: "compute" },
      { computeRoof: "", benchmark: "copy", arithmeticIntensity: 0, flopsPerSecond: 0 },
    ],
  });
  assert.equal(model.gpu, "H200 SXM");
  assert.equal(model.dots.length, 2);
  const sheet = model.ridges.find((ridge) => ridge.basis === "sheet")!;
  assert.ok(Math.abs(sheet.x - 989.5 / 4.8) < 0.1);
  const measured = model.ridges.find((ridge) => ridge.basis === "measured")!;
  assert.ok(Math.abs(measured.x - 780 / 4.4) < 0.1);
  // Equal limits are one line, and limits that no point uses are left out.
  const compute = model.lines.filter((line) => !line.isBandwidth);
  assert.deepEqual(
    compute.map((line) => [line.name, line.basis]),
    [["bf16, fp16", "sheet"], ["bf16", "measured"]],
  );
  for (const line of model.lines) {
    assert.ok(line.x1 >= model.x[0] && line.x2 <= model.x[1]);
    if (line.isBandwidth) assert.ok(Math.abs(line.y2 / line.x2 / line.value - 1) < 1e-9);
  }
  assert.equal(rooflineModel({ roofs: [], points: [] }).lines.length, 0);
});

const LATENCY = 20e-6;
const BANDWIDTH = 300e9;

function sweep() {
  return Array.from({ length: 16 }, (_, index) => {
    const bytes = 2 ** (14 + index);
    return {
      series: "H200",
      x: bytes,
      value: (1.75 * bytes) / (LATENCY + bytes / BANDWIDTH) / 1e9,
      fit: { latencySeconds: LATENCY, bandwidth: BANDWIDTH, error: 0.1, sizes: 15 },
    };
  });
}

test("a line has the median and the range of each size", () => {
  const samples = [
    { series: "a", x: 2, value: 10 },
    { series: "a", x: 1, value: 5 },
    { series: "a", x: 2, value: 30 },
    { series: "a", x: 2, value: 12 },
    { series: "a", x: NaN, value: 12 },
  ];
  const model = linesModel(samples, { parameter: "m", metric: "tflops", unit: "TFLOP/s" });
  assert.deepEqual(
    model.series[0]!.points.map(({ x, median: middle, low, high, count }) => [x, middle, low, high, count]),
    [[1, 5, 5, 5, 1], [2, 12, 10, 30, 3]],
  );
  assert.equal(model.series[0]!.fit, undefined);
});

test("the fitted curve goes through the points, and its knee is latency times bandwidth", () => {
  const samples = sweep();
  const model = linesModel(samples, { parameter: "bytes", metric: "bus_bandwidth", unit: "GB/s" });
  const fit = model.series[0]!.fit!;
  assert.ok(Math.abs(fit.kneeBytes - LATENCY * BANDWIDTH) < 1);
  for (const sample of samples) assert.ok(Math.abs(fitValue(fit, sample.x) / sample.value - 1) < 1e-9);
  // At the knee, half of the highest bandwidth is reached.
  assert.ok(Math.abs(fitValue(fit, fit.kneeBytes) / fitValue(fit, 1e15) - 0.5) < 1e-3);
});

test("more than eight lines are left to the table", () => {
  const samples = Array.from({ length: 10 }, (_, index) => ({ series: `s${index}`, x: 1, value: 1 }));
  const model = linesModel(samples, { parameter: "m", metric: "t", unit: "s" });
  assert.equal(model.series.length, 8);
  assert.deepEqual(model.left, ["s8", "s9"]);
});

function resultGroup(benchmark: string, parameters: Record<string, string>, resultCount: number) {
  return {
    resultCount,
    best: { caseResult: { benchmark, parameters, measurements: [{ metric: "bus_bandwidth", unit: "GB/s" }] } },
  };
}

test("the x axis is the number with most values", () => {
  const groups = [1, 2, 4, 8, 16].map((mib) =>
    resultGroup("all_reduce", { bytes: String(mib * 2 ** 20), ranks: String((mib % 2) + 2), dtype: "fp32" }, 3),
  );
  const families = familiesOf([...groups, resultGroup("broadcast", { bytes: "1" }, 2)]);
  assert.deepEqual(
    families.map((family) => [family.benchmark, family.resultCount]),
    [["all_reduce", 15], ["broadcast", 2]],
  );
  assert.equal(xParameter(families[0]!), "bytes");
  assert.equal(xParameter(families[1]!), "");
});

test("parameters that follow from others make no groups", () => {
  const texts = ["1024", "2048", "4096", "8192"];
  const response = {
    rowCount: 8,
    columns: [
      { field: "benchmark", texts: ["gemm"], indices: Array(8).fill(0) },
      { field: "metric", texts: ["tflops"], indices: Array(8).fill(0) },
      { field: "unit", texts: ["TFLOP/s"], indices: Array(8).fill(0) },
      { field: "parameters.m", texts, indices: [0, 1, 2, 3, 0, 1, 2, 3] },
      { field: "parameters.n", texts, indices: [0, 1, 2, 3, 0, 1, 2, 3] },
      { field: "parameters.dtype", texts: ["bf16", "fp8"], indices: [0, 0, 0, 0, 1, 1, 1, 1] },
      { field: "gpu.model", texts: ["H200"], indices: Array(8).fill(0) },
      { field: "median", numbers: [1, 2, 3, 4, 5, 6, 7, "NaN" as const] },
    ],
  };
  assert.deepEqual(independent(new Columns(response), ["m", "n", "dtype"], "m"), ["dtype"]);
  const family = familyOf(response);
  assert.deepEqual([...family.varying.keys()], ["m", "n", "dtype"]);
  const lines = linesOf(response, family, "m", ["gpu.model"]);
  assert.deepEqual(
    lines.series.map((one) => [one.name, one.points.length]),
    [["dtype=bf16", 4], ["dtype=fp8", 3]],
  );
  const groups = groupsModel(response, family, ["gpu.model"]);
  assert.equal(groups.groups.length, 7);
});

const comparison = (ratio: number, half: number | undefined, verdict: string, more = {}) => ({
  case: { benchmark: `b${ratio}`, metric: "tflops", unit: "TFLOP/s", hardware: hardware(1) },
  ratio,
  ...(half === undefined ? {} : { ratioLow: ratio - half, ratioHigh: ratio + half }),
  verdict: `COMPARISON_VERDICT_${verdict}` as "COMPARISON_VERDICT_REGRESSED",
  commonPlaces: 8,
  ...more,
});

test("a forest plot says what each case needs", () => {
  const inconclusive = comparison(0.98, 0.05, "INCONCLUSIVE", {
    missing: "MISSING_EVIDENCE_PLACES",
    missingCount: 3,
  });
  assert.equal(needText(inconclusive, "GPU"), "needs about 3 more GPUs");
  assert.equal(
    needText(comparison(1, 0.1, "INCONCLUSIVE", { missing: "MISSING_EVIDENCE_RUNS" }), "GPU"),
    "needs more runs per GPU",
  );
  assert.equal(needText(comparison(0.9, 0.01, "REGRESSED"), "GPU"), "");
  const model = forestModel([comparison(0.9, 0.01, "REGRESSED"), comparison(1, undefined, "INCONCLUSIVE")], {
    a: "driver 580",
    b: "driver 590",
  });
  assert.equal(model.rows[0]!.verdict, "regressed");
  assert.ok(Math.abs(model.rows[0]!.change + 10) < 1e-9);
  assert.equal(model.rows[0]!.places, "8 GPUs");
  assert.ok(Number.isNaN(model.rows[1]!.low));
  assert.equal(model.rows[1]!.interval, "");
});

test("one very wide interval does not hide the others", () => {
  const cases = Array.from({ length: 20 }, (_, index) => comparison(0.95 + index * 0.002, 0.003, "EQUIVALENT"));
  const model = forestModel([...cases, comparison(1, 0.9, "INCONCLUSIVE")], { a: "", b: "" });
  const [low, high] = forestDomain(model);
  assert.ok(low > -20 && high < 20, `${low} ${high}`);
  assert.ok(low < -5 && high > 2);
});

const run = (day: number, value: number, excluded = false) => ({
  time: day,
  value,
  low: value,
  high: value,
  driver: "580",
  resultId: String(day),
  excluded,
});

test("segments are between steps and leave out unused runs", () => {
  const runs = [run(0, 10), run(1, 12), run(2, 99, true), run(3, 20), run(4, 22)];
  assert.deepEqual(segmentsOf(runs, [3]), [
    { from: 0, until: 1, median: 11 },
    { from: 3, until: 4, median: 21 },
  ]);
  assert.deepEqual(segmentsOf([], [1]), []);
});

test("steps of many places at one time are one", () => {
  const step = (from: number, until: number, ratio: number, place: string) => ({
    from,
    until,
    ratio,
    place,
    driverBefore: "580",
    driverAfter: "590",
  });
  const groups = groupSteps(
    [step(10, 12, 0.95, "a"), step(10.1, 12.1, 0.94, "b"), step(10, 12, 1.1, "c"), step(40, 42, 0.9, "d")],
    1,
  );
  assert.deepEqual(
    groups.map((group) => group.places),
    [["a", "b"], ["c"], ["d"]],
  );
  assert.ok(Math.abs(groups[0]!.ratio - 0.945) < 1e-9);
});

test("a driver that was updated on many nodes is one event", () => {
  const event = (time: number) => ({ time, kind: "driver" as const, text: "driver 580 → 590" });
  assert.equal(groupEvents([event(1), event(2), event(3), event(50)], 5).length, 2);
});

test("a history has its cases, events and reruns", () => {
  const identity = { benchmark: "gemm", metric: "tflops", unit: "TFLOP/s", hardware: hardware(1) };
  const place = { nodeNames: ["g1"], gpuUuids: ["GPU-1"], gpuIndices: [0] };
  const point = (day: number, median: number, driverVersion: string) => ({
    endTime: `2026-11-0${day}T00:00:00Z`,
    median,
    uncertainty: 0.01,
    driverVersion,
  });
  const history = {
    case: identity,
    place,
    points: [point(1, 700, "580"), point(2, 702, "580"), point(3, 650, "590")],
    steps: [{ firstPoint: 2, time: "2026-11-03T00:00:00Z", ratio: 0.927, driverBefore: "580", driverAfter: "590" }],
  };
  const other = { ...history, case: { ...identity, benchmark: "saxpy" } };
  assert.deepEqual(
    historyCases([history, other, history]).map((places) => places.length),
    [2, 1],
  );
  const model = historyModel(
    [history],
    [{ time: "2026-11-02T12:00:00Z", text: "moved", nodeName: "g1" }],
    [{ case: identity, reruns: [{ endTime: "2026-11-04T00:00:00Z", median: 651, place }] }],
  );
  assert.equal(model.steps.length, 1);
  assert.equal(model.steps[0]!.from, Date.parse("2026-11-02T00:00:00Z"));
  assert.deepEqual(
    model.events.map((event) => [event.kind, event.text]),
    [["note", "g1: moved"], ["driver", "driver 580 → 590"]],
  );
  assert.equal(model.reruns.length, 1);
  assert.equal(model.places[0]!.segments.length, 2);
  assert.ok(Math.abs(model.places[0]!.runs[0]!.low - 693) < 1e-9);
});

test("a heat map of pairs without directions is symmetric", () => {
  const ends = ["gpu-node-0001", "gpu-node-0002", "gpu-node-0003"];
  const cells = [
    { from: 0, to: 1, value: 20, verdict: "PAIR_CELL_VERDICT_OK" as const },
    { from: 0, to: 2, value: 5, expected: 20, verdict: "PAIR_CELL_VERDICT_BAD_LINK" as const },
    { from: 1, to: 2, verdict: "PAIR_CELL_VERDICT_FAILED" as const },
  ];
  const model = heatModel({ ends }, { benchmark: "tcp", metric: "bandwidth", unit: "GB/s", cells });
  assert.equal(model.cells.length, 6);
  assert.deepEqual(model.short, ["0001", "0002", "0003"]);
  assert.equal(model.cells.filter((cell) => cell.state === "bad link").length, 2);
  assert.equal(model.cells.find((cell) => cell.state === "failed")!.value, undefined);
  assert.match(heatSummary(model), /^3 nodes, 2 measurements from 5.000 GB\/s to 20.00 GB\/s; 1 bad link, 1 failed/);
  const directed = heatModel({ ends }, { directed: true, cells });
  assert.equal(directed.cells.length, 3);
});

test("a bad node is one row and one column", () => {
  const ends = ["a", "b", "c", "d"];
  const cells = ends.flatMap((_, from) =>
    ends.flatMap((__, to) =>
      from === to
        ? []
        : [
            {
              from,
              to,
              value: 1,
              verdict: (from === 1 || to === 1
                ? "PAIR_CELL_VERDICT_BAD_END"
                : "PAIR_CELL_VERDICT_OK") as "PAIR_CELL_VERDICT_OK",
            },
          ],
    ),
  );
  const lines = badLinesOf(heatModel({ ends }, { directed: true, cells }));
  assert.deepEqual(lines, { rows: [1], columns: [1], others: [] });
});

test("names of ends lose what they have in common", () => {
  assert.equal(commonPrefix(["gpu-node-0001", "gpu-node-0012"]), "gpu-node-");
  assert.equal(commonPrefix(["n GPU 0", "n GPU 1"]), "n GPU ");
  assert.equal(commonPrefix(["a", "b"]), "");
  assert.equal(commonPrefix(["only"]), "");
  const shown = thinNames(Array(64).fill("0001"), 320, () => 34);
  assert.equal(shown[0], true);
  assert.ok((shown.indexOf(true, 1) * 320) / 64 >= 34);
});

test("cividis goes from dark to bright", () => {
  const brightness = (part: number) =>
    (cividis(part).match(/\d+/g) ?? []).reduce((sum, channel) => sum + Number(channel), 0);
  let last = -1;
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    assert.ok(brightness(part) > last);
    last = brightness(part);
  }
  assert.equal(cividis(-1), cividis(0));
});

test("arrow keys select the next point in their direction", () => {
  const marks = [
    { x: 0, y: 0, text: "a" },
    { x: 10, y: 1, text: "b" },
    { x: 20, y: 0, text: "c" },
    { x: 10, y: 40, text: "d" },
  ];
  assert.equal(nextMark(marks, -1, "ArrowRight"), 0);
  assert.equal(nextMark(marks, 0, "ArrowRight"), 1);
  assert.equal(nextMark(marks, 1, "ArrowRight"), 2);
  assert.equal(nextMark(marks, 2, "ArrowRight"), 2);
  assert.equal(nextMark(marks, 1, "ArrowDown"), 3);
  assert.equal(nextMark([], -1, "ArrowDown"), -1);
  assert.equal(nearest(marks, 11, 2), 1);
  assert.equal(nearest(marks, 200, 200), -1);
});
