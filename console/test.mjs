// Bundles test/*.test.ts and runs them with Node's test runner.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(join(tmpdir(), "assay-console-test-"));
const tests = readdirSync(join(root, "test")).filter((name) => name.endsWith(".test.ts"));

await build({
  absWorkingDir: root,
  entryPoints: tests.map((name) => `test/${name}`),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  target: ["node18"],
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});

const files = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--test", ...files], {
  stdio: "inherit",
  // Local times in the tests do not depend on the machine.
  env: { ...process.env, TZ: "UTC" },
});
rmSync(out, { recursive: true, force: true });
process.exit(status ?? 1);
