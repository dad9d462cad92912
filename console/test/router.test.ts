import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRoute, safeHref, to } from "../src/router";

test("an empty address is the Fleet page", () => {
  for (const hash of ["", "#", "#/"]) {
    const route = parseRoute(hash);
    assert.equal(route.page, "");
    assert.equal(route.argument, "");
  }
});

test("addresses survive being written and read", () => {
  const names = ["nightly", "<script>alert(1)</script>", "a/b?c=d&e#f", "100%", "größer als"];
  for (const name of names) {
    const route = parseRoute(to("node", name, { filter: `label.x = "${name}"`, by: "" }));
    assert.equal(route.page, "node");
    assert.equal(route.argument, name);
    assert.equal(route.parameters.get("filter"), `label.x = "${name}"`);
    assert.equal(route.parameters.has("by"), false);
  }
});

test("a broken escape stays as it is", () => {
  assert.equal(parseRoute("#/node/100%").argument, "100%");
});

test("only web addresses become links", () => {
  assert.equal(safeHref("https://example.org/a"), "https://example.org/a");
  for (const bad of ["javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", "//x"]) {
    assert.equal(safeHref(bad), undefined);
  }
});
