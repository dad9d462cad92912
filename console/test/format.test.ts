import assert from "node:assert/strict";
import { test } from "node:test";
import {
  age,
  bytes,
  change,
  count,
  dollars,
  duration,
  durationSeconds,
  localTime,
  num,
  parameters,
  percent,
  plural,
  quantity,
  quoteFilter,
  quoteShell,
  reading,
  significant,
  utcTime,
  words,
} from "../src/format";

test("numbers have four significant digits and no exponent", () => {
  assert.equal(significant(0.01234), "0.01234");
  assert.equal(significant(45.2), "45.20");
  assert.equal(significant(712.34), "712.3");
  assert.equal(significant(81920), "81920");
  assert.equal(significant(0), "0");
});

test("quantities below 0.1 and from 10,000 get an SI prefix", () => {
  assert.equal(quantity(4.1e-6, "s"), "4.100 us");
  assert.equal(quantity(712.3, "TFLOP/s"), "712.3 TFLOP/s");
  assert.equal(quantity(12_500, "GB/s"), "12.50 TB/s");
  assert.equal(quantity(0.05, "GB/s"), "50.00 MB/s");
  assert.equal(quantity(9999, "GB/s"), "9999 GB/s");
  // No kiloseconds, and no prefixes for units that have none.
  assert.equal(quantity(20_000, "s"), "20000 s");
  assert.equal(quantity(20_000, "MHz"), "20000 MHz");
});

test("counts have no trailing zeros", () => {
  assert.equal(quantity(4, "registers"), "4 registers");
  assert.equal(quantity(12.5, "segments"), "12.5 segments");
});

test("absent values and NaN are not measured, never 0", () => {
  for (const value of [undefined, "NaN", NaN, "Infinity"]) {
    assert.equal(quantity(value, "W"), "not measured");
    assert.equal(reading(value, "W"), "not measured");
    assert.equal(percent(value), "not measured");
    assert.equal(change(value), "not measured");
    assert.equal(num(value), undefined);
  }
  assert.equal(duration(undefined), "not measured");
  assert.equal(localTime(undefined), "");
});

test("64-bit integers come as texts", () => {
  assert.equal(num("150754820096"), 150754820096);
  assert.equal(bytes("150754820096"), "140.4 GiB");
  assert.equal(count("4000"), "4,000");
});

test("readings have no trailing zeros", () => {
  assert.equal(reading(71, "C"), "71 C");
  assert.equal(reading(689.96, "W"), "690 W");
  assert.equal(reading(2.104), "2.104");
});

test("sizes are powers of 1024", () => {
  assert.equal(bytes(1048576), "1 MiB");
  assert.equal(bytes(1536), "1.5 KiB");
  assert.equal(bytes(0), "0 B");
});

test("percentages and changes", () => {
  assert.equal(percent(0.853), "85.3%");
  assert.equal(percent(0.0042), "0.42%");
  assert.equal(percent(1), "100%");
  assert.equal(percent(0), "0%");
  assert.equal(change(0.93), "-7.0%");
  assert.equal(change(1.0212), "+2.1%");
  assert.equal(change(0.99999), "0.0%");
  assert.equal(change(3), "+200%");
});

test("durations have two units at most", () => {
  assert.equal(duration(0.002), "2.000 ms");
  assert.equal(duration(42), "42 s");
  assert.equal(duration(200), "3 min 20 s");
  assert.equal(duration(7500), "2 h 5 min");
  assert.equal(duration(7200), "2 h");
  assert.equal(duration(86_400 * 3 + 4 * 3600), "3 d 4 h");
  assert.equal(durationSeconds("12.5s"), 12.5);
  assert.equal(durationSeconds(undefined), undefined);
});

test("times are local, with UTC beside them", () => {
  // The tests run in UTC.
  assert.equal(localTime("2026-11-21T08:30:05.120Z"), "2026-11-21 08:30:05");
  assert.equal(utcTime("2026-11-21T08:30:05.120Z"), "2026-11-21T08:30:05Z");
  assert.equal(localTime("not a time"), "");
});

test("ages", () => {
  const now = Date.parse("2026-11-21T08:30:00Z");
  assert.equal(age("2026-11-21T08:29:18Z", now), "42 s ago");
  assert.equal(age("2026-11-21T08:26:00Z", now), "4 min ago");
  assert.equal(age("2026-11-20T06:00:00Z", now), "26 h ago");
  assert.equal(age("2026-11-21T08:31:00Z", now), "now");
  assert.equal(age(undefined, now), "never");
});

test("plurals and dollars", () => {
  assert.equal(plural(1, "node"), "1 node");
  assert.equal(plural(500, "node"), "500 nodes");
  assert.equal(dollars(2.5), "$2.50");
  assert.equal(dollars(1234.5), "$1,234.50");
  assert.equal(dollars(0.0042), "$0.0042");
  assert.equal(dollars(undefined), "unknown");
});

test("enum values are words", () => {
  assert.equal(words("REGRESSION_STATE_CONFIRMED", "REGRESSION_STATE"), "confirmed");
  assert.equal(words("REGRESSION_STATE_UNSPECIFIED", "REGRESSION_STATE"), "");
  assert.equal(words(undefined, "REGRESSION_STATE"), "");
});

test("parameters are sorted", () => {
  assert.equal(parameters({ m: "8192", dtype: "bf16" }), "dtype=bf16 m=8192");
  assert.equal(parameters(undefined), "");
});

test("texts in filters are quoted if they need it", () => {
  assert.equal(quoteFilter("g3"), "g3");
  assert.equal(quoteFilter("580.95.05"), "580.95.05");
  assert.equal(quoteFilter("a b"), '"a b"');
  assert.equal(quoteFilter('say "x" \\'), '"say \\"x\\" \\\\"');
  assert.equal(quoteFilter("AND"), '"AND"');
  assert.equal(quoteFilter(""), '""');
});

test("words of commands are quoted if they need it", () => {
  assert.equal(quoteShell("nightly"), "nightly");
  assert.equal(quoteShell("a b"), "'a b'");
  assert.equal(quoteShell("it's; rm -rf /"), "'it'\\''s; rm -rf /'");
  assert.equal(quoteShell(""), "''");
});
