// The console's words are those of the reference, which is generated from the code.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { MARKS } from "../src/marks";
import { nodeFields } from "../src/nodefields";

// The cells of a generated table, row by row. Tests run in the folder console/.
function rows(file: string, table: string): string[][] {
  const text = readFileSync(`../docs/reference/${file}`, "utf8");
  const begin = text.indexOf(`<!-- generated: ${table} -->`);
  const end = text.indexOf(`<!-- end: ${table} -->`);
  assert.ok(begin >= 0 && end > begin);
  return text
    .slice(begin, end)
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim().replace(/^`|`$/g, "")),
    );
}

test("marks are those of the reference", () => {
  const expected = Object.fromEntries(
    rows("result-marks.md", "marks").map(([letter, word, text]) => [word!, { letter, text }]),
  );
  assert.deepEqual(MARKS, expected);
});

test("fields of nodes are those of the reference", () => {
  const expected = new Set(rows("filter-fields.md", "nodes").map(([field]) => field));
  for (const { field } of nodeFields([])) assert.ok(expected.has(field), field);
});
