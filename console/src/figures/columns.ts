// Reads the columns of TabulateResults.

import type { TabulateResultsResponseJson } from "proto/result_service_pb";
import { quantityParts, splitUnit } from "../format";
import { toNumber } from "./names";

export class Columns {
  readonly rowCount: number;
  private readonly numbers = new Map<string, number[]>();
  private readonly texts = new Map<string, (string | undefined)[]>();

  constructor(table: TabulateResultsResponseJson) {
    this.rowCount = table.rowCount ?? 0;
    for (const column of table.columns ?? []) {
      const field = column.field ?? "";
      if (column.indices?.length) {
        const values = column.texts ?? [];
        this.texts.set(
          field,
          column.indices.map((index) => values[index]),
        );
      } else {
        this.numbers.set(field, (column.numbers ?? []).map(toNumber));
      }
    }
  }

  has(field: string): boolean {
    return this.numbers.has(field) || this.texts.has(field);
  }

  // Returns NaN if the row has no number. Parameters are texts, which may be numbers.
  number(field: string, row: number): number {
    const text = this.texts.get(field);
    return text ? toNumber(text[row]) : (this.numbers.get(field)?.[row] ?? NaN);
  }

  // Returns "" if the row has no value.
  text(field: string, row: number): string {
    const text = this.texts.get(field);
    if (text) return text[row] ?? "";
    const number = this.numbers.get(field)?.[row];
    return number === undefined || !Number.isFinite(number) ? "" : String(number);
  }

  // Returns the different values of a field, in the order of their first row.
  values(field: string): string[] {
    const values = new Set<string>();
    for (let row = 0; row < this.rowCount; row++) values.add(this.text(field, row));
    return [...values];
  }
}

// Returns a table with some of the rows.
export function selectRows(
  table: TabulateResultsResponseJson,
  keep: (row: number) => boolean,
): TabulateResultsResponseJson {
  const rows = Array.from({ length: table.rowCount ?? 0 }, (_, row) => row).filter(keep);
  const columns = (table.columns ?? []).map((column) => ({
    ...column,
    numbers: column.numbers?.length ? rows.map((row) => column.numbers![row]!) : [],
    indices: column.indices?.length ? rows.map((row) => column.indices![row]!) : [],
  }));
  return { columns, rowCount: rows.length, remainingCount: 0 };
}

export interface DisplayUnit {
  unit: string;
  // Multiplies values of the original unit.
  factor: number;
}

// Returns the unit in which a figure shows values up to `largest`.
export function displayUnit(largest: number, unit: string): DisplayUnit {
  const from = splitUnit(unit);
  const shown = quantityParts(largest, unit).unit;
  const to = splitUnit(shown);
  if (!from || !to || shown === unit) return { unit, factor: 1 };
  return { unit: shown, factor: from.factor / to.factor };
}

// Returns "bus bandwidth (GB/s)".
export function axisTitle(name: string, unit: string): string {
  const words = name.replaceAll("_", " ");
  return unit ? `${words} (${unit})` : words;
}
