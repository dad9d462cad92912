// Tells if the fleet is simulated. Results and findings of simulated nodes are separate from those of
// real ones, and calls must ask for one or the other.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useCall } from "./hooks";
import { GetFleet } from "./rpc";

const known = signal<boolean | undefined>(undefined);

// Called with each summary of the fleet.
export function setSimulated(simulated: boolean | undefined): void {
  if (simulated !== undefined) known.value = simulated;
}

// A filter that matches no node: only the summary is needed.
const NO_NODES = { filter: 'name = "" AND name : *' };

// Undefined until it is known.
export function useSimulated(): boolean | undefined {
  const { data, error } = useCall(GetFleet, known.value === undefined ? NO_NODES : undefined);
  const answer = data?.summary?.simulated ?? (data || error ? false : undefined);
  useEffect(() => setSimulated(answer), [answer]);
  return known.value ?? answer;
}

// Matches simulated and real results. Without it, a filter matches real ones only.
export const ANY_RESULTS = "simulated in (true, false)";
