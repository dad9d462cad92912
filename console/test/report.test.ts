import assert from "node:assert/strict";
import { test } from "node:test";
import { REPORT_FIELDS } from "../src/report_data";
import { sortCells } from "../src/report_table";
import { both, commandLine, csv, equals } from "../src/figures/controls";
import { defaultSides } from "../src/pages/compare";
import { byPairs } from "../src/pages/links";
import { groupFilter } from "../src/pages/results";

test("cells with numbers are sorted as numbers, whatever their units", () => {
  assert.deepEqual(sortCells(["9 GB/s", "10 GB/s", "1,000 GB/s"], false), [0, 1, 2]);
  assert.deepEqual(sortCells(["-4.9%", "+1.0%", "−12%"], false), [2, 0, 1]);
  assert.deepEqual(sortCells(["1.5e3", "20"], true), [0, 1]);
});

test("cells with texts are sorted with their numbers, and empty ones come last", () => {
  assert.deepEqual(sortCells(["g10", "", "g2"], false), [2, 0, 1]);
  assert.deepEqual(sortCells(["g10", "", "g2"], true), [0, 2, 1]);
  assert.deepEqual(sortCells(["2026-11-02", "2026-10-30"], false), [1, 0]);
  assert.deepEqual(sortCells(["a", "a", "a"], true), [0, 1, 2]);
});

test("a report's fields leave room for parameters in a request of 40", () => {
  assert.equal(new Set(REPORT_FIELDS).size, REPORT_FIELDS.length);
  assert.ok(REPORT_FIELDS.length <= 20);
});

test("filters are joined once, and keep their OR inside", () => {
  assert.equal(both("", "a = 1"), "a = 1");
  assert.equal(both("a = 1", "a = 1", "b = 2"), "a = 1 AND b = 2");
  assert.equal(both("a = 1 OR a = 2", "b = 3"), "(a = 1 OR a = 2) AND b = 3");
  assert.equal(equals("gpu.model", ""), "NOT gpu.model : *");
  assert.equal(equals("node", 'a"b'), 'node = "a\\"b"');
});

test("commands are quoted for the shell", () => {
  assert.equal(
    commandLine(["results"], { filter: "node = 'x'; rm", by: "" }),
    `assay results --filter 'node = '\\''x'\\''; rm'`,
  );
});

test("CSV quotes what needs it", () => {
  assert.equal(csv([["a", 'say "b"', "c,d", 1.5]]), 'a,"say ""b""","c,d",1.5\r\n');
});

test("without a choice, the two newest versions are compared", () => {
  assert.deepEqual(defaultSides(["590.10", "580.95.05", "570.1"]), ["580.95.05", "590.10"]);
  assert.deepEqual(defaultSides(["580"]), ["", ""]);
});

test("campaigns of pairs come first", () => {
  assert.deepEqual(byPairs(["nightly", "network-pairs", "x"]), ["network-pairs", "nightly", "x"]);
});

test("a group's filter finds its results alone", () => {
  const filter = groupFilter(
    {
      values: ["H200", ""],
      best: {
        caseResult: { benchmark: "gemm", parameters: { m: "8192" }, measurements: [{ metric: "tflops" }] },
      },
    },
    ["gpu.model", "provider"],
  );
  assert.equal(
    filter,
    "benchmark = gemm AND parameters.m = 8192 AND metric = tflops AND gpu.model = H200 AND NOT provider : *",
  );
});
