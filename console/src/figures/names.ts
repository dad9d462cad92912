// Names of cases and places, as the command line writes them.

import type { CaseIdentityJson, PlaceJson } from "proto/analysis_pb";
import type { EnvironmentJson } from "proto/result_pb";
import { bytes, num } from "../format";

// A double that may be absent, as a number. NaN if it is absent.
export function toNumber(value: number | string | undefined): number {
  return num(value) ?? NaN;
}

// Shortens a text in its middle, so that beginnings and ends stay comparable.
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  if (length <= 1) return "…";
  const head = Math.ceil((length - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (length - 1 - head))}`;
}

// Returns "8x H200 SXM", or the model of the CPU.
export function hardwareName(environment: EnvironmentJson | undefined): string {
  if (!environment) return "";
  const { gpuModel = "", gpuFormFactor = "", gpuCount = 0, cpuModel = "" } = environment;
  if (!gpuModel) return cpuModel;
  const name = gpuFormFactor && !gpuModel.includes(gpuFormFactor) ? `${gpuModel} ${gpuFormFactor}` : gpuModel;
  return gpuCount > 1 ? `${gpuCount}x ${name}` : name;
}

// Returns "GPU 3 of sim-0007", "sim-0007 (8 GPUs)" or "sim-0001 +3 (32 GPUs)".
export function placeName(place: PlaceJson | undefined): string {
  const { nodeNames = [], gpuUuids = [], gpuIndices = [] } = place ?? {};
  const names = [...new Set(nodeNames)];
  const nodes = names.length > 2 ? `${names[0]} +${names.length - 1}` : names.join(", ");
  const count = Math.max(gpuUuids.length, gpuIndices.length);
  if (count === 0) return nodes || "unknown place";
  if (count > 1) return nodes ? `${nodes} (${count} GPUs)` : `${count} GPUs`;
  const gpu = gpuIndices.length === 1 ? `GPU ${gpuIndices[0]}` : (gpuUuids[0] ?? "").slice(0, 12);
  return nodes ? `${gpu} of ${nodes}` : gpu;
}

// Returns the noun for the places of cases.
export function placeNoun(cases: CaseIdentityJson[]): string {
  const counts = cases.map((one) => one.hardware?.gpuCount ?? 0);
  if (counts.every((count) => count === 1)) return "GPU";
  return counts.every((count) => count === 0) ? "node" : "place";
}

export type Parameters = { [name: string]: string };

// Returns the names of the parameters in which cases of one benchmark differ.
export function varyingParameters(cases: { benchmark?: string; parameters?: Parameters }[]) {
  const values = new Map<string, Map<string, Set<string>>>();
  for (const { benchmark = "", parameters = {} } of cases) {
    const names = values.get(benchmark) ?? new Map<string, Set<string>>();
    values.set(benchmark, names);
    for (const [name, value] of Object.entries(parameters)) {
      const set = names.get(name) ?? new Set<string>();
      names.set(name, set.add(value));
    }
  }
  const varying = new Map<string, Set<string>>();
  for (const [benchmark, names] of values) {
    const several = [...names].filter(([, set]) => set.size > 1).map(([name]) => name);
    varying.set(benchmark, new Set(several));
  }
  return varying;
}

const SIZES = ["m", "n", "k"];

// Returns names in the order in which people read them: m, n and k first.
export function parameterOrder(names: Iterable<string>): string[] {
  const rank = (name: string) => (SIZES.includes(name) ? SIZES.indexOf(name) : SIZES.length);
  return [...names].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0));
}

// Names the parameters of cases in a table: only those in which the cases of one benchmark differ,
// or all if none differs.
export function parameterNames(cases: { benchmark?: string; parameters?: Parameters }[]) {
  const varying = varyingParameters(cases);
  return (benchmark: string, parameters: Parameters): string => {
    const names = varying.get(benchmark);
    if (!names?.size) return parametersName(parameters);
    return parametersName(Object.fromEntries(Object.entries(parameters).filter(([name]) => names.has(name))));
  };
}

// Returns a case as `assay history` takes it: "gemm[m=8192,dtype=bf16].tflops", with the parameters
// in which it differs from the other cases, or all if there is no other.
export function caseExpression(identity: CaseIdentityJson, all: CaseIdentityJson[]): string {
  const names = varyingParameters(all).get(identity.benchmark ?? "");
  const given = Object.keys(identity.parameters ?? {}).filter((name) => !names?.size || names.has(name));
  const list = parameterOrder(given).map((name) => `${name}=${identity.parameters![name]}`);
  return `${identity.benchmark ?? ""}${list.length ? `[${list.join(",")}]` : ""}.${identity.metric ?? ""}`;
}

// Returns "m=n=k=8192 dtype=bf16": parameters with the same numeric value are joined, and sizes
// have units.
export function parametersName(parameters: Parameters): string {
  const byValue = new Map<string, string[]>();
  for (const name of parameterOrder(Object.keys(parameters))) {
    const value = parameters[name]!;
    // Only sizes of matrices are joined: "m=n=k=8192", but not "nodes=ranks=2".
    const key = SIZES.includes(name) ? value : `${name} ${value}`;
    byValue.set(key, [...(byValue.get(key) ?? []), name]);
  }
  return [...byValue.values()]
    .map((names) => {
      const value = parameters[names[0]!]!;
      const isSize = names[0] === "bytes" && /^\d+$/.test(value);
      return `${names.join("=")}=${isSize ? bytes(value).replace(" ", "") : value}`;
    })
    .join(" ");
}

// Names the cases of one figure: with the parameters, the metric and the hardware only if the
// benchmark has several.
export function caseNames(cases: CaseIdentityJson[]): (identity: CaseIdentityJson) => string {
  const varying = varyingParameters(cases);
  const metrics = new Map<string, Set<string>>();
  const hardware = new Map<string, Set<string>>();
  const caches = new Set<string>();
  const fills = new Set<string>();
  for (const one of cases) {
    const benchmark = one.benchmark ?? "";
    metrics.set(benchmark, (metrics.get(benchmark) ?? new Set()).add(one.metric ?? ""));
    hardware.set(benchmark, (hardware.get(benchmark) ?? new Set()).add(hardwareName(one.hardware)));
    caches.add(one.cache ?? "");
    fills.add(one.fill ?? "");
  }
  return (one) => {
    const benchmark = one.benchmark ?? "";
    const names = varying.get(benchmark) ?? new Set();
    const all = Object.entries(one.parameters ?? {});
    const shown = names.size ? all.filter(([name]) => names.has(name)) : all;
    const words = [benchmark, parametersName(Object.fromEntries(shown))];
    if (caches.size > 1 && one.cache) words.push(`cache=${one.cache}`);
    if (fills.size > 1 && one.fill) words.push(`fill=${one.fill}`);
    if ((hardware.get(benchmark)?.size ?? 0) > 1) words.push(hardwareName(one.hardware));
    const name = words.filter(Boolean).join(" ");
    return (metrics.get(benchmark)?.size ?? 0) > 1 ? `${name}: ${one.metric ?? ""}` : name;
  };
}

// Identifies a case within one answer.
export function caseKey(one: CaseIdentityJson): string {
  const parameters = Object.entries(one.parameters ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([
    one.benchmark,
    parameters,
    one.metric,
    one.cache,
    one.fill,
    hardwareName(one.hardware),
  ]);
}
