import assert from "node:assert/strict";
import { test } from "node:test";
import { complete, tokenize } from "../src/complete";

const FIELDS = [
  { field: "gpu.model", description: "model", values: ["H100", "H200", "RTX 4090"] },
  { field: "gpu.count", description: "number", example: ">= 8" },
  { field: "label", description: "labels", type: "map" },
  { field: "driver", description: "driver", values: ["580.95.05"] },
];

// Completes at "|", and returns the texts with each completion in place.
function at(text: string): string[] {
  const caret = text.indexOf("|");
  const filter = text.replace("|", "");
  return complete(filter, caret, FIELDS).map(
    ({ insert, from, to }) => filter.slice(0, from) + insert + filter.slice(to),
  );
}

test("filters are split into words and operators", () => {
  const texts = tokenize('a.b>=3 AND NOT c = "x = y" d in (e,f)').map(({ text }) => text);
  assert.deepEqual(texts, [
    "a.b",
    ">=",
    "3",
    "AND",
    "NOT",
    "c",
    "=",
    '"x = y"',
    "d",
    "in",
    "(",
    "e",
    ",",
    "f",
    ")",
  ]);
  assert.deepEqual(
    tokenize('a = "open').map(({ text }) => text),
    ["a", "=", '"open'],
  );
});

test("an empty filter offers the fields", () => {
  assert.deepEqual(at("|"), ["gpu.model = ", "gpu.count >= ", "label.", "driver = "]);
});

test("a beginning offers the fields that match", () => {
  assert.deepEqual(at("gpu.m|"), ["gpu.model = "]);
  assert.deepEqual(at("model|"), ["gpu.model = "]);
  assert.deepEqual(at("-driv|"), ["-driver = "]);
});

test("after an operator, values are offered and quoted", () => {
  assert.deepEqual(at("gpu.model = |"), [
    "gpu.model = H100 ",
    "gpu.model = H200 ",
    'gpu.model = "RTX 4090" ',
  ]);
  assert.deepEqual(at("gpu.model = H2|"), ["gpu.model = H200 "]);
  assert.deepEqual(at('gpu.model = "RT|'), ['gpu.model = "RTX 4090" ']);
  assert.deepEqual(at("gpu.count >= |"), []);
});

test("lists offer values", () => {
  assert.deepEqual(at("gpu.model in (H100, H2|"), ["gpu.model in (H100, H200 "]);
});

test("after a comparison, AND and OR are offered", () => {
  assert.deepEqual(at("driver = 580.95.05 |"), [
    "driver = 580.95.05 AND ",
    "driver = 580.95.05 OR ",
  ]);
  assert.deepEqual(at("driver = 580.95.05 AND g|").slice(0, 1), [
    "driver = 580.95.05 AND gpu.model = ",
  ]);
});
