// Thins out large sets of points, the same way each time.

// Figures draw at most about this many points one by one.
export const POINT_LIMIT = 2000;

export interface Thinned<T> {
  points: T[];
  // Number of points that are not in `points`.
  hidden: number;
}

// Returns all points if there are at most `limit`. Otherwise divides the range of `x` into bins and
// returns the points with the smallest, the median and the largest `y` of each bin and group, in
// the order of the input. Extremes are therefore always drawn.
export function thin<T>(
  points: T[],
  x: (point: T) => number,
  y: (point: T) => number,
  group: (point: T) => string,
  limit = POINT_LIMIT,
): Thinned<T> {
  if (points.length <= limit) return { points, hidden: 0 };
  let low = Infinity;
  let high = -Infinity;
  const groups = new Map<string, number[]>();
  points.forEach((point, index) => {
    const value = x(point);
    if (value < low) low = value;
    if (value > high) high = value;
    const name = group(point);
    const members = groups.get(name);
    if (members) members.push(index);
    else groups.set(name, [index]);
  });
  const kept = new Set<number>();
  const binCount = Math.max(1, Math.floor(limit / 3 / groups.size));
  for (const members of groups.values()) {
    const bins = new Map<number, number[]>();
    for (const index of members) {
      const fraction = high > low ? (x(points[index]!) - low) / (high - low) : 0;
      const bin = Math.min(binCount - 1, Math.floor(fraction * binCount));
      const list = bins.get(bin);
      if (list) list.push(index);
      else bins.set(bin, [index]);
    }
    for (const list of bins.values()) {
      // Equal values keep their order, so that the choice does not depend on the engine.
      list.sort((a, b) => y(points[a]!) - y(points[b]!) || a - b);
      kept.add(list[0]!);
      kept.add(list[(list.length - 1) >> 1]!);
      kept.add(list[list.length - 1]!);
    }
  }
  const indices = [...kept].sort((a, b) => a - b);
  return { points: indices.map((index) => points[index]!), hidden: points.length - indices.length };
}

// Returns the quantile of sorted values, interpolated.
export function quantile(sorted: number[], fraction: number): number {
  if (sorted.length === 0) return NaN;
  const at = (sorted.length - 1) * fraction;
  const low = Math.floor(at);
  const value = sorted[low]!;
  return low + 1 < sorted.length ? value + (at - low) * (sorted[low + 1]! - value) : value;
}

export function median(values: number[]): number {
  return quantile(
    values.filter(Number.isFinite).sort((a, b) => a - b),
    0.5,
  );
}

export interface BoxSummary {
  // Quartiles, and the smallest and largest value within 1.5 times the distance of the quartiles.
  low: number;
  q1: number;
  median: number;
  q3: number;
  high: number;
  count: number;
}

export function boxSummary(values: number[]): BoxSummary | undefined {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return undefined;
  const q1 = quantile(sorted, 0.25);
  const q3 = quantile(sorted, 0.75);
  const reach = 1.5 * (q3 - q1);
  return {
    low: sorted.find((value) => value >= q1 - reach)!,
    q1,
    median: quantile(sorted, 0.5),
    q3,
    high: sorted.filter((value) => value <= q3 + reach).pop()!,
    count: sorted.length,
  };
}

// Returns a number from 0 to 1 that depends on the index alone, to spread points of a strip.
export function spread(index: number): number {
  return (index * 0.618033988749895) % 1;
}
