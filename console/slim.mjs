// Leaves parts of Observable Plot and D3 out of the bundles that no figure uses but that a bundler
// cannot tell from the rest: maps, tips, legends, colour schemes and curves. A part that is used after all
// fails with its name.

import { readFileSync } from "node:fs";
import { basename } from "node:path";

const PACKAGES = /^(d3-geo|d3-scale-chromatic)$/;
const PLOT_FILES =
  /@observablehq[/\\]plot[/\\]src[/\\](marks[/\\]tip|interactions[/\\]pointer|legends[/\\](ramp|swatches))\.js$/;

// All lines are straight.
const CURVES = /d3-shape[/\\]src[/\\]curve[/\\](basis|bump|bundle|cardinal|catmullRom|monotone|natural|step)\w*\.js$/;

function stub(name, origin) {
  // Schemes are lists, which are read only when a figure uses them.
  if (name.startsWith("scheme")) return `export const ${name} = [];\n`;
  // Plot calls this one while it loads.
  if (name === "geoTransform") return `export const ${name} = () => ({});\n`;
  return `export function ${name}() { throw new Error("${origin}: ${name} is not in this bundle"); }\n`;
}

export function slimPlot() {
  return {
    name: "slim-plot",
    setup(build) {
      build.onResolve({ filter: PACKAGES }, (args) => ({
        path: args.path,
        namespace: "slim",
        sideEffects: false,
      }));
      build.onLoad({ filter: /.*/, namespace: "slim" }, async (args) => {
        const names = Object.keys(await import(args.path));
        return { contents: names.map((name) => stub(name, args.path)).join("") };
      });
      const stubFile = (args) => {
        const source = readFileSync(args.path, "utf8");
        const names = [...source.matchAll(/^export (?:function|class) (\w+)/gm)].map((match) => match[1]);
        const stubs = names.map((name) => stub(name, basename(args.path))).join("");
        return { contents: stubs + (/^export default/m.test(source) ? "export default () => {};\n" : "") };
      };
      build.onLoad({ filter: PLOT_FILES }, stubFile);
      build.onLoad({ filter: CURVES }, stubFile);
    },
  };
}
