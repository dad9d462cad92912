// Numbers, durations and times as text, in the same form as the command line prints them.

export const NOT_MEASURED = "not measured";

// A number in protobuf's JSON: NaN and infinities are texts, int64 is a text.
export type JsonNumber = number | string | undefined;

// Returns the number, or undefined if it is absent or not finite.
export function num(value: JsonNumber): number | undefined {
  if (value === undefined || value === "") return undefined;
  const number = typeof value === "number" ? value : Number(value);
  return Number.isFinite(number) ? number : undefined;
}

// `digits` significant digits and no exponent: 0.01234, 45.20, 712.3, 81920.
export function significant(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(Math.max(digits - 1 - magnitude, 0), 12));
}

const COUNTS = new Set(["registers", "segments"]);

const PREFIXES: readonly (readonly [string, number])[] = [
  ["n", 1e-9],
  ["u", 1e-6],
  ["m", 1e-3],
  ["", 1],
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
  ["T", 1e12],
  ["P", 1e15],
  ["E", 1e18],
];

// Splits a unit: "TFLOP/s" is 1e12 times "FLOP/s". Returns undefined for units without prefixes.
export function splitUnit(unit: string): { factor: number; base: string } | undefined {
  for (const base of ["FLOP/s", "B/s", "s", "B"]) {
    if (!unit.endsWith(base)) continue;
    const symbol = unit.slice(0, unit.length - base.length);
    const prefix = PREFIXES.find(([name]) => name === symbol);
    if (prefix) return { factor: prefix[1], base };
  }
  return undefined;
}

export interface Quantity {
  number: string;
  unit: string;
}

// Formats with four significant digits. Values below 0.1 or above 10,000 get an SI prefix: "4.100
// us" for 4.1e-6 s.
export function quantityParts(value: number, unit: string): Quantity {
  const size = Math.abs(value);
  const split = splitUnit(unit);
  if (!split || !Number.isFinite(value) || size === 0 || (size >= 0.1 && size < 10_000)) {
    let text = significant(value);
    if (COUNTS.has(unit) && text.includes(".")) text = text.replace(/\.?0+$/, "");
    return { number: text, unit };
  }
  let best = PREFIXES[0]!;
  for (const prefix of PREFIXES) {
    // Seconds have no larger prefixes, such as kiloseconds.
    if (split.base === "s" && prefix[1] > 1) break;
    if (size * split.factor >= prefix[1] * 0.99995) best = prefix;
  }
  return { number: significant((value * split.factor) / best[1]), unit: best[0] + split.base };
}

export function quantity(value: JsonNumber, unit: string): string {
  const number = num(value);
  if (number === undefined) return NOT_MEASURED;
  const parts = quantityParts(number, unit);
  return parts.unit ? `${parts.number} ${parts.unit}` : parts.number;
}

// A reading of an instrument: "71 C", "690 W". At most four digits, without trailing zeros.
export function reading(value: JsonNumber, unit = ""): string {
  const number = num(value);
  if (number === undefined) return NOT_MEASURED;
  const text = String(Number(number.toPrecision(4)));
  return unit ? `${text} ${unit}` : text;
}

// Formats sizes in powers of 1024: "1 MiB", "141 GiB".
export function bytes(value: JsonNumber): string {
  const number = num(value);
  if (number === undefined) return NOT_MEASURED;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let size = number;
  let unit = 0;
  while (Math.abs(size) >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const text = Number.isInteger(size) ? String(size) : significant(size, 4).replace(/\.?0+$/, "");
  return `${text} ${units[unit]}`;
}

// 0.853 is "85.3%", 0.00421 is "0.42%".
export function percent(fraction: JsonNumber, digits = 3): string {
  const number = num(fraction);
  if (number === undefined) return NOT_MEASURED;
  const value = number * 100;
  if (value === 0) return "0%";
  if (Math.abs(value) < 9.95) return `${value.toFixed(Math.max(0, digits - 1))}%`;
  return `${value.toFixed(Math.max(0, digits - (Math.abs(value) >= 99.95 ? 3 : 2)))}%`;
}

// A ratio as a change: 0.93 is "-7.0%", 1.021 is "+2.1%".
export function change(ratio: JsonNumber): string {
  const number = num(ratio);
  if (number === undefined) return NOT_MEASURED;
  const value = (number - 1) * 100;
  const text = value.toFixed(Math.abs(value) < 99.95 ? 1 : 0);
  if (Number(text) === 0) return "0.0%";
  return `${value > 0 ? "+" : ""}${text}%`;
}

const countFormat = new Intl.NumberFormat("en-US");

// 4000 is "4,000".
export function count(value: JsonNumber): string {
  const number = num(value);
  return number === undefined ? NOT_MEASURED : countFormat.format(number);
}

// "1 node", "500 nodes".
export function plural(value: JsonNumber, noun: string, nouns = `${noun}s`): string {
  return `${count(value)} ${num(value) === 1 ? noun : nouns}`;
}

// US dollars: "$2.49", "$0.0042".
export function dollars(value: JsonNumber): string {
  const number = num(value);
  if (number === undefined) return "unknown";
  if (number !== 0 && Math.abs(number) < 0.1) return `$${significant(number, 2)}`;
  return `$${new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(number)}`;
}

// Protobuf's JSON of a duration: "12.5s".
export function durationSeconds(text: string | undefined): number | undefined {
  if (!text) return undefined;
  return num(text.replace(/s$/, ""));
}

// "42 s", "3 min 20 s", "2 h 5 min", "3 d 4 h".
export function duration(seconds: number | undefined): string {
  if (seconds === undefined || !Number.isFinite(seconds)) return NOT_MEASURED;
  if (seconds < 0) return duration(0);
  if (seconds < 1) return seconds === 0 ? "0 s" : quantity(seconds, "s");
  let rest = Math.round(seconds);
  if (rest < 60) return `${rest} s`;
  const parts: string[] = [];
  for (const [unit, size] of [
    ["d", 86_400],
    ["h", 3600],
    ["min", 60],
    ["s", 1],
  ] as const) {
    const whole = Math.floor(rest / size);
    rest -= whole * size;
    if (parts.length > 0 || whole > 0) parts.push(whole > 0 ? `${whole} ${unit}` : "");
    if (parts.length === 2) break;
  }
  return parts.filter(Boolean).join(" ");
}

// Milliseconds since 1970, or undefined for an absent time.
export function timeMillis(time: string | undefined): number | undefined {
  if (!time) return undefined;
  const millis = Date.parse(time);
  return Number.isFinite(millis) && millis > 0 ? millis : undefined;
}

const two = (value: number): string => String(value).padStart(2, "0");

// Local time: "2026-11-21 08:30:05".
export function localTime(time: string | undefined): string {
  const millis = timeMillis(time);
  if (millis === undefined) return "";
  const date = new Date(millis);
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  );
}

// "2026-11-21T08:30:05Z".
export function utcTime(time: string | undefined): string {
  const millis = timeMillis(time);
  return millis === undefined ? "" : new Date(millis).toISOString().replace(/\.\d+Z$/, "Z");
}

// Time since `time`: "42 s ago".
export function age(time: string | undefined, now = Date.now()): string {
  const millis = timeMillis(time);
  if (millis === undefined) return "never";
  const seconds = (now - millis) / 1000;
  return seconds < 1 ? "now" : `${shortDuration(seconds)} ago`;
}

// A duration in one unit: "42 s", "3 min", "2 h", "3 d".
export function shortDuration(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

// An enum value for people: words("REGRESSION_STATE_CONFIRMED", "REGRESSION_STATE") is "confirmed".
export function words(value: string | undefined, prefix: string): string {
  if (!value) return "";
  const text = value.startsWith(`${prefix}_`) ? value.slice(prefix.length + 1) : value;
  return text === "UNSPECIFIED" ? "" : text.toLowerCase().replaceAll("_", " ");
}

// Parameters of a case: "dtype=bf16 m=8192". Leaves out those in `without`.
export function parameters(
  values: Record<string, string> | undefined,
  without: ReadonlySet<string> = new Set(),
): string {
  return Object.entries(values ?? {})
    .filter(([name]) => !without.has(name))
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

// A text in a filter: in quotes if it has characters with a meaning.
export function quoteFilter(text: string): string {
  if (/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(text) && !/^(AND|OR|NOT|in)$/.test(text)) return text;
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

// A word of a shell command, in quotes if it needs them.
export function quoteShell(text: string): string {
  if (text !== "" && /^[A-Za-z0-9_./:=@%+,-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
