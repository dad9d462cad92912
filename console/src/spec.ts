// Performance of GPUs as a share of their spec sheets.

import { useMemo } from "preact/hooks";
import type { NodeJson } from "proto/node_service_pb";
import type { ResultColumnJson, TabulateResultsResponseJson } from "proto/result_service_pb";
import type { CallError } from "./api";
import { quoteFilter } from "./format";
import { useCall } from "./hooks";
import { ListFacets, TabulateResults } from "./rpc";

const LIMIT = 10_000;

// Names of the benchmarks that have results.
export function useBenchmarks(wanted: boolean): { names: readonly string[] } {
  const { data } = useCall(ListFacets, wanted ? { fields: ["benchmark"], limit: 200 } : undefined);
  const names = useMemo(
    () => data?.facets?.find(({ field }) => field === "benchmark")?.values ?? [],
    [data],
  );
  return { names };
}

// The texts of a column, "" where a result does not have the field.
export function texts(column: ResultColumnJson | undefined): string[] {
  const names = column?.texts ?? [];
  return (column?.indices ?? []).map((index) => names[index] ?? "");
}

export function numbers(column: ResultColumnJson | undefined): number[] {
  return (column?.numbers ?? []).map(Number);
}

// Returns each GPU's best share of the spec sheet over its cases, with the newest result of each
// case. The rows must begin with the newest one.
export function bestByGpu(
  uuids: readonly string[],
  lineages: readonly string[],
  efficiencies: readonly number[],
): Map<string, number> {
  const seen = new Set<string>();
  const best = new Map<string, number>();
  uuids.forEach((uuid, row) => {
    const efficiency = efficiencies[row];
    const key = `${uuid} ${lineages[row]}`;
    if (!uuid || efficiency === undefined || Number.isNaN(efficiency) || seen.has(key)) return;
    seen.add(key);
    best.set(uuid, Math.max(best.get(uuid) ?? 0, efficiency));
  });
  return best;
}

const FIELDS = ["gpu.uuid", "lineage_id", "efficiency_spec"];
const NONE: ReadonlyMap<string, number> = new Map();

// The share of the spec sheet that each GPU reached alone in a benchmark, by UUID.
export function useEfficiencies(
  benchmark: string,
  simulated: boolean | undefined,
): { byGpu: ReadonlyMap<string, number>; error: CallError | undefined } {
  const filter =
    `benchmark = ${quoteFilter(benchmark)} AND gpu.count = 1 AND efficiency_spec > 0` +
    (simulated ? " AND simulated = true" : "");
  const { data, error } = useCall(
    TabulateResults,
    benchmark ? { filter, fields: FIELDS, limit: LIMIT } : undefined,
    300,
  );
  const byGpu = useMemo(() => {
    if (!data) return NONE;
    const column = (name: string): ResultColumnJson | undefined =>
      data.columns?.find(({ field }) => field === name);
    return bestByGpu(
      texts(column("gpu.uuid")),
      texts(column("lineage_id")),
      numbers(column("efficiency_spec")),
    );
  }, [data]);
  return { byGpu, error };
}

// How the GPUs of a node and their peers compare in one benchmark.
export interface Share {
  benchmark: string;
  // Shares of the spec sheet of the node's GPUs, lowest first.
  own: number[];
  median: number;
  // Number of peers: GPUs of the same model on other nodes. The others are NaN if there is none.
  peers: number;
  peerLow: number;
  peerMedian: number;
  peerHigh: number;
}

// The value below which `part` of sorted values are, interpolated.
export function quantile(sorted: readonly number[], part: number): number {
  if (sorted.length === 0) return NaN;
  const at = part * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low]! * (1 - (at - low)) + sorted[high]! * (at - low);
}

interface ShareRows {
  benchmarks: readonly string[];
  uuids: readonly string[];
  lineages: readonly string[];
  efficiencies: readonly number[];
}

// Compares the node's GPUs with all others in each benchmark that the node has run.
export function compareShares(
  own: ShareRows,
  others: ShareRows,
  ownUuids: ReadonlySet<string>,
): Share[] {
  const byBenchmark = (rows: ShareRows): Map<string, Map<string, number>> => {
    const indices = new Map<string, number[]>();
    rows.benchmarks.forEach((benchmark, row) => {
      const list = indices.get(benchmark);
      if (list) list.push(row);
      else indices.set(benchmark, [row]);
    });
    return new Map(
      [...indices].map(([benchmark, list]) => [
        benchmark,
        bestByGpu(
          list.map((row) => rows.uuids[row]!),
          list.map((row) => rows.lineages[row]!),
          list.map((row) => rows.efficiencies[row]!),
        ),
      ]),
    );
  };
  const ascending = (a: number, b: number): number => a - b;
  const peers = byBenchmark(others);
  return [...byBenchmark(own)]
    .filter(([, best]) => best.size > 0)
    .map(([benchmark, best]) => {
      const mine = [...best.values()].sort(ascending);
      const theirs = [...(peers.get(benchmark) ?? [])]
        .filter(([uuid]) => !ownUuids.has(uuid))
        .map(([, share]) => share)
        .sort(ascending);
      return {
        benchmark,
        own: mine,
        median: quantile(mine, 0.5),
        peers: theirs.length,
        peerLow: quantile(theirs, 0.05),
        peerMedian: quantile(theirs, 0.5),
        peerHigh: quantile(theirs, 0.95),
      };
    })
    .sort((a, b) => (a.benchmark < b.benchmark ? -1 : 1));
}

const SHARE_FIELDS = ["benchmark", "gpu.uuid", "lineage_id", "efficiency_spec"];
const OWN_LIMIT = 2000;
const PEER_LIMIT = 2000;

function shareRows(response: TabulateResultsResponseJson): ShareRows {
  const column = (name: string): ResultColumnJson | undefined =>
    response.columns?.find(({ field }) => field === name);
  return {
    benchmarks: texts(column("benchmark")),
    uuids: texts(column("gpu.uuid")),
    lineages: texts(column("lineage_id")),
    efficiencies: numbers(column("efficiency_spec")),
  };
}

export function usePeerShares(node: NodeJson): {
  // Undefined until both answers are there.
  shares: Share[] | undefined;
  error: CallError | undefined;
  // True if older results of peers were left out.
  partial: boolean;
} {
  const { name = "", inventory } = node.description ?? {};
  const gpus = inventory?.gpus ?? [];
  const simulated = inventory?.simulated ? " AND simulated = true" : "";
  const model = gpus[0]?.model ?? "";
  const alone = "gpu.count = 1 AND efficiency_spec > 0";
  const own = useCall(TabulateResults, {
    filter: `node = ${quoteFilter(name)} AND ${alone}${simulated}`,
    fields: SHARE_FIELDS,
    limit: OWN_LIMIT,
  });
  const others = useCall(
    TabulateResults,
    model
      ? {
          filter: `gpu.model = ${quoteFilter(model)} AND ${alone} AND node != ${quoteFilter(name)}${simulated}`,
          fields: SHARE_FIELDS,
          limit: PEER_LIMIT,
        }
      : undefined,
  );
  const uuids = gpus.map((gpu) => gpu.uuid ?? "").join(" ");
  const shares = useMemo(
    () =>
      own.data && others.data
        ? compareShares(shareRows(own.data), shareRows(others.data), new Set(uuids.split(" ")))
        : undefined,
    [own.data, others.data, uuids],
  );
  return {
    shares,
    error: own.error ?? others.error,
    partial: (others.data?.remainingCount ?? 0) > 0,
  };
}
