// Has it moved, and why? The runs of cases over time, by place, with their steps.

import type { PlaceHistoryJson, RegressionJson } from "proto/analysis_pb";
import type { JSX } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { Badge, Command, Empty, ErrorNote, PageHead, Section, Skeleton, Time, type Tone } from "../components/basic";
import { FilterBox } from "../components/filter";
import { type Column, Table } from "../components/table";
import { useResultFields } from "../facets";
import { Chart } from "../figures/chart";
import { Choice, SimulatedHint, commandLine, equals } from "../figures/controls";
import { drawHistory, historyCases, historyModel, historySummary } from "../figures/history";
import { caseExpression, caseKey, caseNames, placeName } from "../figures/names";
import { change, plural, quantity, words } from "../format";
import { useCall } from "../hooks";
import { param, setParams, to } from "../router";
import { GetHistory, ListRegressions } from "../rpc";

// Figures of a page; each takes its time to draw.
const CASE_LIMIT = 12;

const STATE_TONES: Record<string, Tone> = { detected: "warn", confirmed: "bad", acknowledged: "accent" };

export function SeriesPage(): JSX.Element {
  const fields = useResultFields();
  const filter = param("filter");
  const places = Number(param("places")) || 10;
  const history = useCall(GetHistory, filter ? { filter, placeLimit: places } : undefined);
  const regressions = useCall(
    ListRegressions,
    filter ? { includeClosed: true, pageSize: 1000, simulated: /\bsimulated = true\b/.test(filter) } : undefined,
  );
  const data = history.data;
  const cases = useMemo(() => historyCases(data?.places ?? []), [data]);
  const found = regressions.data?.regressions ?? [];
  const benchmarks = fields.find((field) => field.field === "benchmark")?.values ?? [];

  // With one case, the figure alone answers the question; with several, the table says where to look.
  const steps = <Steps places={data?.places ?? []} regressions={found} />;

  return (
    <>
      <PageHead title="Series" kind="Has it moved, and why?" />
      <div class="toolbar">
        <FilterBox
          value={filter}
          onChange={(value) => setParams({ filter: value })}
          fields={fields}
          error={history.error}
          placeholder="Filter, for example benchmark = gemm AND parameters.m = 8192"
        />
        <Choice
          label="Places"
          value={String(places)}
          options={["5", "10", "20", "50"].map((value) => ({ value, text: `at most ${value}` }))}
          onChange={(value) => setParams({ places: value === "10" ? "" : value })}
        />
      </div>
      {history.error?.code !== "invalid_argument" && <ErrorNote error={history.error ?? regressions.error} />}
      {!filter && (
        <Empty title="Choose a benchmark, or give a filter.">
          <p class="badges">
            {benchmarks.map((benchmark) => (
              <a key={benchmark} class="badge" href={to("series", "", { filter: equals("benchmark", benchmark) })}>
                {benchmark}
              </a>
            ))}
          </p>
          {benchmarks.length === 0 && <SimulatedHint filter={filter} />}
          {benchmarks.length === 0 && <p>A series begins with the second run of a case. To measure:</p>}
          {benchmarks.length === 0 && (
            <Command text={commandLine(["campaign", "submit", "examples/gpu-quickstart.yaml"])} />
          )}
        </Empty>
      )}
      {filter && !data && history.loading && <Skeleton lines={8} />}
      {data && cases.length === 0 && (
        <Empty title="No run matches.">
          {data.failedCount ? <p>{plural(data.failedCount, "result")} matched, but failed.</p> : null}
          <p>Runs of the same case at different times make a series, for example a nightly campaign:</p>
          <Command text={commandLine(["campaign", "rerun", "NAME"])} />
          <SimulatedHint filter={filter} />
        </Empty>
      )}
      {data && cases.length > 0 && (
        <>
          {cases.length > 1 && steps}
          {cases.slice(0, CASE_LIMIT).map((places) => (
            <Case key={caseKey(places[0]!.case ?? {})} places={places} all={cases} data={data} regressions={found} filter={filter} />
          ))}
          {cases.length === 1 && steps}
          {cases.length > CASE_LIMIT && (
            <p class="muted">{plural(cases.length - CASE_LIMIT, "more case")} match; narrow the filter to see them.</p>
          )}
          <p class="muted">
            {data.remainingCount
              ? `${plural(data.remainingCount, "more place")} match. Those shown are a sample that does not depend on their values. `
              : ""}
            {data.failedCount ? `${plural(data.failedCount, "result")} failed and have no part.` : ""}
          </p>
          <Section title="Say what happened">
            <div class="commands">
              <Command label="Note an event on the time axis" text={'assay annotate "moved to rack 7" --time 2h --node NODE'} />
              <Command
                label="Accept these values as the baseline of later runs"
                text={commandLine(["baseline", "set", "accepted"], { filter })}
              />
            </div>
          </Section>
        </>
      )}
    </>
  );
}

interface StepRow {
  key: string;
  name: string;
  place: string;
  ratio: number;
  before: number;
  after: number;
  unit: string;
  from: string | undefined;
  until: string | undefined;
  driver: string;
  resultId: string;
  regression: RegressionJson | undefined;
}

// A step cannot be told from noise in fewer runs at a place.
const FEW_RUNS = 6;

function sameStep(one: RegressionJson, place: PlaceHistoryJson, time: string | undefined): boolean {
  return (
    caseKey(one.case ?? {}) === caseKey(place.case ?? {}) &&
    placeName(one.place) === placeName(place.place) &&
    // Both are the end of the first run after the step; one of them may have moved by a run.
    Math.abs(Date.parse(one.step?.time ?? "") - Date.parse(time ?? "")) < 36 * 3_600_000
  );
}

function explanation(one: RegressionJson): string {
  return (one.explanations ?? [])
    .map((part) =>
      part.before !== undefined || part.after !== undefined
        ? `${part.field} ${part.before ?? "none"} → ${part.after ?? "none"}`
        : `${part.field} ${part.textBefore || "none"} → ${part.textAfter || "none"}`,
    )
    .join("; ");
}

const STEP_COLUMNS: Column<StepRow>[] = [
  { key: "name", title: "Case", wide: true, value: (row) => row.name },
  { key: "place", title: "Where", value: (row) => row.place },
  {
    key: "change",
    title: "Change",
    help: "performance after over before; below 0 it became slower, also for times",
    numeric: true,
    value: (row) => row.ratio,
    cell: (row) => <span class={row.ratio < 1 ? "bad" : undefined}>{change(row.ratio)}</span>,
  },
  {
    key: "explained",
    title: "Explained by",
    wide: true,
    value: (row) => (row.regression ? explanation(row.regression) : "") || row.driver,
  },
  {
    key: "state",
    title: "State",
    value: (row) => words(row.regression?.state, "REGRESSION_STATE"),
    cell: (row) => {
      const state = words(row.regression?.state, "REGRESSION_STATE");
      if (!state) return "";
      return (
        <a href={to("findings", "", { incident: row.regression?.incidentId })}>
          <Badge tone={STATE_TONES[state] ?? "plain"}>{state}</Badge>
        </a>
      );
    },
  },
  {
    key: "before",
    title: "Before",
    numeric: true,
    value: (row) => row.before,
    cell: (row) => quantity(row.before, row.unit),
  },
  {
    key: "after",
    title: "After",
    numeric: true,
    value: (row) => row.after,
    cell: (row) => <a href={to("result", row.resultId)}>{quantity(row.after, row.unit)}</a>,
  },
  { key: "from", title: "Last run before", value: (row) => row.from, cell: (row) => <Time at={row.from} /> },
  { key: "until", title: "First run after", value: (row) => row.until, cell: (row) => <Time at={row.until} /> },
];

function Steps(props: { places: PlaceHistoryJson[]; regressions: RegressionJson[] }): JSX.Element {
  const rows = useMemo(() => {
    const name = caseNames(props.places.map((place) => place.case ?? {}));
    return props.places.flatMap((place, index) =>
      (place.steps ?? []).map((step): StepRow => {
        const first = step.firstPoint ?? 0;
        const drivers = step.driverBefore !== step.driverAfter;
        return {
          key: `${index} ${first}`,
          name: name(place.case ?? {}),
          place: placeName(place.place),
          ratio: Number(step.ratio),
          before: Number(step.medianBefore),
          after: Number(step.medianAfter),
          unit: place.case?.unit ?? "",
          from: place.points?.[first - 1]?.endTime,
          until: step.time,
          driver: drivers ? `driver ${step.driverBefore || "none"} → ${step.driverAfter || "none"}` : "",
          resultId: place.points?.[first]?.resultId ?? "",
          regression: props.regressions.find((one) => sameStep(one, place, step.time)),
        };
      }),
    );
  }, [props.places, props.regressions]);
  const runs = Math.max(0, ...props.places.map((place) => place.points?.length ?? 0));
  const few = runs < FEW_RUNS;
  const none = few ? "Too few runs to tell a step" : "No step";
  return (
    <Section title={rows.length ? plural(rows.length, "step") : none}>
      <Table
        label="Steps"
        rows={rows}
        columns={STEP_COLUMNS}
        rowKey={(row) => row.key}
        initialSort="change"
        main
        empty={
          <p class="muted">
            {few
              ? `At most ${plural(runs, "run")} at a place. A step needs several runs before and after it.`
              : "No case became lastingly slower or faster at these places."}
          </p>
        }
      />
    </Section>
  );
}

function Case(props: {
  places: PlaceHistoryJson[];
  all: PlaceHistoryJson[][];
  data: { annotations?: import("proto/analysis_pb").AnnotationJson[] };
  regressions: RegressionJson[];
  filter: string;
}): JSX.Element {
  const { places } = props;
  const identity = places[0]!.case ?? {};
  const model = useMemo(() => {
    const nodes = new Set(places.flatMap((place) => place.place?.nodeNames ?? []));
    const notes = (props.data.annotations ?? []).filter((note) => !note.nodeName || nodes.has(note.nodeName));
    return historyModel(places, notes, props.regressions);
  }, [places, props.data, props.regressions]);
  const draw = useCallback((width: number) => drawHistory(model, width), [model]);
  const title = useMemo(
    () => caseNames(props.all.map((one) => one[0]!.case ?? {}))(identity),
    [props.all, identity],
  );
  const text = caseExpression(
    identity,
    props.all.map((one) => one[0]!.case ?? {}),
  );
  return (
    <Section title={title}>
      <Chart
        title={`${(identity.metric ?? "").replaceAll("_", " ")} over time`}
        summary={historySummary(model)}
        draw={draw}
        command={commandLine(["history", text], { filter: props.filter })}
      />
      <details>
        <summary>Runs as a table</summary>
        <Runs places={places} />
      </details>
    </Section>
  );
}

interface RunRow {
  key: string;
  place: string;
  time: string | undefined;
  value: number;
  uncertainty: number | undefined;
  driver: string;
  resultId: string;
  excluded: boolean;
}

function Runs({ places }: { places: PlaceHistoryJson[] }): JSX.Element {
  const unit = places[0]?.case?.unit ?? "";
  const rows = useMemo(
    () =>
      places.flatMap((place) =>
        (place.points ?? []).map((point): RunRow => ({
          key: point.resultId ?? "",
          place: placeName(place.place),
          time: point.endTime,
          value: Number(point.median),
          uncertainty: point.uncertainty === undefined ? undefined : Number(point.uncertainty),
          driver: point.driverVersion ?? "",
          resultId: point.resultId ?? "",
          excluded: point.excluded ?? false,
        })),
      ),
    [places],
  );
  return (
    <Table
      label="Runs"
      sortParameter="runs"
      rows={rows}
      rowKey={(row) => row.key}
      columns={[
        { key: "time", title: "Time", value: (row) => row.time, cell: (row) => <Time at={row.time} /> },
        { key: "place", title: "Where", value: (row) => row.place },
        {
          key: "value",
          title: "Median",
          numeric: true,
          value: (row) => row.value,
          cell: (row) => <a href={to("result", row.resultId)}>{quantity(row.value, unit)}</a>,
        },
        {
          key: "uncertainty",
          title: "Interval",
          numeric: true,
          value: (row) => row.uncertainty,
          cell: (row) => (row.uncertainty === undefined ? <span class="muted">none</span> : `±${(100 * row.uncertainty).toFixed(2)}%`),
        },
        { key: "driver", title: "Driver", value: (row) => row.driver },
        { key: "used", title: "Used", value: (row) => (row.excluded ? "no: output not verified" : "yes") },
      ]}
    />
  );
}
