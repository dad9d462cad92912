// A campaign: is it going, when is it done, why not?

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CaseIdentityJson } from "proto/analysis_pb";
import type {
  BenchmarkProgressJson,
  CampaignJson,
  CampaignSpecJson,
  EstimateJson,
  GetCampaignProgressResponseJson,
  RunningJobProgressJson,
  WatchCampaignResponseJson,
} from "proto/campaign_service_pb";
import type { StoredResultJson } from "proto/result_service_pb";
import { call } from "../api";
import {
  Age,
  Badge,
  Command,
  Empty,
  ErrorNote,
  Facts,
  Flags,
  PageHead,
  Progress,
  Section,
  Skeleton,
  Time,
} from "../components/basic";
import {
  CampaignBadge,
  FailureView,
  isActive,
  isPaused,
  isWaiting,
  NodeLinks,
  reasonName,
  VerdictBadge,
} from "../components/states";
import { type Column, Table } from "../components/table";
import { caseNames } from "../figures/names";
import {
  count,
  dollars,
  duration,
  num,
  percent,
  plural,
  quantity,
  quoteFilter,
  quoteShell,
  timeMillis,
  words,
} from "../format";
import { useCall, useLive } from "../hooks";
import {
  estimateBasis,
  estimateSeconds,
  PROGRESS_STATES,
  progressCounts,
  progressState,
  type ProgressState,
  progressText,
  roughTime,
} from "../progress";
import { navigate, route, to } from "../router";
import { GetCampaign, GetCampaignProgress, ListResults, WatchCampaign } from "../rpc";
import { ANY_RESULTS } from "../simulated";
import { Waiting } from "./campaign_waiting";

const PROGRESS_SECONDS = 5;
const RESULT_SECONDS = 10;
const NEWEST_RESULTS = 20;

interface Watched {
  campaign: CampaignJson | undefined;
  estimate: EstimateJson | undefined;
  // When the estimate came, in milliseconds since 1970.
  estimateTime: number;
}

export function CampaignPage(): JSX.Element {
  const id = route.value.argument;
  const [{ campaign, estimate, estimateTime }, setWatched] = useState<Watched>({
    campaign: undefined,
    estimate: undefined,
    estimateTime: 0,
  });
  const request = useMemo(() => ({ campaign: id, withoutJobs: true }), [id]);
  const error = useLive(WatchCampaign, request, {
    onRestart: () => {},
    onMessage: (message: WatchCampaignResponseJson) =>
      setWatched((old) => ({
        // A message may have only jobs or only the estimate.
        campaign: message.campaign ?? old.campaign,
        estimate: message.estimate ?? old.estimate,
        estimateTime: message.estimate ? Date.now() : old.estimateTime,
      })),
    poll: async (signal) => {
      const response = await call(GetCampaign, { campaign: id }, signal);
      setWatched((old) => ({ ...old, campaign: response.campaign }));
    },
    pollSeconds: 10,
    reopen: false,
  });
  const active = campaign ? isActive(campaign) : false;
  const campaignId = campaign?.campaignId ?? "";
  const progress = useCall(
    GetCampaignProgress,
    campaignId ? { campaign: campaignId } : undefined,
    active ? PROGRESS_SECONDS : 0,
  );
  const filter = `campaign_id = ${quoteFilter(campaignId)} AND ${ANY_RESULTS}`;
  const results = useCall(
    ListResults,
    campaignId ? { filter, pageSize: NEWEST_RESULTS } : undefined,
    active ? RESULT_SECONDS : 0,
  );

  // The stream sends campaigns without their specs.
  const stored = useCall(GetCampaign, campaignId ? { campaign: campaignId } : undefined);

  if (!campaign) {
    return (
      <>
        <PageHead title={id} kind="Campaign" />
        <ErrorNote error={error} />
        {!error && <Skeleton lines={8} />}
      </>
    );
  }
  return (
    <>
      <PageHead title={campaign.name || campaignId} kind="Campaign">
        <CampaignBadge campaign={campaign} />
        <span class="page-links">
          <a href={to("results", "", { filter })}>Results</a>
          <a
            href={to("compare", "", {
              by: "campaign",
              b: campaign.name ?? "",
              filter: ANY_RESULTS,
            })}
          >
            Compare
          </a>
          <a href={to("roofline", "", { filter })}>Roofline</a>
          <a href={to("links", "", { campaign: campaignId })}>Links</a>
        </span>
      </PageHead>
      <ErrorNote error={error} />
      <Overview campaign={campaign} estimate={active ? estimate : undefined} at={estimateTime} />
      <Waiting campaign={campaign} />
      <ErrorNote error={progress.error} />
      {progress.data && <Failures progress={progress.data} />}
      <Rules campaign={campaign} />
      <Section title="Progress by benchmark and node">
        {progress.data ? (
          <Strips progress={progress.data} campaignId={campaignId} />
        ) : (
          <Skeleton lines={3} />
        )}
      </Section>
      {active && progress.data && <Running jobs={progress.data.running ?? []} />}
      <Newest
        results={results.data?.results}
        filter={filter}
        error={<ErrorNote error={results.error} />}
      />
      <Details campaign={campaign} spec={stored.data?.campaign?.spec} />
    </>
  );
}

function Overview(props: {
  campaign: CampaignJson;
  estimate: EstimateJson | undefined;
  at: number;
}): JSX.Element {
  const { campaign, estimate } = props;
  const active = isActive(campaign);
  const done = campaign.casesDone ?? 0;
  const cases = campaign.caseCount ?? 0;
  const jobs = campaign.jobs ?? {};
  const seconds = estimateSeconds(estimate);
  // The estimate is of the time when it came.
  const left =
    seconds === undefined ? undefined : Math.max(0, seconds - (Date.now() - props.at) / 1000);
  const start = timeMillis(campaign.createTime);
  const end = timeMillis(campaign.endTime);
  return (
    <section class="panel">
      <Progress done={done} of={cases} label={`${count(done)} of ${count(cases)} cases`} />
      <div class="stats campaign-stats">
        <Stat name="Cases done" value={`${count(done)} of ${count(cases)}`}>
          {cases > 0 && percent(done / cases)}
        </Stat>
        {active ? (
          <TimeLeft campaign={campaign} estimate={estimate} left={left} />
        ) : (
          <Stat
            name="Took"
            value={
              start !== undefined && end !== undefined ? duration((end - start) / 1000) : "unknown"
            }
          >
            ended <Age at={campaign.endTime} />
          </Stat>
        )}
        {active && num(estimate?.dollars) !== undefined && (
          <Stat name="Cost of the rest" value={dollars(estimate!.dollars)} />
        )}
        <Stat name="Running jobs" value={count(jobs.running ?? 0)} />
        <Stat name="Queued" value={count(jobs.queued ?? 0)} />
        <Stat name="Succeeded" value={count(jobs.succeeded ?? 0)} />
        <Stat name="Failed" value={count(jobs.failed ?? 0)} bad={(jobs.failed ?? 0) > 0} />
        {(jobs.skipped ?? 0) > 0 && <Stat name="Skipped" value={count(jobs.skipped)} />}
        {(jobs.cancelled ?? 0) > 0 && <Stat name="Cancelled" value={count(jobs.cancelled)} />}
      </div>
      <Command
        text={`assay campaign ${isPaused(campaign) ? "resume" : active ? "watch" : "show"} ${quoteShell(campaign.campaignId ?? "")}`}
      />
    </section>
  );
}

function TimeLeft(props: {
  campaign: CampaignJson;
  estimate: EstimateJson | undefined;
  // In seconds.
  left: number | undefined;
}): JSX.Element {
  const { campaign, estimate, left } = props;
  if (isPaused(campaign)) {
    return (
      <Stat name="Time left" value="paused">
        <Age at={campaign.pauseTime} />
        {campaign.pausedBy && ` by ${campaign.pausedBy}`}
        {left !== undefined && `; then about ${roughTime(left)}`}
      </Stat>
    );
  }
  if (isWaiting(campaign)) {
    const absent = (campaign.waiting?.length ?? 0) > 0;
    return (
      <Stat name="Time left" value={absent ? "waits for nodes" : "waits for its turn"}>
        {left !== undefined && `then about ${roughTime(left)}`}
      </Stat>
    );
  }
  if (!estimate || left === undefined) return <Stat name="Time left" value="not known yet" />;
  return (
    <Stat name="Time left" value={`about ${roughTime(left)}`}>
      until {clock(Date.now() + left * 1000)}, {estimateBasis(estimate)}
    </Stat>
  );
}

function clock(millis: number): string {
  return new Date(millis).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

function Stat(props: {
  name: string;
  value: string;
  bad?: boolean;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div>
      <span>{props.name}</span>
      <strong class={props.bad ? "bad" : undefined}>{props.value}</strong>
      {props.children && <small class="muted">{props.children}</small>}
    </div>
  );
}

function Failures({ progress }: { progress: GetCampaignProgressResponseJson }): JSX.Element | null {
  const failures = progress.failures ?? [];
  if (failures.length === 0) return null;
  return (
    <Section title="Failed jobs by reason">
      <ul class="list">
        {failures.map((summary, index) => (
          <li key={index}>
            <div class="line">
              <strong>{plural(summary.jobCount, "job")}</strong>
              <span>{summary.benchmark}</span>
              <span>
                on <NodeLinks names={summary.nodeNames} />
              </span>
            </div>
            {summary.failure ? (
              <FailureView failure={summary.failure} />
            ) : (
              <span class="muted">{reasonName(undefined)}</span>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Rules({ campaign }: { campaign: CampaignJson }): JSX.Element | null {
  const rules = campaign.rules ?? [];
  if (rules.length === 0) return null;
  return (
    <Section title="Accept rules">
      <ul class="list">
        {rules.map((rule, index) => (
          <li key={index} class="rule">
            <VerdictBadge verdict={rule.verdict} />
            <div>
              <code>{rule.rule}</code>
              <div class="muted">
                {rule.explanation || "not decided yet"}
                {(rule.resultsChecked ?? 0) > 0 &&
                  ` (${plural(rule.resultsChecked, "result")} checked)`}
              </div>
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

const SQUARE = 11;
const PITCH = 13;

// One row of squares per benchmark, a square per place.
function Strips(props: {
  progress: GetCampaignProgressResponseJson;
  campaignId: string;
}): JSX.Element {
  const benchmarks = props.progress.benchmarks ?? [];
  const places = props.progress.places ?? [];
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [tip, setTip] = useState("");
  const [asTable, setAsTable] = useState(false);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) =>
      setWidth(Math.floor(entry!.contentRect.width)),
    );
    observer.observe(holder.current!);
    return () => observer.disconnect();
  }, []);
  const counts = useMemo(() => progressCounts(benchmarks), [benchmarks]);
  if (benchmarks.length === 0) return <Empty title="There are no jobs." />;
  return (
    <div ref={holder}>
      <div class="legend">
        {PROGRESS_STATES.filter(({ key }) => counts.has(key)).map(({ key, label }) => (
          <span key={key}>
            <span class={`swatch progress-${key}`} />
            {label}
          </span>
        ))}
        <button
          type="button"
          class="small strip-toggle"
          aria-pressed={asTable}
          onClick={() => setAsTable(!asTable)}
        >
          {asTable ? "show figure" : "show table"}
        </button>
      </div>
      {asTable ? (
        <ProgressTable benchmarks={benchmarks} places={places} />
      ) : (
        width > 0 && (
          <>
            {benchmarks.map((benchmark) => (
              <Strip
                key={benchmark.benchmarkIndex}
                benchmark={benchmark}
                places={places}
                width={width}
                campaignId={props.campaignId}
                setTip={setTip}
              />
            ))}
            <p class="strip-tip muted" aria-live="polite">
              {tip || `${plural(places.length, "place")}; point at a square for its jobs`}
            </p>
          </>
        )
      )}
    </div>
  );
}

function Strip(props: {
  benchmark: BenchmarkProgressJson;
  places: readonly string[];
  width: number;
  campaignId: string;
  setTip: (text: string) => void;
}): JSX.Element {
  const { benchmark, places } = props;
  const own = benchmark.places ?? [];
  const columns = Math.max(1, Math.floor((props.width + 2) / PITCH));
  // One path per state, so that thousands of squares are a few elements.
  const paths = useMemo(() => {
    const parts = new Map<ProgressState, string[]>();
    own.forEach((place, index) => {
      const state = progressState(place);
      const x = (index % columns) * PITCH;
      const y = Math.floor(index / columns) * PITCH;
      let path = parts.get(state);
      if (!path) parts.set(state, (path = []));
      path.push(`M${x} ${y}h${SQUARE}v${SQUARE}h-${SQUARE}z`);
    });
    return [...parts].map(([state, path]) => [state, path.join("")] as const);
  }, [own, columns]);
  const at = (event: MouseEvent): number | undefined => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / PITCH);
    const index = Math.floor((event.clientY - box.top) / PITCH) * columns + column;
    return column < columns && index < own.length ? index : undefined;
  };
  const name = (index: number): string => places[own[index]?.place ?? 0] ?? "";
  const done = own.reduce((sum, place) => sum + (place.casesDone ?? 0), 0);
  const cases = own.reduce((sum, place) => sum + (place.caseCount ?? 0), 0);
  const rows = Math.ceil(own.length / columns);
  return (
    <div class="progress-strip">
      <div class="line">
        <span>{benchmark.benchmark}</span>
        <span class="muted">
          {count(done)} of {plural(cases, "case")}
        </span>
      </div>
      <svg
        width={Math.min(own.length, columns) * PITCH}
        height={rows * PITCH}
        role="img"
        aria-label={`${benchmark.benchmark}: ${count(done)} of ${count(cases)} cases are done on ${plural(own.length, "place")}.`}
        onMouseMove={(event) => {
          const index = at(event);
          props.setTip(
            index === undefined
              ? ""
              : `${benchmark.benchmark} on ${name(index).slice(0, 100)}: ${progressText(own[index]!)}`,
          );
        }}
        onMouseLeave={() => props.setTip("")}
        onClick={(event) => {
          const index = at(event);
          if (index === undefined || / \+ |^any of /.test(name(index))) return;
          navigate(
            to("results", "", {
              filter: `campaign_id = ${quoteFilter(props.campaignId)} AND benchmark = ${quoteFilter(benchmark.benchmark ?? "")} AND node = ${quoteFilter(name(index))} AND ${ANY_RESULTS}`,
            }),
          );
        }}
      >
        {paths.map(([state, path]) => (
          <path key={state} class={`progress-${state}`} d={path} />
        ))}
      </svg>
    </div>
  );
}

interface ProgressRow {
  key: string;
  benchmark: string;
  place: string;
  state: ProgressState;
  text: string;
}

const PROGRESS_COLUMNS: readonly Column<ProgressRow>[] = [
  { key: "benchmark", title: "Benchmark", value: (row) => row.benchmark },
  { key: "place", title: "Place", value: (row) => row.place.slice(0, 100) },
  {
    key: "state",
    title: "State",
    value: (row) => PROGRESS_STATES.findIndex(({ key }) => key === row.state),
    cell: (row) => PROGRESS_STATES.find(({ key }) => key === row.state)!.label,
  },
  { key: "jobs", title: "Jobs and cases", value: (row) => row.text },
];

function ProgressTable(props: {
  benchmarks: readonly BenchmarkProgressJson[];
  places: readonly string[];
}): JSX.Element {
  const rows = useMemo(
    () =>
      props.benchmarks.flatMap((benchmark) =>
        (benchmark.places ?? []).map((place) => ({
          key: `${benchmark.benchmarkIndex} ${place.place}`,
          benchmark: benchmark.benchmark ?? "",
          place: props.places[place.place ?? 0] ?? "",
          state: progressState(place),
          text: progressText(place),
        })),
      ),
    [props.benchmarks, props.places],
  );
  return (
    <Table
      label="Progress by benchmark and node"
      rows={rows}
      columns={PROGRESS_COLUMNS}
      rowKey={(row) => row.key}
      sortParameter="psort"
    />
  );
}

const RUNNING_COLUMNS: readonly Column<RunningJobProgressJson>[] = [
  { key: "benchmark", title: "Benchmark", value: (job) => job.benchmark },
  {
    key: "node",
    title: "Node",
    value: (job) => job.nodeNames?.[0],
    cell: (job) => <NodeLinks names={job.nodeNames} />,
  },
  {
    key: "gpu",
    title: "GPU",
    value: (job) => job.gpuIndices?.[0],
    cell: (job) => job.gpuIndices?.join(", "),
  },
  {
    key: "phase",
    title: "Phase",
    value: (job) => job.phase,
    cell: (job) =>
      job.phase ? (
        job.phase.replaceAll("_", " ")
      ) : (
        <span
          class="muted"
          title="The agent has not reported it yet, or another coordinator runs the job"
        >
          not reported
        </span>
      ),
  },
  {
    key: "cases",
    title: "Cases",
    numeric: true,
    value: (job) => (job.casesDone ?? 0) / Math.max(1, job.caseCount ?? 0),
    cell: (job) => `${count(job.casesDone ?? 0)} of ${count(job.caseCount ?? 0)}`,
  },
  {
    key: "since",
    title: "Since",
    value: (job) => timeMillis(job.startTime),
    cell: (job) => <Age at={job.startTime} />,
  },
];

const SHOWN_JOBS = 10;

function Running({ jobs }: { jobs: readonly RunningJobProgressJson[] }): JSX.Element {
  const [all, setAll] = useState(false);
  const shown = all ? jobs : jobs.slice(0, SHOWN_JOBS);
  return (
    <Section title="Running jobs" aside="longest running first">
      <Table
        label="Running jobs"
        rows={shown}
        columns={RUNNING_COLUMNS}
        rowKey={(job) => job.jobId ?? ""}
        sortParameter="jsort"
        empty={<p class="muted">No job is running.</p>}
      />
      {jobs.length > SHOWN_JOBS && (
        <button type="button" class="link" onClick={() => setAll(!all)}>
          {all ? "show fewer" : `show ${count(jobs.length - SHOWN_JOBS)} more`}
        </button>
      )}
    </Section>
  );
}

const resultColumns = (
  name: (result: StoredResultJson) => string,
): readonly Column<StoredResultJson>[] => [
  {
    key: "case",
    title: "Case",
    wide: true,
    cell: (result) => <a href={to("result", result.resultId)}>{name(result)}</a>,
  },
  {
    key: "node",
    title: "Node",
    cell: ({ caseResult }) => <NodeLinks names={caseResult?.provenance?.nodeNames} />,
  },
  {
    key: "value",
    title: "Median",
    numeric: true,
    cell: ({ caseResult }) => {
      const measured = caseResult?.measurements?.[0];
      if (measured) return quantity(num(measured.median), measured.unit ?? "");
      return <Badge tone="bad">{reasonName(caseResult?.failure)}</Badge>;
    },
  },
  {
    key: "spec",
    title: "Of spec",
    numeric: true,
    cell: ({ caseResult }) => {
      const share = num(caseResult?.prediction?.efficiencySpec);
      return share === undefined ? "" : percent(share);
    },
  },
  {
    key: "flags",
    title: "Flags",
    cell: ({ caseResult }) => <Flags of={caseResult?.conditions?.flags} />,
  },
  { key: "time", title: "Ended", cell: ({ caseResult }) => <Age at={caseResult?.endTime} /> },
];

// What tells the cases of results apart.
function identityOf({ caseResult = {} }: StoredResultJson): CaseIdentityJson {
  const measured = caseResult.measurements?.[0];
  return {
    benchmark: caseResult.benchmark ?? "",
    parameters: caseResult.parameters ?? {},
    metric: measured?.metric ?? "",
    hardware: caseResult.environment ?? {},
  };
}

function Newest(props: {
  results: readonly StoredResultJson[] | undefined;
  filter: string;
  error: ComponentChildren;
}): JSX.Element {
  const columns = useMemo(() => {
    const name = caseNames((props.results ?? []).map(identityOf));
    return resultColumns((result) => name(identityOf(result)));
  }, [props.results]);
  return (
    <Section
      title="Newest results"
      aside={<a href={to("results", "", { filter: props.filter })}>All results</a>}
    >
      {props.error}
      {props.results ? (
        <Table
          label="Newest results"
          main
          rows={props.results}
          columns={columns}
          rowKey={(result) => result.resultId ?? ""}
          empty={<p class="muted">There are no results yet.</p>}
        />
      ) : (
        !props.error && <Skeleton />
      )}
    </Section>
  );
}

function Details(props: {
  campaign: CampaignJson;
  spec: CampaignSpecJson | undefined;
}): JSX.Element {
  const { campaign, spec } = props;
  const { coverage } = campaign;
  const absent = coverage?.absentNodeCount ?? 0;
  const leftOut = campaign.leftOut ?? [];
  const reruns = campaign.reruns ?? [];
  return (
    <div class="columns">
      <Section title="Coverage">
        {coverage ? (
          <>
            <p>
              {plural(coverage.nodeCount ?? 0, "node")} matched
              {absent > 0 ? (
                <>
                  , of which <strong>{count(absent)}</strong> {absent === 1 ? "was" : "were"}{" "}
                  absent: <NodeLinks names={coverage.absentNodes} />
                </>
              ) : (
                "; none was absent."
              )}
            </p>
          </>
        ) : (
          <p class="muted">Imported: no nodes were chosen.</p>
        )}
        {leftOut.length > 0 && (
          <>
            <h3 class="gap">Left out</h3>
            <ul class="list">
              {leftOut.map((item, index) => (
                <li key={index}>
                  <div class="line">
                    <strong>{item.benchmark}</strong>
                    <span>{plural(item.caseCount, "case")}</span>
                    {(item.line ?? 0) > 0 && <span class="muted">line {item.line}</span>}
                  </div>
                  <div class="muted">{item.reason}</div>
                </li>
              ))}
            </ul>
          </>
        )}
      </Section>
      <Section title="Campaign">
        <Facts
          rows={[
            ["Id", <code>{campaign.campaignId}</code>],
            ["Created", <Time at={campaign.createTime} />],
            campaign.endTime !== undefined && ["Ended", <Time at={campaign.endTime} />],
            !!campaign.schedule && [
              "Schedule",
              <a href={to("campaigns")}>{campaign.schedule}</a>,
            ],
            ["Submitted by", campaign.submittedBy || <span class="muted">unknown</span>],
            spec && ["Nodes", spec.nodeFilter ? <code>{spec.nodeFilter}</code> : "all"],
            spec && [
              "Benchmarks",
              (spec.benchmarks ?? []).map(({ benchmark }) => benchmark).join(", "),
            ],
            spec && ["Repetitions", count(spec.repetitions ?? 1)],
            spec && ["Retries", count(spec.retries ?? 0)],
            spec && ["Effort", words(spec.effort, "EFFORT") || "standard"],
            ["Priority", String(campaign.priority ?? 0)],
            reruns.length > 0 && [
              "Reruns",
              <>
                {reruns.map((rerun) => (
                  <div key={rerun.requestId}>
                    <Time at={rerun.time} />: {plural(rerun.jobCount, "job")}
                    {rerun.failedOnly && " that had failed"}
                    {rerun.requestedBy && ` by ${rerun.requestedBy}`}
                  </div>
                ))}
              </>,
            ],
          ]}
        />
        <Command text={`assay campaign export ${quoteShell(campaign.campaignId ?? "")}`} />
        {!isActive(campaign) && (campaign.jobs?.failed ?? 0) > 0 && (
          <Command
            text={`assay campaign rerun ${quoteShell(campaign.campaignId ?? "")} --failed`}
          />
        )}
      </Section>
    </div>
  );
}
