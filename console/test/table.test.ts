import assert from "node:assert/strict";
import { test } from "node:test";
import { formatSort, naturalKey, parseSort, sortRows, visibleRange } from "../src/table";

test("the order in an address", () => {
  assert.deepEqual(parseSort("median"), { key: "median", descending: false });
  assert.deepEqual(parseSort("-median"), { key: "median", descending: true });
  assert.equal(parseSort(""), undefined);
  assert.equal(parseSort("-"), undefined);
  assert.equal(formatSort({ key: "median", descending: true }), "-median");
});

test("numbers within names are compared as numbers", () => {
  const names = ["g10", "g2", "G1", "g2a"];
  assert.deepEqual(
    sortRows(names, (name) => name, false),
    ["G1", "g2", "g2a", "g10"],
  );
  assert.ok(naturalKey("580.95.05") < naturalKey("580.126.01"));
});

test("rows without a value come last in both directions", () => {
  const rows = [{ v: undefined }, { v: 2 }, { v: NaN }, { v: 1 }, { v: 3 }];
  const order = (descending: boolean): unknown[] =>
    sortRows(rows, ({ v }) => v, descending).map(({ v }) => v);
  assert.deepEqual(order(false), [1, 2, 3, undefined, NaN]);
  assert.deepEqual(order(true), [3, 2, 1, undefined, NaN]);
});

test("equal rows keep their order", () => {
  const rows = [
    { k: 1, id: "a" },
    { k: 1, id: "b" },
    { k: 0, id: "c" },
  ];
  const ids = (descending: boolean): string =>
    sortRows(rows, ({ k }) => k, descending)
      .map(({ id }) => id)
      .join("");
  assert.equal(ids(false), "cab");
  assert.equal(ids(true), "abc");
});

test("only rows near the view are drawn", () => {
  assert.deepEqual(visibleRange(10_000, 30, 0, 600), { first: 0, last: 40 });
  assert.deepEqual(visibleRange(10_000, 30, 30_000, 600), { first: 980, last: 1040 });
  assert.deepEqual(visibleRange(10_000, 30, 10_000 * 30, 600), { first: 9980, last: 10_000 });
  // The table became shorter while it was scrolled.
  assert.deepEqual(visibleRange(5, 30, 30_000, 600), { first: 5, last: 5 });
});
