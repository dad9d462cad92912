import assert from "node:assert/strict";
import { test } from "node:test";
import type { FleetGpuJson, FleetNodeJson } from "proto/node_service_pb";
import {
  applyMessage,
  colouring,
  conditionLabel,
  conditionOf,
  cordonLabel,
  gpusText,
  groupNodes,
  interpolate,
  matchesOnly,
  ramp,
  squareAt,
  squares,
  squareSize,
} from "../src/fleet";

const NONE: ReadonlyMap<string, number> = new Map();

function gpu(index: number, more: Partial<FleetGpuJson> = {}): FleetGpuJson {
  return { index, uuid: `GPU-${index}`, model: "H200", formFactor: "SXM", ...more };
}

function node(id: string, more: Partial<FleetNodeJson> = {}): FleetNodeJson {
  return {
    nodeId: id,
    name: id,
    state: "NODE_STATE_CONNECTED",
    gpus: [gpu(0), gpu(1)],
    driverVersion: "580.95.05",
    ...more,
  };
}

test("the first message replaces what an earlier stream had sent", () => {
  const old = applyMessage(undefined, { nodes: [node("a"), node("b")] });
  const fleet = applyMessage(undefined, { nodes: [node("b")], summary: { nodeCount: 1 } });
  assert.deepEqual([...old.nodes.keys()], ["a", "b"]);
  assert.deepEqual([...fleet.nodes.keys()], ["b"]);
});

test("later messages change and remove nodes, and keep the others", () => {
  const first = applyMessage(undefined, {
    nodes: [node("a"), node("b"), node("c")],
    summary: { nodeCount: 3 },
  });
  const second = applyMessage(first, {
    nodes: [node("b", { state: "NODE_STATE_DISCONNECTED" })],
    removedNodeIds: ["c"],
  });
  assert.deepEqual([...second.nodes.keys()], ["a", "b"]);
  assert.equal(second.nodes.get("b")!.state, "NODE_STATE_DISCONNECTED");
  assert.equal(second.nodes.get("a"), first.nodes.get("a"));
  assert.equal(second.summary!.nodeCount, 3);
  // What was handed out before does not change.
  assert.equal(first.nodes.size, 3);
});

test("a message without nodes keeps the map of nodes", () => {
  const first = applyMessage(undefined, { nodes: [node("a")] });
  const second = applyMessage(first, { summary: { nodeCount: 1 } });
  assert.equal(second.nodes, first.nodes);
  assert.equal(second.summary!.nodeCount, 1);
});

test("a page that is open for a day keeps as many nodes as there are", () => {
  // A message every 5 s, and a rented node that is replaced by another one every minute.
  let fleet = applyMessage(undefined, { nodes: [node("a"), node("rented-0")] });
  for (let i = 1; i <= 17_280; i += 1) {
    const replaced = i % 12 === 0;
    fleet = applyMessage(fleet, {
      nodes: [node(replaced ? `rented-${i / 12}` : "a")],
      removedNodeIds: replaced ? [`rented-${i / 12 - 1}`] : [],
      summary: { nodeCount: 2 },
    });
  }
  assert.deepEqual([...fleet.nodes.keys()], ["a", "rented-1440"]);
});

test("the worst condition wins", () => {
  const slow = gpu(0, { outlierKind: "OUTLIER_KIND_SLOW", outlierRatio: 0.8 });
  assert.equal(conditionOf(node("a"), gpu(0)), "idle");
  assert.equal(conditionOf(node("a", { runningJobCount: 1 }), gpu(0)), "running");
  assert.equal(conditionOf(node("a", { runningJobCount: 1 }), slow), "outlier");
  assert.equal(conditionOf(node("a"), gpu(0, { regressionCount: 1 })), "regressed");
  assert.equal(conditionOf(node("a"), { ...slow, regressionCount: 1 }), "outlier");
  assert.equal(conditionOf(node("a", { healthErrorCount: 1 }), slow), "failing");
  const quarantined = node("a", { healthErrorCount: 1, quarantine: "3 jobs failed" });
  assert.equal(conditionOf(quarantined, slow), "quarantined");
  assert.equal(conditionOf({ ...quarantined, state: "NODE_STATE_DISCONNECTED" }, slow), "lost");
});

test("a cordon is calm and hides no finding", () => {
  const cordon = { time: "2026-11-24T08:00:00Z", reason: "new fans" };
  assert.equal(conditionLabel(node("a", { cordon })), "cordoned");
  assert.equal(conditionLabel(node("a", { cordon, runningJobCount: 1 })), "cordoned");
  const slow = gpu(0, { outlierKind: "OUTLIER_KIND_SLOW", outlierRatio: 0.8 });
  assert.equal(conditionLabel(node("a", { cordon, gpus: [slow, gpu(1)] })), "outlier");
  assert.equal(conditionLabel(node("a", { cordon, state: "NODE_STATE_DISCONNECTED" })), "lost");
  assert.equal(matchesOnly(node("a", { cordon, gpus: [slow] }), "cordoned"), true);
  assert.equal(matchesOnly(node("a"), "cordoned"), false);
});

test("a drain ends with the last job", () => {
  const drain = { drainDeadline: "2026-11-24T08:30:00Z" };
  assert.equal(cordonLabel({}, 2), "cordoned");
  assert.equal(cordonLabel(drain, 2), "draining");
  assert.equal(cordonLabel(drain, 0), "drained");
});

test("a choice of the headline finds its nodes", () => {
  const regressed = node("a", { gpus: [gpu(0), gpu(1, { regressionCount: 2 })] });
  assert.equal(matchesOnly(regressed, "regressed"), true);
  assert.equal(matchesOnly(regressed, "lost"), false);
  assert.equal(matchesOnly(regressed, ""), true);
  assert.equal(matchesOnly(node("b"), "idle"), true);
});

test("scales begin and end with their colours", () => {
  const stops = [
    [0, 0, 0],
    [100, 200, 50],
  ] as const;
  assert.equal(interpolate(stops, 0), "rgb(0 0 0)");
  assert.equal(interpolate(stops, 0.5), "rgb(50 100 25)");
  assert.equal(interpolate(stops, 1), "rgb(100 200 50)");
  assert.equal(interpolate(stops, 7), "rgb(100 200 50)");
  assert.equal(interpolate(stops, NaN), "rgb(0 0 0)");
});

test("lightness is monotonic in both themes", () => {
  const lightness = (colour: string): number => {
    const [r, g, b] = colour.match(/\d+/g)!.map(Number);
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  };
  for (const dark of [false, true]) {
    const values = Array.from({ length: 21 }, (_, step) => lightness(ramp(step / 20, dark)));
    for (let i = 1; i < values.length; i += 1) {
      assert.ok(dark ? values[i]! > values[i - 1]! : values[i]! < values[i - 1]!);
    }
  }
});

test("a GPU without a reading is not coloured like a cold one", () => {
  const nodes = [node("a", { gpus: [gpu(0, { temperatureCelsius: 30 }), gpu(1)] })];
  const { colour, text, legend } = colouring("temperature", nodes, false, NONE);
  const [cold, unknown] = nodes[0]!.gpus!;
  assert.notEqual(colour(nodes[0]!, cold), colour(nodes[0]!, unknown));
  assert.equal(text(nodes[0]!, cold), "30 C");
  assert.equal(text(nodes[0]!, unknown), "not measured");
  assert.deepEqual(
    legend.map(({ label, count }) => [label, count]),
    [["not measured", 1]],
  );
});

test("shares of the spec sheet belong to GPUs", () => {
  const nodes = [node("a")];
  const { value, text } = colouring("spec", nodes, false, new Map([["GPU-1", 0.712]]));
  assert.equal(value(nodes[0]!, nodes[0]!.gpus![0]), undefined);
  assert.equal(text(nodes[0]!, nodes[0]!.gpus![1]), "71.2% of spec");
});

test("the rarest values share a colour", () => {
  const nodes = Array.from({ length: 20 }, (_, index) =>
    node(`n${index}`, { driverVersion: `58${index < 10 ? 0 : index}` }),
  );
  const { legend, colour } = colouring("driver", nodes, false, NONE);
  assert.equal(legend[0]!.label, "580");
  assert.equal(legend[0]!.count, 20);
  assert.equal(legend.at(-1)!.label, "5 others");
  assert.equal(new Set(nodes.map((one) => colour(one, undefined))).size, 7);
});

test("throttling is unknown without telemetry, and none with it", () => {
  const nodes = [
    node("a", {
      gpus: [
        gpu(0),
        gpu(1, { smClockMhz: 1980 }),
        gpu(2, { smClockMhz: 900, throttleReasons: ["sw_thermal"] }),
      ],
    }),
  ];
  const { text } = colouring("throttle", nodes, false, NONE);
  assert.deepEqual(
    nodes[0]!.gpus!.map((one) => text(nodes[0]!, one)),
    ["not measured", "none", "sw thermal"],
  );
});

test("groups are sorted, those without a value last", () => {
  const nodes = [
    node("a", { labels: { rack: "10" } }),
    node("b", { labels: { rack: "2" } }),
    node("c"),
    node("d", { labels: { rack: "2" } }),
  ];
  const groups = groupNodes(nodes, "label.rack");
  assert.deepEqual(
    groups.map((group) => [group.name, group.nodes.map(({ nodeId }) => nodeId), group.gpuCount]),
    [
      ["2", ["b", "d"], 4],
      ["10", ["a"], 2],
      ["", ["c"], 2],
    ],
  );
});

test("models of a node's GPUs are counted", () => {
  assert.equal(gpusText(node("a")), "2 x H200 SXM");
  assert.equal(gpusText(node("a", { gpus: [], cpuModel: "EPYC" })), "no GPU, EPYC");
  const mixed = node("a", { gpus: [gpu(0), gpu(1, { model: "H100" })] });
  assert.equal(gpusText(mixed), "1 x H200 SXM, 1 x H100 SXM");
});

test("squares are drawn and found at the same place", () => {
  assert.equal(
    squares(["red", "blue"], 10),
    "linear-gradient(to right, red 0px 10px, transparent 10px 11px, blue 11px 21px, transparent 21px 22px)",
  );
  assert.equal(squareAt(0, 8, 10), 0);
  assert.equal(squareAt(10, 8, 10), 0);
  assert.equal(squareAt(11, 8, 10), 1);
  assert.equal(squareAt(500, 8, 10), 7);
  assert.equal(squareAt(-3, 8, 10), 0);
});

test("500 nodes fit on a screen", () => {
  const size = squareSize(500, 8, 1840, 800);
  assert.ok(size >= 10 && size <= 22);
  const columns = Math.floor(1848 / (8 * (size + 1) + 8));
  assert.ok(Math.ceil(500 / columns) * (size + 5) <= 800);
  // There is a smallest size: a fleet of any size can be scrolled.
  assert.equal(squareSize(100_000, 8, 360, 600), 10);
});
