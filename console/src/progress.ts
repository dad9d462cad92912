// The progress of a campaign by benchmark and place.

import type {
  BenchmarkProgressJson,
  EstimateJson,
  JobCountsJson,
  PlaceProgressJson,
} from "proto/campaign_service_pb";
import { count, durationSeconds, plural } from "./format";

export const PROGRESS_STATES = [
  { key: "failed", label: "failed" },
  { key: "running", label: "running" },
  { key: "part", label: "partly done" },
  { key: "queued", label: "queued" },
  { key: "done", label: "done" },
  { key: "skipped", label: "skipped" },
  { key: "cancelled", label: "cancelled" },
] as const;
export type ProgressState = (typeof PROGRESS_STATES)[number]["key"];

// The state of a benchmark's jobs at one place: the one that matters most.
export function progressState(place: PlaceProgressJson): ProgressState {
  const {
    queued = 0,
    running = 0,
    succeeded = 0,
    failed = 0,
    cancelled = 0,
    skipped = 0,
  } = place.jobs ?? {};
  if (failed > 0) return "failed";
  if (running > 0) return "running";
  if (queued > 0) return succeeded + skipped > 0 ? "part" : "queued";
  if (cancelled > 0) return "cancelled";
  return succeeded > 0 || skipped === 0 ? "done" : "skipped";
}

// "8 jobs: 6 succeeded, 1 running, 1 queued; 20 of 24 cases"
export function progressText(place: PlaceProgressJson): string {
  return `${jobsText(place.jobs)}; ${count(place.casesDone ?? 0)} of ${plural(place.caseCount ?? 0, "case")}`;
}

const JOB_STATES: readonly (keyof JobCountsJson & string)[] = [
  "succeeded",
  "running",
  "queued",
  "failed",
  "skipped",
  "cancelled",
];

export function jobsText(jobs: JobCountsJson | undefined): string {
  const counts = JOB_STATES.map(
    (state) => [state, (jobs?.[state] as number | undefined) ?? 0] as const,
  );
  const total = counts.reduce((sum, [, number]) => sum + number, 0);
  const parts = counts
    .filter(([, number]) => number > 0)
    .map(([state, number]) => `${count(number)} ${state}`);
  return parts.length > 0 ? `${plural(total, "job")}: ${parts.join(", ")}` : "no jobs";
}

// Number of places in each state, for a legend.
export function progressCounts(
  benchmarks: readonly BenchmarkProgressJson[],
): Map<ProgressState, number> {
  const counts = new Map<ProgressState, number>();
  for (const benchmark of benchmarks) {
    for (const place of benchmark.places ?? []) {
      const state = progressState(place);
      counts.set(state, (counts.get(state) ?? 0) + 1);
    }
  }
  return counts;
}

// Seconds as "40 s", "12 min" or "3 h 20 min": estimates are not more precise.
export function roughTime(seconds: number): string {
  const tens = Math.max(1, Math.round(seconds / 10));
  if (tens < 9) return `${tens * 10} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// What an estimate rests on: "from earlier runs of 3,600 cases and limits for 288".
export function estimateBasis(estimate: EstimateJson): string {
  const known = estimate.casesFromHistory ?? 0;
  const others = estimate.casesFromMethod ?? 0;
  if (known === 0) return "from the method's limits";
  return (
    `from earlier runs of ${plural(known, "case")}` +
    (others > 0 ? ` and limits for ${count(others)}` : "")
  );
}

export function estimateSeconds(estimate: EstimateJson | undefined): number | undefined {
  return durationSeconds(estimate?.duration);
}
