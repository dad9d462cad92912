// Builds the console and the page of the report.
//
//   node build.mjs --out DIR     bundles into DIR and writes DIR/manifest.json
//   node build.mjs --types DIR   generates the types of the messages into DIR, for the type checks
//
// Both may be given.

import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { slimPlot } from "./slim.mjs";

const root = dirname(fileURLToPath(import.meta.url));

// Largest sizes after gzip -9, in bytes.
const BUDGET = { js: 140_000, css: 10_000 };

function fail(message) {
  console.error(`build.mjs: ${message}`);
  process.exit(1);
}

function parseArguments(argv) {
  const options = {};
  for (let i = 0; i < argv.length; i += 2) {
    const name = argv[i];
    if (name !== "--out" && name !== "--types")
      fail(`unknown option "${name}"; known: --out, --types`);
    if (argv[i + 1] === undefined) fail(`${name} needs a folder`);
    options[name.slice(2)] = resolve(argv[i + 1]);
  }
  if (!options.out && !options.types) fail("give --out DIR, --types DIR or both");
  return options;
}

// Generates TypeScript declarations of the JSON forms of all messages.
function generateTypes(folder) {
  const protos = resolve(root, "../proto");
  const files = readdirSync(join(protos, "assay/v1")).filter((name) => name.endsWith(".proto"));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  execFileSync(
    "protoc",
    [
      `--plugin=protoc-gen-es=${join(root, "node_modules/.bin/protoc-gen-es")}`,
      `--es_out=${folder}`,
      "--es_opt=target=dts,json_types=true",
      `-I${protos}`,
      ...files.map((name) => `assay/v1/${name}`),
    ],
    { stdio: "inherit" },
  );
}

// Returns the text of the <style> element that Plot puts into every figure. The coordinator's
// Content-Security-Policy allows it by its hash.
function plotStyle() {
  const source = join(root, "node_modules/@observablehq/plot/src");
  const name = /return "(plot-[0-9a-f]+)"/.exec(
    readFileSync(join(source, "style.js"), "utf8"),
  )?.[1];
  const text = /svg\.append\("style"\)\.text\(\s*`([^`]*)`/.exec(
    readFileSync(join(source, "plot.js"), "utf8"),
  )?.[1];
  if (!name || !text) fail("found no <style> text in the sources of Observable Plot");
  return { name, text: text.replaceAll("${className}", name) };
}

function checkStyleIsBundled(code, style) {
  const selector = style.text.slice(style.text.indexOf("{"), style.text.indexOf("}"));
  if (!code.includes(selector) || !code.includes(style.name)) {
    fail("the <style> text of Observable Plot is not in the bundle; its hash would be wrong");
  }
}

// Leaves the map projections out of the bundles: Plot imports them, but no figure uses them.
const withoutProjections = {
  name: "without-projections",
  setup(hooks) {
    hooks.onLoad({ filter: /node_modules\/d3-geo\/src\/index\.js$/ }, async () => {
      const names = Object.keys(await import("d3-geo"));
      return {
        contents: `const unused = () => undefined;\nexport {${names.map((name) => ` unused as ${name}`)} };`,
      };
    });
  },
};

async function bundle(entries) {
  const result = await build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir: "out",
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: ["es2022"],
    charset: "utf8",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
    plugins: [slimPlot()],
  });
  const outputs = new Map(
    result.outputFiles.map((file) => [file.path.split("/").pop(), file.contents]),
  );
  return { outputs, metafile: result.metafile };
}

// Lists the licences of the packages that are part of a bundle.
function notices(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.add(match[1]);
  }
  return [...packages].sort().map((name) => {
    const folder = join(root, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? readFileSync(join(folder, file), "utf8").trim() : "";
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
}

async function main() {
  const options = parseArguments(process.argv.slice(2));
  if (options.types) generateTypes(options.types);
  if (!options.out) return;

  const style = plotStyle();
  const { outputs, metafile } = await bundle({
    console: "src/main.tsx",
    "console-style": "src/style.css",
    report: "src/report.tsx",
    "report-style": "src/report.css",
  });

  const files = {};
  const add = (path, contents) => (files[path] = Buffer.from(contents));
  const hashed = (name, extension, contents) => {
    const hash = createHash("sha256").update(contents).digest("hex").slice(0, 10);
    const path = `assets/${name}-${hash}.${extension}`;
    add(path, contents);
    return path;
  };
  const js = hashed("console", "js", outputs.get("console.js"));
  const css = hashed("console", "css", outputs.get("console-style.css"));
  add(
    "index.html",
    readFileSync(join(root, "src/index.html"), "utf8")
      .replace("CONSOLE_JS", js)
      .replace("CONSOLE_CSS", css),
  );
  add("report.js", outputs.get("report.js"));
  add("report.css", outputs.get("report-style.css"));
  add("licenses.txt", notices(metafile).join("\n----\n\n"));

  checkStyleIsBundled(files[js].toString(), style);

  let overBudget = false;
  for (const [path, contents] of Object.entries(files)) {
    const size = gzipSync(contents, { level: 9 }).length;
    const budget = BUDGET[path.split(".").pop()];
    const excess = budget !== undefined && size > budget;
    overBudget ||= excess;
    console.log(
      `${path.padEnd(36)} ${String(contents.length).padStart(8)} B, ${String(size).padStart(7)} B gz` +
        (budget ? ` of ${budget}` : "") +
        (excess ? "  OVER THE BUDGET" : ""),
    );
  }
  if (overBudget) fail("a file is larger than its budget");

  rmSync(options.out, { recursive: true, force: true });
  for (const [path, contents] of Object.entries(files)) {
    const target = join(options.out, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, contents);
  }
  const manifest = {
    files: Object.keys(files).sort(),
    plotStyleHash: `sha256-${createHash("sha256").update(style.text).digest("base64")}`,
  };
  writeFileSync(join(options.out, "manifest.json"), JSON.stringify(manifest, null, 2) + "\n");
}

await main();
