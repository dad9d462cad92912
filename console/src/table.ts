// Sorting of tables.

export interface Sort {
  key: string;
  descending: boolean;
}

// "-median" sorts by median, largest first.
export function parseSort(text: string): Sort | undefined {
  if (!text || text === "-") return undefined;
  return text.startsWith("-")
    ? { key: text.slice(1), descending: true }
    : { key: text, descending: false };
}

export function formatSort(sort: Sort): string {
  return (sort.descending ? "-" : "") + sort.key;
}

// A key whose order is that of people: g2 before g10, without regard to case. Much faster than
// Intl.Collator on a page's first load.
export function naturalKey(text: string): string {
  return text.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(12, "0"));
}

// Orders numbers as numbers, and texts as people do.
export function compareValues(a: string | number, b: string | number): number {
  const key = (value: string | number): string | number =>
    typeof value === "number" && typeof a === typeof b ? value : naturalKey(String(value));
  return compareKeys(key(a), key(b));
}

function compareKeys(a: string | number, b: string | number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return a < b ? -1 : a > b ? 1 : 0;
}

// Returns the rows in order of `value`. Rows without a value come last in both directions; equal
// ones keep their order.
export function sortRows<T>(
  rows: readonly T[],
  value: (row: T) => string | number | undefined,
  descending: boolean,
): T[] {
  const absent = (x: string | number | undefined): x is undefined =>
    x === undefined || x === "" || (typeof x === "number" && Number.isNaN(x));
  return rows
    .map((row, index) => {
      const key = value(row);
      return { row, index, key: typeof key === "string" ? naturalKey(key) : key };
    })
    .sort((a, b) => {
      if (absent(a.key) || absent(b.key)) {
        return Number(absent(a.key)) - Number(absent(b.key)) || a.index - b.index;
      }
      const order = compareKeys(a.key, b.key);
      return (descending ? -order : order) || a.index - b.index;
    })
    .map(({ row }) => row);
}

// The rows to draw of a table that scrolls: those in view and `margin` on both sides.
export function visibleRange(
  count: number,
  rowHeight: number,
  scrollTop: number,
  height: number,
  margin = 20,
): { first: number; last: number } {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - margin);
  const last = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + margin);
  return { first: Math.min(first, count), last };
}
