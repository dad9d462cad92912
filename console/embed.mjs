// Writes the built files as C++ sources, for the coordinator and for `assay report`.
//
//   node embed.mjs DIST OUT      reads DIST/manifest.json, writes OUT/console_assets.cc and
//                                OUT/report_assets.cc

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  txt: "text/plain; charset=utf-8",
};

function array(name, bytes) {
  const lines = [];
  for (let i = 0; i < bytes.length; i += 24) lines.push([...bytes.subarray(i, i + 24)].join(","));
  return `constexpr unsigned char ${name}[] = {\n${lines.join(",\n")}};\n`;
}

function view(name) {
  return `std::string_view(reinterpret_cast<const char*>(${name}), sizeof ${name})`;
}

function consoleSource(files, styleSources) {
  const names = Object.keys(files);
  const data = names.map((path, i) => array(`kData${i}`, gzipSync(files[path], { level: 9 })));
  const rows = names.map((path, i) => {
    const etag = createHash("sha256").update(files[path]).digest("hex").slice(0, 16);
    const served = path === "index.html" ? "/" : `/${path}`;
    const type = TYPES[path.split(".").pop()];
    return `      {"${served}", "${type}", "\\"${etag}\\"", ${path.startsWith("assets/")}, ${view(`kData${i}`)}},`;
  });
  return `#include "coordinator/web/assets.h"

#include <array>

namespace assay::coordinator::web {
namespace {

${data.join("\n")}
}  // namespace

std::span<const Asset> Assets() {
  static const std::array<Asset, ${names.length}> assets = {{
${rows.join("\n")}
  }};
  return assets;
}

std::string_view StyleSources() { return "${styleSources}"; }

}  // namespace assay::coordinator::web
`;
}

function reportSource(script, style, styleSources) {
  return `#include "cli/report/assets.h"

namespace assay::cli {
namespace {

${array("kScript", gzipSync(script, { level: 9 }))}
${array("kStyle", gzipSync(style, { level: 9 }))}
}  // namespace

std::string_view ReportScriptGzip() { return ${view("kScript")}; }
std::string_view ReportStyleGzip() { return ${view("kStyle")}; }
std::string_view ReportStyleSources() { return "${styleSources}"; }

}  // namespace assay::cli
`;
}

const [dist, out] = process.argv.slice(2);
const manifest = JSON.parse(readFileSync(join(dist, "manifest.json"), "utf8"));
const files = {};
for (const path of manifest.files) {
  if (!path.startsWith("report.")) files[path] = readFileSync(join(dist, path));
}
mkdirSync(out, { recursive: true });
const styleSources = `'${manifest.plotStyleHash}'`;
const report = (name) => readFileSync(join(dist, `report.${name}`));
writeFileSync(join(out, "console_assets.cc"), consoleSource(files, styleSources));
writeFileSync(join(out, "report_assets.cc"), reportSource(report("js"), report("css"), styleSources));
