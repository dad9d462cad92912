// Refuses code that could turn data into markup or script.

import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(fileURLToPath(import.meta.url));

const RULES = [
  [/\b(inner|outer)HTML\b/, "use text nodes instead of innerHTML and outerHTML"],
  [/\bdangerouslySetInnerHTML\b/, "use text nodes instead of dangerouslySetInnerHTML"],
  [/\binsertAdjacentHTML\b/, "use text nodes instead of insertAdjacentHTML"],
  [/\bdocument\.write/, "do not use document.write"],
  [/\beval\s*\(|\bnew Function\b/, "do not make code from text"],
  [/\bsrcdoc\b|\bjavascript:/, "do not use srcdoc and javascript:"],
  [
    /setAttribute\(\s*["'](href|src|style|on)/,
    "do not set href, src, style or handlers as attributes",
  ],
  [
    /\bhref=(?!\{(to|toParams|safeHref)\()(?!["']#)/,
    "make links with to(), toParams() or safeHref() of router.ts",
  ],
  [/\bstyle="/, "the Content-Security-Policy forbids style attributes in markup"],
  [/\blegend:\s*true/, "Plot's legends have a <style> that the Content-Security-Policy forbids"],
];

function* sources(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (/\.(ts|tsx)$/.test(entry.name)) yield path;
  }
}

let failures = 0;
for (const path of sources(join(root, "src"))) {
  readFileSync(path, "utf8")
    .split("\n")
    .forEach((line, index) => {
      for (const [pattern, advice] of RULES) {
        if (!pattern.test(line)) continue;
        console.error(`${path}:${index + 1}: ${advice}`);
        failures += 1;
      }
    });
}
process.exit(failures ? 1 : 0);
