// The order of a report's tables.

const collator = new Intl.Collator("en", { numeric: true });
const NUMBER = /^[+\-−]?\d[\d,]*(\.\d+)?(e[+-]?\d+)?/i;

function toSortNumber(text: string): number | undefined {
  const match = NUMBER.exec(text);
  // Times and names that begin with a digit are texts.
  if (!match || /^[-:\w]/.test(text.slice(match[0].length))) return undefined;
  return Number(match[0].replaceAll(",", "").replace("−", "-"));
}

// Returns the order of cells: by number if all that are not empty have one, and otherwise as texts.
// Empty cells come last in both directions, and equal ones keep their order.
export function sortCells(cells: string[], descending: boolean): number[] {
  const numbers = cells.map(toSortNumber);
  const numeric = cells.every((cell, index) => cell === "" || numbers[index] !== undefined);
  const compare = (a: number, b: number) =>
    numeric ? numbers[a]! - numbers[b]! : collator.compare(cells[a]!, cells[b]!);
  return cells
    .map((_, index) => index)
    .sort((a, b) => {
      const empty = Number(cells[a] === "") - Number(cells[b] === "");
      if (empty || cells[a] === "") return empty || a - b;
      return (descending ? -compare(a, b) : compare(a, b)) || a - b;
    });
}
