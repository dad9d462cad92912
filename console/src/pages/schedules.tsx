// Campaigns that recur: when is the next one, and what happened last time?

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type {
  ScheduledRun_OutcomeJson,
  ScheduledRunJson,
  ScheduleJson,
} from "proto/schedule_service_pb";
import {
  Age,
  Badge,
  Command,
  ErrorNote,
  LongText,
  Section,
  Time,
  type Tone,
} from "../components/basic";
import { type Column, Table } from "../components/table";
import { count, timeMillis, words } from "../format";
import { useCall } from "../hooks";
import { to } from "../router";
import { ListSchedules } from "../rpc";
import { sortRows } from "../table";

const POLL_SECONDS = 60;

const TONES: Partial<Record<ScheduledRun_OutcomeJson, Tone>> = {
  OUTCOME_CREATED: "accent",
  OUTCOME_FAILED: "bad",
};

const COLUMNS: readonly Column<ScheduleJson>[] = [
  {
    key: "name",
    title: "Schedule",
    value: ({ name }) => name,
    cell: ({ name, createdBy }) => (
      <span title={createdBy && `created by ${createdBy}`}>{name?.slice(0, 100)}</span>
    ),
  },
  {
    key: "cron",
    title: "Times",
    help: "minute, hour, day of the month, month, day of the week",
    cell: (schedule) => (
      <>
        <code>{schedule.cron}</code> <span class="muted">{schedule.timeZone || "UTC"}</span>
      </>
    ),
  },
  {
    key: "next",
    title: "Next",
    value: (schedule) => timeMillis(schedule.nextTime),
    cell: (schedule) => <Time at={schedule.nextTime} />,
  },
  {
    key: "campaign",
    title: "Last campaign",
    value: (schedule) => timeMillis(lastCampaign(schedule)?.time),
    cell: (schedule) => {
      const run = lastCampaign(schedule);
      if (!run) return <span class="muted">none yet</span>;
      return (
        <span class="nowrap">
          <a href={to("campaign", run.campaignId)}>{schedule.spec?.name || run.campaignId}</a>{" "}
          <span class="muted">
            <Age at={run.time} />
          </span>
        </span>
      );
    },
  },
  {
    key: "outcome",
    title: "Last time",
    wide: true,
    value: ({ runs }) => timeMillis(runs?.[0]?.time),
    cell: ({ runs }) => <Outcome of={runs?.[0]} />,
  },
];

function lastCampaign({ runs }: ScheduleJson): ScheduledRunJson | undefined {
  return runs?.find(({ campaignId }) => campaignId);
}

function Outcome({ of: run }: { of: ScheduledRunJson | undefined }): JSX.Element {
  if (!run) return <span class="muted">not yet due</span>;
  return (
    <>
      <Badge tone={(run.outcome && TONES[run.outcome]) ?? "plain"}>
        {words(run.outcome, "OUTCOME") || "unknown"}
      </Badge>{" "}
      <span class="muted">
        <Age at={run.time} />
      </span>
      {run.message && (
        <>
          {" "}
          <LongText text={run.message} limit={120} />
        </>
      )}
    </>
  );
}

const SHOWN = 8;

// Shows nothing in a fleet without schedules.
export function Schedules(): JSX.Element | null {
  const { data, error } = useCall(ListSchedules, {}, POLL_SECONDS);
  const [all, setAll] = useState(false);
  const schedules = useMemo(
    () => sortRows(data?.schedules ?? [], ({ nextTime }) => timeMillis(nextTime), false),
    [data],
  );
  if (schedules.length === 0) return <ErrorNote error={error} />;
  const more = schedules.length - SHOWN;
  return (
    <Section title="Schedules" aside="next due first">
      <ErrorNote error={error} />
      <Table
        label="Schedules"
        sortParameter="ssort"
        rows={all ? schedules : schedules.slice(0, SHOWN)}
        columns={COLUMNS}
        rowKey={(schedule) => schedule.scheduleId ?? ""}
      />
      {more > 0 && (
        <button type="button" class="link" onClick={() => setAll(!all)}>
          {all ? "show fewer" : `show ${count(more)} more`}
        </button>
      )}
      <Command text="assay schedule list" />
    </Section>
  );
}
