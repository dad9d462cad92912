// Did it cost anything? Two sides, A and B, case by case.

import type { CaseComparisonJson } from "proto/analysis_pb";
import type { CompareResultsRequestJson, CompareResultsResponseJson } from "proto/analysis_service_pb";
import type { JSX } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { Badge, Command, Empty, ErrorNote, PageHead, Section, Skeleton, type Tone } from "../components/basic";
import { FilterBox } from "../components/filter";
import { type Column, Table } from "../components/table";
import { useResultFields } from "../facets";
import { Chart } from "../figures/chart";
import { Choice, SimulatedHint, Switch, both, commandLine, equals } from "../figures/controls";
import { caseExpression, caseNames } from "../figures/names";
import { type ForestRow, drawForest, forestModel, forestSummary } from "../figures/rows";
import { change, plural, quantity } from "../format";
import { useCall } from "../hooks";
import { param, setParams, to } from "../router";
import { CompareResults, ListFacets } from "../rpc";

const FIELDS = ["driver", "cuda", "nccl", "gpu.model", "gpu.uuid", "node", "provider", "campaign"];
// The name of the field in `assay compare --by`.
const CLI_FIELDS: Record<string, string> = { "gpu.model": "gpu" };
const VERDICT_TONES: Record<string, Tone> = {
  regressed: "bad",
  improved: "good",
  inconclusive: "warn",
};

const collator = new Intl.Collator("en", { numeric: true });

// Without a choice, the two newest versions are compared: values are sorted as versions.
export function defaultSides(values: string[]): [string, string] {
  const sorted = [...values].sort(collator.compare);
  return sorted.length < 2 ? ["", ""] : [sorted.at(-2)!, sorted.at(-1)!];
}

export function ComparePage(): JSX.Element {
  const fields = useResultFields();
  const byFilters = param("mode") === "filters";
  const by = param("by", "driver");
  const filter = param("filter");
  const margin = Number(param("margin")) || 2;
  const facets = useCall(ListFacets, byFilters ? undefined : { fields: [by], limit: 1000, simulated: /\bsimulated = true\b/.test(filter) });
  const values = useMemo(
    () => [...(facets.data?.facets?.find((facet) => facet.field === by)?.values ?? [])].sort(collator.compare),
    [facets.data, by],
  );
  const [defaultA, defaultB] = defaultSides(values);
  const b = param("b") || defaultB;
  const a = param("a") || (b === defaultB ? defaultA : "");
  const filterA = param("filter_a");
  const filterB = param("filter_b");

  let request: CompareResultsRequestJson | undefined;
  if (byFilters) {
    if (filterA && filterB) request = { filter, filterA, filterB, margin: margin / 100 };
  } else if (b) {
    request = { filter, by, valueA: a === "others" ? "" : a, valueB: b, margin: margin / 100 };
  }
  const { data, error, loading } = useCall(CompareResults, request);
  const options = { filter, margin: margin === 2 ? "" : String(margin) };
  const sides = a === "others" ? [b] : [a, b];
  const command = byFilters
    ? commandLine(["compare"], { a: filterA, b: filterB, ...options })
    : commandLine(["compare", "--by", CLI_FIELDS[by] ?? by, ...sides], options);

  return (
    <>
      <PageHead title="Compare" kind="Did it cost anything?">
        <Switch
          label="How sides are chosen"
          value={byFilters ? "filters" : ""}
          options={[
            { value: "", text: "by a field" },
            { value: "filters", text: "by two filters" },
          ]}
          onChange={(mode) => setParams({ mode })}
        />
      </PageHead>
      <div class="toolbar">
        {byFilters ? (
          <>
            <FilterBox
              label="Filter of side A"
              placeholder="A, for example driver = 580.95.05"
              value={filterA}
              onChange={(value) => setParams({ filter_a: value })}
              fields={fields}
            />
            <FilterBox
              label="Filter of side B"
              placeholder="B, for example driver = 590.10"
              value={filterB}
              onChange={(value) => setParams({ filter_b: value })}
              fields={fields}
            />
          </>
        ) : (
          <>
            <Choice
              label="Compare"
              value={by}
              options={FIELDS}
              onChange={(value) => setParams({ by: value, a: "", b: "" })}
            />
            <Choice
              label="A, before"
              value={a}
              options={[...values, { value: "others", text: "all others" }]}
              onChange={(value) => setParams({ a: value, b })}
            />
            <Choice label="B, after" value={b} options={values} onChange={(value) => setParams({ a, b: value })} />
          </>
        )}
        <Choice
          label="Margin"
          value={String(margin)}
          options={["0.5", "1", "2", "3", "5", "10"].map((value) => ({ value, text: `${value}%` }))}
          onChange={(value) => setParams({ margin: value === "2" ? "" : value })}
        />
        <FilterBox
          label="Filter of both sides"
          placeholder="Both sides, for example gpu.model = H200"
          value={filter}
          onChange={(value) => setParams({ filter: value })}
          fields={fields}
        />
      </div>
      <ErrorNote error={error ?? facets.error} />
      {request && !data && loading && <Skeleton lines={8} />}
      {!request && !loading && !facets.loading && (
        <Empty title={byFilters ? "Give a filter for A and one for B." : `Results have fewer than two values of ${by}.`}>
          {!byFilters && (
            <p>
              Compare another field, or measure the same cases on the other side, for example after the
              update:
            </p>
          )}
          {!byFilters && <Command text={commandLine(["campaign", "submit", "examples/gpu-quickstart.yaml"])} />}
          {!byFilters && <SimulatedHint filter={filter} />}
        </Empty>
      )}
      {data && <Comparison data={data} margin={margin} command={command} sides={byFilters ? undefined : { by, a, b }} filter={filter} />}
    </>
  );
}

const COLUMNS: Column<ForestRow>[] = [
  { key: "name", title: "Case", value: (row) => row.name, wide: true },
  {
    key: "change",
    title: "Change",
    help: "performance of B over that of A; below 0, B is slower, also for times",
    numeric: true,
    value: (row) => row.change,
    cell: (row) => change(1 + row.change / 100),
  },
  { key: "interval", title: "99% interval", value: (row) => row.interval || "too few runs" },
  { key: "a", title: "A", numeric: true, value: (row) => row.a, cell: (row) => quantity(row.a, row.unit) },
  { key: "b", title: "B", numeric: true, value: (row) => row.b, cell: (row) => quantity(row.b, row.unit) },
  { key: "runs", title: "Runs A/B", numeric: true, value: (row) => row.runs },
  { key: "places", title: "Where", value: (row) => row.places },
  {
    key: "verdict",
    title: "Verdict",
    value: (row) => row.verdict,
    cell: (row) => <Badge tone={VERDICT_TONES[row.verdict] ?? "plain"}>{row.verdict}</Badge>,
  },
  { key: "needs", title: "Needs", value: (row) => row.needs },
];

function Comparison(props: {
  data: CompareResultsResponseJson;
  margin: number;
  command: string;
  sides: { by: string; a: string; b: string } | undefined;
  filter: string;
}): JSX.Element {
  const { data, margin } = props;
  const cases: CaseComparisonJson[] = data.cases ?? [];
  const labels = { a: data.labelA || "A", b: data.labelB || "B" };
  const model = useMemo(
    () => forestModel(cases, { a: data.labelA ?? "", b: data.labelB ?? "" }, margin / 100),
    [data, margin],
  );
  const draw = useCallback((width: number) => drawForest(model, width), [model]);
  const name = useMemo(() => caseNames(cases.map((one) => one.case ?? {})), [data]);
  if (cases.length === 0) {
    return (
      <Empty title={nothingCommon(data)}>
        {data.differingFields?.length ? <p>The sides differ in {data.differingFields.join(", ")}.</p> : null}
        <Command text={props.command} />
      </Empty>
    );
  }
  const few = cases.filter((one) => one.thesePlacesOnly).length;
  const side = (value: string) =>
    props.sides && value && value !== "others"
      ? both(props.filter, equals(props.sides.by, value))
      : undefined;
  return (
    <>
      <Section
        title={`${labels.b} against ${labels.a}`}
        aside={
          <span class="muted">
            {plural(data.runsA, "run")} of A, {plural(data.runsB, "run")} of B
          </span>
        }
      >
        <Chart title="Change in performance, with 99% intervals" summary={forestSummary(model)} draw={draw} command={props.command} />
        <ul class="notes">
          {few > 0 && (
            <li>
              {few === cases.length ? "The verdicts hold" : `${plural(few, "verdict holds", "verdicts hold")}`} for
              the places that ran them only, because there are fewer than three.
            </li>
          )}
          {data.excludedRuns ? (
            <li>{plural(data.excludedRuns, "run was", "runs were")} left out: their output was not verified.</li>
          ) : null}
          {(data.casesOnlyA ?? 0) + (data.casesOnlyB ?? 0) > 0 && (
            <li>
              Cases with runs on one side only: {data.casesOnlyA ?? 0} of A, {data.casesOnlyB ?? 0} of B.
            </li>
          )}
          {data.differingFields?.length ? <li>The sides also differ in {data.differingFields.join(", ")}.</li> : null}
          {props.sides && (
            <li>
              Results: <SideLink filter={side(props.sides.a)} text="A" />, <SideLink filter={side(props.sides.b)} text="B" />
            </li>
          )}
        </ul>
      </Section>
      <Section title={plural(cases.length, "case")}>
        <Table label="Cases" rows={model.rows} columns={COLUMNS} rowKey={(row) => row.name + row.interval} main />
      </Section>
      <CaseCommands cases={cases} name={name} filter={props.filter} />
    </>
  );
}

// A link to the results of one side. "others" has no filter of its own.
function SideLink(props: { filter: string | undefined; text: string }): JSX.Element {
  if (props.filter === undefined) return <span>{props.text}</span>;
  return <a href={to("results", "", { filter: props.filter })}>{props.text}</a>;
}

// Commands for the worst case: its history, and more runs if it lacks evidence.
function CaseCommands(props: {
  cases: CaseComparisonJson[];
  name: (identity: NonNullable<CaseComparisonJson["case"]>) => string;
  filter: string;
}): JSX.Element | null {
  const worst = props.cases[0]?.case;
  if (!worst) return null;
  const text = caseExpression(
    worst,
    props.cases.map((one) => one.case ?? {}),
  );
  return (
    <Section title={`More on ${props.name(worst)}`}>
      <div class="commands">
        <Command text={commandLine(["history", text], { filter: props.filter })} />
        <Command text={commandLine(["regressions", "--verbose"])} />
      </div>
    </Section>
  );
}

function nothingCommon(data: CompareResultsResponseJson): string {
  const a = data.labelA ? `A (${data.labelA})` : "A";
  const b = data.labelB ? `B (${data.labelB})` : "B";
  const runsA = data.runsA ?? 0;
  const runsB = data.runsB ?? 0;
  if (runsA === 0 && runsB === 0) return `No runs match ${a} or ${b}.`;
  if (runsA === 0 || runsB === 0) return `No runs match ${runsA === 0 ? a : b}.`;
  return `No case has runs on both sides: ${a} has ${plural(runsA, "run")}, ${b} has ${plural(runsB, "run")}.`;
}
