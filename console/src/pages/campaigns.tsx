// All campaigns: is one running, and how did the others end?

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { CampaignJson } from "proto/campaign_service_pb";
import { Age, Command, Empty, ErrorNote, PageHead, Progress, Skeleton } from "../components/basic";
import { CampaignBadge, isActive } from "../components/states";
import { type Column, Table } from "../components/table";
import { count, duration, timeMillis } from "../format";
import { useCall } from "../hooks";
import { param, setParams, to } from "../router";
import { ListCampaigns } from "../rpc";
import { Schedules } from "./schedules";

const PAGE_SIZE = 50;

const COLUMNS: readonly Column<CampaignJson>[] = [
  {
    key: "name",
    title: "Campaign",
    value: (campaign) => campaign.name,
    cell: (campaign) => (
      <a
        href={to("campaign", campaign.campaignId)}
        title={campaign.schedule && `from the schedule ${campaign.schedule}`}
      >
        {campaign.name || campaign.campaignId}
      </a>
    ),
  },
  {
    key: "state",
    title: "State",
    value: (campaign) => `${campaign.state} ${campaign.verdict}`,
    cell: (campaign) => <CampaignBadge campaign={campaign} />,
  },
  {
    key: "progress",
    title: "Progress",
    value: (campaign) => (campaign.casesDone ?? 0) / Math.max(1, campaign.caseCount ?? 0),
    cell: (campaign) => (
      <Progress
        done={campaign.casesDone ?? 0}
        of={campaign.caseCount ?? 0}
        label={`${count(campaign.casesDone)} of ${count(campaign.caseCount)} cases`}
      />
    ),
  },
  {
    key: "cases",
    title: "Cases",
    numeric: true,
    value: (campaign) => campaign.caseCount ?? 0,
    cell: (campaign) => `${count(campaign.casesDone ?? 0)} of ${count(campaign.caseCount ?? 0)}`,
  },
  {
    key: "jobs",
    title: "Jobs",
    numeric: true,
    value: jobsOf,
    cell: (campaign) => count(jobsOf(campaign)),
  },
  {
    key: "failed",
    title: "Failed jobs",
    numeric: true,
    value: (campaign) => campaign.jobs?.failed ?? 0,
    cell: (campaign) => {
      const failed = campaign.jobs?.failed ?? 0;
      return <span class={failed > 0 ? "bad" : "muted"}>{count(failed)}</span>;
    },
  },
  {
    key: "created",
    title: "Created",
    value: (campaign) => timeMillis(campaign.createTime),
    cell: (campaign) => <Age at={campaign.createTime} />,
  },
  {
    key: "took",
    title: "Took",
    numeric: true,
    value: tookSeconds,
    cell: (campaign) => (isActive(campaign) ? "" : duration(tookSeconds(campaign))),
  },
];

// The coordinator knows who submits only if it asks for certificates.
const WITH_SUBMITTER: readonly Column<CampaignJson>[] = [
  ...COLUMNS,
  {
    key: "by",
    title: "Submitted by",
    value: (campaign) => campaign.submittedBy,
    cell: (campaign) => campaign.submittedBy || <span class="muted">unknown</span>,
  },
];

function jobsOf(campaign: CampaignJson): number {
  const {
    queued = 0,
    running = 0,
    succeeded = 0,
    failed = 0,
    cancelled = 0,
    skipped = 0,
  } = campaign.jobs ?? {};
  return queued + running + succeeded + failed + cancelled + skipped;
}

function tookSeconds(campaign: CampaignJson): number | undefined {
  const start = timeMillis(campaign.createTime);
  const end = timeMillis(campaign.endTime);
  return start !== undefined && end !== undefined ? (end - start) / 1000 : undefined;
}

export function CampaignsPage(): JSX.Element {
  const token = param("after");
  const request = { pageSize: PAGE_SIZE, pageToken: token };
  const { data, error } = useCall(ListCampaigns, request, 15);
  const campaigns = useMemo(() => data?.campaigns ?? [], [data]);
  const active = campaigns.filter(isActive).length;
  return (
    <>
      <PageHead title="Campaigns">
        {data && !token && (
          <span class="muted">
            {active === 0 ? "none running" : active === 1 ? "1 active" : `${count(active)} active`}
          </span>
        )}
      </PageHead>
      <ErrorNote error={error} />
      {!token && <Schedules />}
      <div class="panel">
        {!data && !error && <Skeleton lines={8} />}
        {data && (
          <Table
            label="Campaigns"
            main
            rows={campaigns}
            columns={campaigns.some(({ submittedBy }) => submittedBy) ? WITH_SUBMITTER : COLUMNS}
            rowKey={(campaign) => campaign.campaignId ?? ""}
            empty={
              <Empty title="No campaign has been submitted yet.">
                <Command text="assay campaign submit FILE.yaml" />
              </Empty>
            }
          />
        )}
        {data && (token || data.nextPageToken) && (
          <div class="toolbar pages">
            {token && (
              <button type="button" onClick={() => setParams({ after: "" })}>
                Newest
              </button>
            )}
            {data.nextPageToken && (
              <button type="button" onClick={() => setParams({ after: data.nextPageToken! })}>
                Older
              </button>
            )}
          </div>
        )}
        <Command text="assay campaign list" />
      </div>
    </>
  );
}
