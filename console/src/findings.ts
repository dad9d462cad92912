// Regressions, incidents and outliers in words.

import type {
  ExplanationJson,
  IncidentJson,
  OutlierCaseJson,
  RegressionJson,
} from "proto/analysis_pb";
import { placeName } from "./figures/names";
import { count, num, quantity, quoteFilter, significant } from "./format";

// "580.95.05 -> 590.10", with "none" for an absent side.
export function arrow(before: string | undefined, after: string | undefined): string {
  return `${before || "none"} → ${after || "none"}`;
}

export function causeText(incident: IncidentJson): string {
  switch (incident.cause) {
    case "INCIDENT_CAUSE_DRIVER":
      return `driver ${arrow(incident.from, incident.to)}`;
    case "INCIDENT_CAUSE_AGENT":
      return `agent ${arrow(incident.from, incident.to)}`;
    case "INCIDENT_CAUSE_GPU":
      return incident.place ? placeName(incident.place) : `GPU ${incident.to || incident.from}`;
    case "INCIDENT_CAUSE_NODE":
      return `node ${incident.place?.nodeNames?.[0] || incident.to || incident.from}`;
    case "INCIDENT_CAUSE_CASE":
      return "one case at several places, no known change";
    default:
      return "unknown cause";
  }
}

// What reruns on a peer showed.
export function scopeText(scope: string | undefined): string {
  switch (scope) {
    case "REGRESSION_SCOPE_PLACE":
      return "only here: the peer is as fast as before";
    case "REGRESSION_SCOPE_FLEET":
      return "the fleet: the peer became slower too";
    case "REGRESSION_SCOPE_NO_PEER":
      return "no peer to compare with";
    default:
      return "";
  }
}

// Names and units of the fields that explain regressions.
const FIELDS: Record<string, readonly [string, string]> = {
  sm_clock_mhz: ["SM clock", "MHz"],
  memory_clock_mhz: ["memory clock", "MHz"],
  power_watts: ["power", "W"],
  power_limit_watts: ["power limit", "W"],
  temperature_celsius: ["temperature", "C"],
  load_average: ["load average", ""],
  other_gpu_processes: ["other processes on the GPU", ""],
  throttle_reason: ["throttling", ""],
  driver: ["driver", ""],
  cuda: ["CUDA", ""],
  cublas: ["cuBLAS", ""],
  nccl: ["NCCL", ""],
  kernel: ["kernel of the system", ""],
  "gpu.kernel": ["GPU kernels", ""],
  agent_version: ["agent", ""],
};

// "SM clock 1980 → 1755 MHz"
export function explanationText(explanation: ExplanationJson): string {
  const field = explanation.field ?? "";
  const [name, unit] = FIELDS[field] ?? [field.replaceAll("_", " "), ""];
  const before = num(explanation.before);
  const after = num(explanation.after);
  if (before !== undefined || after !== undefined) {
    const text = (value: number | undefined): string =>
      value === undefined ? "unknown" : significant(value);
    return `${name} ${text(before)} → ${text(after)}${unit && ` ${unit}`}`;
  }
  return `${name}: ${arrow(explanation.textBefore, explanation.textAfter)}`;
}

// All that changed together with the performance.
export function suspects(regression: RegressionJson): string[] {
  const parts = (regression.explanations ?? []).map(explanationText);
  const has = (field: string): boolean =>
    (regression.explanations ?? []).some((one) => one.field === field);
  if (!has("agent_version") && regression.agentVersionBefore !== regression.agentVersionAfter) {
    parts.push(`agent ${arrow(regression.agentVersionBefore, regression.agentVersionAfter)}`);
  }
  const { driverBefore, driverAfter } = regression.step ?? {};
  if (!has("driver") && driverBefore !== driverAfter) {
    parts.push(`driver ${arrow(driverBefore, driverAfter)}`);
  }
  return parts;
}

// What several regressions have in common, most frequent first: "SM clock ... (8 of 16)".
export function commonSuspects(regressions: readonly RegressionJson[], limit = 4): string[] {
  const counts = new Map<string, number>();
  for (const regression of regressions) {
    for (const text of suspects(regression)) counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, limit)
    .map(([text, number]) =>
      regressions.length > 1 ? `${text} (${count(number)} of ${count(regressions.length)})` : text,
    );
}

// "571.2 TFLOP/s, 570.8 TFLOP/s; peer GPU 2 of sim-0007: 711.9 TFLOP/s"
export function rerunsText(regression: RegressionJson): string {
  const unit = regression.case?.unit ?? "";
  const groups = new Map<string, string[]>();
  for (const run of regression.reruns ?? []) {
    const where = run.peer ? `peer ${placeName(run.place)}: ` : "";
    let values = groups.get(where);
    if (!values) groups.set(where, (values = []));
    values.push(quantity(run.median, unit));
  }
  const parts = [...groups].map(([where, values]) => where + values.join(", "));
  const failed = regression.failedReruns ?? 0;
  if (failed > 0) parts.push(`${count(failed)} without a result`);
  return parts.join("; ");
}

// "acknowledged by ann: new fan ordered"
export function noteText(regression: RegressionJson): string {
  const { acknowledgedBy, acknowledgeNote, falseAlarm } = regression;
  if (!acknowledgedBy && !acknowledgeNote && !falseAlarm) return "";
  return (
    (falseAlarm ? "false alarm" : "acknowledged") +
    (acknowledgedBy ? ` by ${acknowledgedBy}` : "") +
    (acknowledgeNote ? `: ${acknowledgeNote}` : "")
  );
}

// Position from the fastest: "64 of 64" for the slowest.
export function rankText(one: OutlierCaseJson): string {
  const rank = one.rank ?? 0;
  const places = one.placeCount ?? 0;
  return rank < 1 || rank > places ? "" : `${count(places - rank + 1)} of ${count(places)}`;
}

// The filter of the history of a case at one place.
export function historyFilter(
  lineageId: string | undefined,
  place: { nodeNames?: string[]; gpuUuids?: string[] } | undefined,
  simulated: boolean | undefined,
): string {
  const parts = [`lineage_id = ${quoteFilter(lineageId ?? "")}`];
  const uuid = place?.gpuUuids?.length === 1 ? place.gpuUuids[0] : undefined;
  const node = place?.nodeNames?.[0];
  if (uuid) parts.push(`gpu.uuid = ${quoteFilter(uuid)}`);
  else if (node) parts.push(`node = ${quoteFilter(node)}`);
  if (simulated) parts.push("simulated = true");
  return parts.join(" AND ");
}

// Ids as the command line prints them.
export function shortId(id: string | undefined): string {
  return (id ?? "").slice(0, 8);
}
