import assert from "node:assert/strict";
import { test } from "node:test";
import {
  causeText,
  commonSuspects,
  explanationText,
  historyFilter,
  rankText,
  rerunsText,
} from "../src/findings";
import { estimateBasis, jobsText, progressCounts, progressState, roughTime } from "../src/progress";
import { bestByGpu, compareShares, quantile, texts } from "../src/spec";

test("the state of jobs that matters most is shown", () => {
  assert.equal(progressState({ jobs: { succeeded: 3, failed: 1, running: 1 } }), "failed");
  assert.equal(progressState({ jobs: { succeeded: 3, running: 1 } }), "running");
  assert.equal(progressState({ jobs: { succeeded: 3, queued: 1 } }), "part");
  assert.equal(progressState({ jobs: { queued: 1 } }), "queued");
  assert.equal(progressState({ jobs: { succeeded: 3, skipped: 1 } }), "done");
  assert.equal(progressState({ jobs: { skipped: 4 } }), "skipped");
  assert.equal(progressState({ jobs: { cancelled: 4 } }), "cancelled");
});

test("places are counted by state", () => {
  const counts = progressCounts([
    { places: [{ jobs: { queued: 1 } }, { jobs: { succeeded: 1 } }] },
    { places: [{ jobs: { queued: 2 } }] },
  ]);
  assert.deepEqual(
    [...counts],
    [
      ["queued", 2],
      ["done", 1],
    ],
  );
});

test("jobs and estimates in words", () => {
  assert.equal(jobsText({ succeeded: 6, running: 1 }), "7 jobs: 6 succeeded, 1 running");
  assert.equal(jobsText(undefined), "no jobs");
  assert.equal(roughTime(42), "40 s");
  assert.equal(roughTime(700), "12 min");
  assert.equal(roughTime(12_000), "3 h 20 min");
  assert.equal(
    estimateBasis({ casesFromHistory: 3600, casesFromMethod: 2 }),
    "from earlier runs of 3,600 cases and limits for 2",
  );
  assert.equal(estimateBasis({ casesFromMethod: 2 }), "from the method's limits");
});

test("the newest result of each case counts, and the best case of each GPU", () => {
  const best = bestByGpu(
    ["a", "a", "a", "b", ""],
    ["x", "x", "y", "x", "x"],
    [0.6, 0.9, 0.7, NaN, 0.5],
  );
  assert.deepEqual([...best], [["a", 0.7]]);
});

test("columns of texts are read by their indices", () => {
  assert.deepEqual(texts({ texts: ["a", "b"], indices: [1, -1, 0] }), ["b", "", "a"]);
});

test("quantiles are interpolated", () => {
  assert.equal(quantile([1, 2, 3, 4], 0.5), 2.5);
  assert.equal(quantile([5], 0.95), 5);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});

test("a node is compared with the GPUs of other nodes", () => {
  const rows = (uuids: string[], efficiencies: number[]) => ({
    benchmarks: uuids.map(() => "gemm"),
    lineages: uuids.map(() => "l"),
    uuids,
    efficiencies,
  });
  const [share] = compareShares(
    rows(["a", "b"], [0.8, 0.6]),
    rows(["a", "c", "d", "e"], [0.1, 0.7, 0.72, 0.74]),
    new Set(["a", "b"]),
  );
  assert.deepEqual(share!.own, [0.6, 0.8]);
  assert.equal(share!.peers, 3);
  assert.equal(share!.peerMedian, 0.72);
});

test("incidents name their cause", () => {
  assert.equal(
    causeText({ cause: "INCIDENT_CAUSE_DRIVER", from: "580.95.05", to: "590.10" }),
    "driver 580.95.05 → 590.10",
  );
  assert.equal(
    causeText({
      cause: "INCIDENT_CAUSE_GPU",
      place: { nodeNames: ["g1"], gpuUuids: ["GPU-1"], gpuIndices: [3] },
    }),
    "GPU 3 of g1",
  );
});

test("explanations have units, and an absent side is unknown", () => {
  assert.equal(
    explanationText({ field: "sm_clock_mhz", before: 1980, after: 1755 }),
    "SM clock 1980 → 1755 MHz",
  );
  assert.equal(explanationText({ field: "power_watts", after: 512.4 }), "power unknown → 512.4 W");
  assert.equal(
    explanationText({ field: "driver", textBefore: "", textAfter: "590.10" }),
    "driver: none → 590.10",
  );
});

test("suspects that regressions share come first", () => {
  const clock = { field: "sm_clock_mhz", before: 1980, after: 1755 };
  const driver = { field: "driver", textBefore: "a", textAfter: "b" };
  assert.deepEqual(commonSuspects([{ explanations: [driver, clock] }, { explanations: [clock] }]), [
    "SM clock 1980 → 1755 MHz (2 of 2)",
    "driver: a → b (1 of 2)",
  ]);
});

test("reruns are grouped by place", () => {
  assert.equal(
    rerunsText({
      case: { unit: "TFLOP/s" },
      reruns: [
        { median: 571.2 },
        { median: 570.8 },
        { peer: true, median: 711.9, place: { nodeNames: ["g2"], gpuIndices: [2] } },
      ],
      failedReruns: 1,
    }),
    "571.2 TFLOP/s, 570.8 TFLOP/s; peer GPU 2 of g2: 711.9 TFLOP/s; 1 without a result",
  );
});

test("ranks count from the fastest", () => {
  assert.equal(rankText({ rank: 1, placeCount: 64 }), "64 of 64");
  assert.equal(rankText({ rank: 0, placeCount: 64 }), "");
});

test("the history of a GPU is found by its UUID, that of a gang by its node", () => {
  assert.equal(
    historyFilter("abc", { nodeNames: ["g1"], gpuUuids: ["GPU-1"] }, true),
    "lineage_id = abc AND gpu.uuid = GPU-1 AND simulated = true",
  );
  assert.equal(
    historyFilter("abc", { nodeNames: ["g1"], gpuUuids: ["a", "b"] }, false),
    "lineage_id = abc AND node = g1",
  );
});
