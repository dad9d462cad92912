// Fields and values for the completions of filters.

import { useMemo } from "preact/hooks";
import type { FilterField } from "./complete";
import { useCall } from "./hooks";
import { ListFacets } from "./rpc";
import { useSimulated } from "./simulated";

// Fields whose values are worth completing.
const VALUE_FIELDS = [
  "benchmark",
  "campaign",
  "node",
  "metric",
  "gpu.model",
  "driver",
  "cuda",
  "nccl",
  "provider",
  "region",
  "topology",
  "cache",
  "fill",
  "outcome",
  "effort",
  "regime",
  "flag",
  "agent_version",
];

const NO_FIELDS: readonly FilterField[] = [];

// The fields of results, with their values in this fleet.
export function useResultFields(): readonly FilterField[] {
  const simulated = useSimulated();
  const { data } = useCall(
    ListFacets,
    simulated === undefined ? undefined : { fields: VALUE_FIELDS, limit: 200, simulated },
  );
  return useMemo(
    () =>
      data?.facets?.map((facet) => ({
        field: facet.field ?? "",
        description: facet.description ?? "",
        type: facet.type ?? "",
        example: facet.example ?? "",
        values: facet.values ?? [],
      })) ?? NO_FIELDS,
    [data],
  );
}
