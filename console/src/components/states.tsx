// The states of campaigns, jobs and findings as badges.

import type { JSX } from "preact";
import type { RegressionStateJson } from "proto/analysis_pb";
import type { CampaignJson, VerdictJson } from "proto/campaign_service_pb";
import type { FailureJson } from "proto/failure_pb";
import type { CordonJson } from "proto/node_service_pb";
import { cordonLabel } from "../fleet";
import { words } from "../format";
import { to } from "../router";
import { Badge, LongText, Time, type Tone } from "./basic";

export function isActive(campaign: CampaignJson): boolean {
  return campaign.state === "CAMPAIGN_STATE_ACTIVE";
}

export function isPaused(campaign: CampaignJson): boolean {
  return isActive(campaign) && campaign.pauseTime !== undefined;
}

// Returns true if nothing of an active campaign runs, although jobs are left and it is not paused.
export function isWaiting(campaign: CampaignJson): boolean {
  return (
    isActive(campaign) &&
    !isPaused(campaign) &&
    (campaign.jobs?.running ?? 0) === 0 &&
    (campaign.jobs?.queued ?? 0) > 0
  );
}

// One badge for state and verdict.
export function CampaignBadge({ campaign }: { campaign: CampaignJson }): JSX.Element {
  if (isPaused(campaign)) {
    return <Badge title={campaign.pausedBy && `by ${campaign.pausedBy}`}>paused</Badge>;
  }
  if (isWaiting(campaign)) return <Badge tone="warn">waiting</Badge>;
  if (isActive(campaign)) return <Badge tone="accent">running</Badge>;
  if (campaign.state === "CAMPAIGN_STATE_CANCELLED") return <Badge>cancelled</Badge>;
  if (campaign.verdict === "VERDICT_PASSED") return <Badge tone="good">passed</Badge>;
  if (campaign.verdict === "VERDICT_FAILED") return <Badge tone="bad">failed</Badge>;
  return <Badge>ended</Badge>;
}

export function VerdictBadge({ verdict }: { verdict: VerdictJson | undefined }): JSX.Element {
  if (verdict === "VERDICT_PASSED") return <Badge tone="good">passed</Badge>;
  if (verdict === "VERDICT_FAILED") return <Badge tone="bad">failed</Badge>;
  return <Badge>not decided</Badge>;
}

// A cordon is what a person wants, so its badge is calm.
export function CordonBadge(props: { cordon: CordonJson; runningJobs: number }): JSX.Element {
  const { cordon } = props;
  const title = [cordon.reason?.slice(0, 200), cordon.cordonedBy && `by ${cordon.cordonedBy}`];
  return (
    <Badge title={title.filter(Boolean).join(", ")}>{cordonLabel(cordon, props.runningJobs)}</Badge>
  );
}

// Who cordoned a node, when and why: "since 2026-11-24 09:12:00 by carla: new fans".
export function CordonText({ cordon }: { cordon: CordonJson }): JSX.Element {
  return (
    <>
      since <Time at={cordon.time} />
      {cordon.cordonedBy && ` by ${cordon.cordonedBy}`}
      {cordon.reason && (
        <>
          : <LongText text={cordon.reason} />
        </>
      )}
    </>
  );
}

const REGRESSION_TONES: Partial<Record<RegressionStateJson, Tone>> = {
  REGRESSION_STATE_CONFIRMED: "bad",
  REGRESSION_STATE_DETECTED: "warn",
};
const REGRESSION_HELP: Partial<Record<RegressionStateJson, string>> = {
  REGRESSION_STATE_DETECTED: "Found in the runs so far. Reruns will confirm or clear it.",
  REGRESSION_STATE_CONFIRMED: "Reruns at other times showed the same.",
  REGRESSION_STATE_ACKNOWLEDGED: "A person has taken note of it.",
  REGRESSION_STATE_RESOLVED: "Later runs are as fast as before.",
  REGRESSION_STATE_CLEARED: "Reruns did not show it: the runs were disturbed.",
};

export function RegressionBadge(props: { state: RegressionStateJson | undefined }): JSX.Element {
  const { state } = props;
  return (
    <Badge
      tone={(state && REGRESSION_TONES[state]) ?? "plain"}
      title={state && REGRESSION_HELP[state]}
    >
      {words(state, "REGRESSION_STATE") || "unknown"}
    </Badge>
  );
}

// "GPU_LOST"
export function reasonName(failure: FailureJson | undefined): string {
  return (failure?.reason ?? "").replace(/^REASON_/, "") || "UNKNOWN";
}

const WHO: Record<string, string> = {
  FAILURE_CLASS_NODE: "node",
  FAILURE_CLASS_JOB: "benchmark",
  FAILURE_CLASS_INFRASTRUCTURE: "Assay",
  FAILURE_CLASS_USER: "request",
};

// A failure with its message, and its evidence folded.
export function FailureView({ failure }: { failure: FailureJson }): JSX.Element {
  return (
    <div>
      <div class="line">
        <Badge tone="bad" title="Reason of the failure">
          {reasonName(failure)}
        </Badge>
        {failure.failureClass && WHO[failure.failureClass] && (
          <span class="muted">cause: {WHO[failure.failureClass]}</span>
        )}
        {failure.lastPhase && <span class="muted">during {failure.lastPhase}</span>}
      </div>
      {failure.message && (
        <p>
          <LongText text={failure.message} limit={400} />
        </p>
      )}
      {failure.evidence && (
        <details>
          <summary>Evidence</summary>
          <pre>{failure.evidence}</pre>
        </details>
      )}
    </div>
  );
}

const SHOWN_NODES = 3;

// Names of nodes as links: "g1, g2, g3 and 5 more".
export function NodeLinks({ names }: { names: readonly string[] | undefined }): JSX.Element {
  const unique = [...new Set(names ?? [])];
  const shown = unique.slice(0, SHOWN_NODES);
  return (
    <span>
      {shown.map((name, index) => (
        <span key={name}>
          {index > 0 && ", "}
          <a href={to("node", name)}>{name.slice(0, 80)}</a>
        </span>
      ))}
      {unique.length > shown.length && (
        <span class="muted" title={unique.slice(SHOWN_NODES, 40).join(", ").slice(0, 2000)}>
          {" "}
          and {unique.length - shown.length} more
        </span>
      )}
    </span>
  );
}
