// Completions of filters.

import { quoteFilter } from "./format";

export interface FilterField {
  field: string;
  description: string;
  // "text", "number", "boolean", "time" or "map".
  type?: string;
  // An operator and a value: ">= 570".
  example?: string;
  values?: readonly string[];
}

export interface Completion {
  label: string;
  detail: string;
  // Replaces the text from `from` to `to`.
  insert: string;
  from: number;
  to: number;
}

const MAX_COMPLETIONS = 12;

interface Token {
  text: string;
  start: number;
  end: number;
  kind: "word" | "operator" | "parenthesis";
}

// Splits a filter into words, operators and parentheses. An unfinished quote runs to the end.
export function tokenize(filter: string): Token[] {
  const tokens: Token[] = [];
  const pattern = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|!=|<=|>=|[=<>:]|[(),]|[^\s=<>!:(),"']+|!/g;
  for (const match of filter.matchAll(pattern)) {
    const text = match[0];
    tokens.push({
      text,
      start: match.index,
      end: match.index + text.length,
      kind: /^(!=|<=|>=|[=<>:])$/.test(text)
        ? "operator"
        : /^[(),]$/.test(text)
          ? "parenthesis"
          : "word",
    });
  }
  return tokens;
}

const KEYWORDS = new Set(["AND", "OR", "NOT"]);

// Returns what may stand at the caret: fields, values of the field before, or AND and OR.
export function complete(
  filter: string,
  caret: number,
  fields: readonly FilterField[],
): Completion[] {
  const before = tokenize(filter.slice(0, caret));
  const last = before.at(-1);
  const typing = last && last.kind === "word" && last.end === caret ? last : undefined;
  const done = typing ? before.slice(0, -1) : before;
  const prefix = typing?.text ?? "";
  const from = typing?.start ?? caret;
  const to = caret;

  const field = valueField(done, fields);
  if (field) {
    const wanted = prefix.replace(/^["']/, "").toLowerCase();
    return matching(field.values ?? [], wanted, (value) => value)
      .filter((value) => quoteFilter(value) !== prefix)
      .map((value) => ({
        label: value,
        detail: field.field,
        insert: `${quoteFilter(value)} `,
        from,
        to,
      }));
  }
  if (expectsOperator(done)) {
    return ["AND", "OR"]
      .filter((word) => word.startsWith(prefix.toUpperCase()) && word !== prefix)
      .map((word) => ({ label: word, detail: "", insert: `${word} `, from, to }));
  }
  const wanted = prefix.replace(/^-/, "");
  const sign = prefix.startsWith("-") ? "-" : "";
  return matching(fields, wanted.toLowerCase(), (entry) => entry.field)
    .filter((entry) => entry.field !== wanted || entry.type === "map")
    .map((entry) => ({
      label: entry.field,
      detail: entry.description,
      insert: sign + entry.field + (entry.type === "map" ? "." : ` ${operatorOf(entry)} `),
      from,
      to,
    }));
}

function operatorOf(entry: FilterField): string {
  return /^(!=|<=|>=|[=<>:])/.exec(entry.example ?? "")?.[0] ?? "=";
}

// The field whose value comes next, if any: after "field =" or within "field in (".
function valueField(
  done: readonly Token[],
  fields: readonly FilterField[],
): FilterField | undefined {
  const find = (name: string | undefined): FilterField | undefined => {
    if (name === undefined) return undefined;
    const field = fields.find((entry) => entry.field === name.replace(/^-/, ""));
    return field ?? { field: name, description: "" };
  };
  const last = done.at(-1);
  if (last?.kind === "operator") return find(done.at(-2)?.text);
  for (let index = done.length - 1; index >= 2; index -= 1) {
    const text = done[index]!.text;
    if (text === ")") break;
    if (text === "(" && done[index - 1]!.text === "in") {
      return last?.text === "(" || last?.text === "," ? find(done[index - 2]?.text) : undefined;
    }
  }
  return undefined;
}

// Returns true if a comparison has just ended, so that AND or OR may follow.
function expectsOperator(done: readonly Token[]): boolean {
  const last = done.at(-1);
  if (!last || KEYWORDS.has(last.text)) return false;
  if (last.text === ")") return true;
  return last.kind === "word" && done.at(-2)?.kind === "operator";
}

// Entries whose name begins with `wanted`, then those that contain it.
function matching<T>(entries: readonly T[], wanted: string, name: (entry: T) => string): T[] {
  const beginning = entries.filter((entry) => name(entry).toLowerCase().startsWith(wanted));
  const containing = entries.filter((entry) => name(entry).toLowerCase().indexOf(wanted) > 0);
  return [...beginning, ...containing].slice(0, MAX_COMPLETIONS);
}
