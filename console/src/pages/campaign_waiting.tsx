// The nodes that queued jobs of a campaign wait for.

import type { JSX } from "preact";
import type { CampaignJson } from "proto/campaign_service_pb";
import { Age, Badge, Section } from "../components/basic";
import { CordonBadge, CordonText } from "../components/states";
import { count, plural } from "../format";
import { to } from "../router";

export function Waiting({ campaign }: { campaign: CampaignJson }): JSX.Element | null {
  const waiting = campaign.waiting ?? [];
  if (waiting.length === 0) return null;
  return (
    <Section title="Waiting for nodes">
      <ul class="list">
        {waiting.map((group, index) => (
          <li key={index}>
            <div>
              <strong>{plural(group.jobs, "job")}</strong>{" "}
              {(group.needed ?? 0) >= (group.nodes?.length ?? 0)
                ? (group.nodes?.length ?? 0) === 1
                  ? "for this node:"
                  : "for all of these nodes:"
                : `for ${count(group.needed)} of these nodes:`}
            </div>
            {(group.nodes ?? []).slice(0, 20).map((node) => (
              <div class="line" key={node.nodeId}>
                <a href={to("node", node.name)}>{node.name?.slice(0, 100)}</a>
                {node.cordon ? (
                  <>
                    <CordonBadge cordon={node.cordon} runningJobs={0} />
                    <span class="muted">
                      <CordonText cordon={node.cordon} />
                    </span>
                  </>
                ) : node.quarantine ? (
                  <>
                    <Badge tone="bad">quarantined</Badge>
                    <span class="muted">{node.quarantine}</span>
                  </>
                ) : node.lastHeartbeatTime ? (
                  <span class="muted">
                    last heard <Age at={node.lastHeartbeatTime} />
                  </span>
                ) : (
                  <span class="muted">removed from the fleet</span>
                )}
              </div>
            ))}
            {(group.nodes?.length ?? 0) > 20 && (
              <span class="muted">and {count(group.nodes!.length - 20)} more</span>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
