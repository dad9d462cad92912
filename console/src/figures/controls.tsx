// Choices above figures, and the commands below them.

import type { JSX } from "preact";
import { quoteFilter, quoteShell } from "../format";
import { toParams } from "../router";

export type Option = string | { value: string; text: string };

// A list to choose from, with its label. Shows a value that is not in the list too.
export function Choice(props: {
  label: string;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}): JSX.Element {
  const options = props.options.map((option) =>
    typeof option === "string" ? { value: option, text: option } : option,
  );
  if (!options.some((option) => option.value === props.value)) {
    options.unshift({ value: props.value, text: props.value || "choose" });
  }
  return (
    <label class="choice">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  );
}

// Buttons of which one is pressed.
export function Switch(props: {
  label: string;
  value: string;
  options: readonly { value: string; text: string; disabled?: boolean }[];
  onChange: (value: string) => void;
}): JSX.Element {
  return (
    <span class="switch" role="group" aria-label={props.label}>
      {props.options.map((option) => (
        <button
          key={option.value}
          type="button"
          class="small"
          disabled={option.disabled}
          aria-pressed={option.value === props.value}
          onClick={() => props.onChange(option.value)}
        >
          {option.text}
        </button>
      ))}
    </span>
  );
}

// Returns a command line: the words in quotes where needed, then the options that have a value.
export function commandLine(words: string[], options: Record<string, string | undefined> = {}): string {
  const parts = words.map(quoteShell);
  for (const [name, value] of Object.entries(options)) {
    if (value) parts.push(`--${name}`, quoteShell(value));
  }
  return ["assay", ...parts].join(" ");
}

// Splits a filter that is a plain list of conditions.
function conditions(filter: string): string[] {
  const parts = /["'()]|\bOR\b|\bNOT\b/.test(filter) ? [filter] : filter.split(/\s+AND\s+/);
  return parts.map((part) => part.trim()).filter(Boolean);
}

// Joins conditions with AND, each once. Empty ones are left out, and parentheses keep their OR inside.
export function both(...filters: string[]): string {
  const parts = [...new Set(filters.flatMap(conditions))];
  if (parts.length === 1) return parts[0]!;
  return parts.map((part) => (/\bOR\b/.test(part) ? `(${part})` : part)).join(" AND ");
}

// Returns 'field = value', or a condition that the field has no value.
export function equals(field: string, value: string): string {
  return value === "" ? `NOT ${field} : *` : `${field} = ${quoteFilter(value)}`;
}

// Simulated results match only filters that name them. Offers that where nothing else matched.
export function SimulatedHint({ filter }: { filter: string }): JSX.Element | null {
  if (/\bsimulated\b/.test(filter)) return null;
  return (
    <p>
      <a href={toParams({ filter: both(filter, "simulated = true") })}>Look among simulated results</a>, which other
      filters leave out.
    </p>
  );
}

// Lets the browser save a text as a file.
export function download(name: string, type: string, content: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser reads the file after this call.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// Returns a table as CSV (RFC 4180).
export function csv(rows: readonly (readonly (string | number)[])[]): string {
  const cell = (value: string | number) => {
    const text = String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}
