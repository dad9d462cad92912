// What did X reach on Y? Results by case and group.

import type { ResultGroupJson } from "proto/result_service_pb";
import type { JSX } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { Command, Empty, ErrorNote, Flags, PageHead, Section, Skeleton, Time } from "../components/basic";
import { FilterBox } from "../components/filter";
import { type Column, Table } from "../components/table";
import { useResultFields } from "../facets";
import { Chart } from "../figures/chart";
import { Choice, SimulatedHint, Switch, both, commandLine, csv, download, equals } from "../figures/controls";
import { drawLines, linesSummary } from "../figures/lines";
import { parameterNames, parametersName } from "../figures/names";
import {
  type CaseFamily,
  familiesOf,
  familyKey,
  figureFields,
  groupsModel,
  linesOf,
  xParameter,
} from "../figures/results";
import { drawBoxes, drawStrip, groupsSummary } from "../figures/rows";
import { count, num, plural, quantity } from "../format";
import { useCall } from "../hooks";
import { param, setParams, to, toParams } from "../router";
import { GroupResults, TabulateResults } from "../rpc";

const GROUP_FIELDS = [
  "gpu.model",
  "driver",
  "node",
  "gpu.uuid",
  "provider",
  "region",
  "campaign",
  "cuda",
  "nccl",
  "topology",
  "agent_version",
  "effort",
];
const FIRST_LIMIT = 200;
const MOST_GROUPS = 10_000;
const POINT_LIMIT = 1000;
// More results in a group than this are drawn as a box.
const STRIP_RESULTS = 60;


export function ResultsPage(): JSX.Element {
  const fields = useResultFields();
  const filter = param("filter");
  const by = param("by", "gpu.model")
    .split(",")
    .filter((field) => field && field !== "none")
    .slice(0, 2);
  const limit = Math.min(Number(param("limit")) || FIRST_LIMIT, MOST_GROUPS);
  const grouped = useCall(GroupResults, { filter, groupBy: by, limit });
  const groups = grouped.data?.groups ?? [];
  const families = useMemo(() => familiesOf(groups), [grouped.data]);
  const family =
    families.find((one) => familyKey(one.benchmark, one.metric) === param("case")) ?? families[0];
  const setBy = (first: string, second: string) => {
    const chosen = first === "none" ? "none" : [first, second].filter((one) => one && one !== "none").join(",");
    setParams({ by: chosen === "gpu.model" ? "" : chosen });
  };
  const error = grouped.error;

  return (
    <>
      <PageHead title="Results" kind="What did X reach on Y?" />
      <div class="toolbar">
        <FilterBox
          value={filter}
          onChange={(value) => setParams({ filter: value, limit: "", case: "" })}
          fields={fields}
          error={error}
        />
        <Choice
          label="Group by"
          value={by[0] ?? "none"}
          options={["none", ...GROUP_FIELDS]}
          onChange={(value) => setBy(value, by[1] ?? "")}
        />
        {by.length > 0 && (
          <Choice
            label="and by"
            value={by[1] ?? "none"}
            options={["none", ...GROUP_FIELDS.filter((field) => field !== by[0])]}
            onChange={(value) => setBy(by[0] ?? "none", value)}
          />
        )}
      </div>
      {error?.code !== "invalid_argument" && <ErrorNote error={error} />}
      {!grouped.data && grouped.loading && <Skeleton lines={8} />}
      {grouped.data && groups.length === 0 && (
        <Empty title={filter ? "No result matches." : "There is no result yet."}>
          <p>{filter ? "To see what there is, clear the filter. To measure more:" : "To measure something:"}</p>
          <Command text={commandLine(["campaign", "submit", "examples/gpu-quickstart.yaml", "--watch"])} />
          <SimulatedHint filter={filter} />
        </Empty>
      )}
      {family && <FamilyFigure families={families} family={family} filter={filter} by={by} />}
      {groups.length > 0 && (
        <Groups groups={groups} by={by} filter={filter} truncated={grouped.data?.truncated ?? false} limit={limit} />
      )}
    </>
  );
}

type Shape = "line" | "strip" | "box";

function FamilyFigure(props: {
  families: CaseFamily[];
  family: CaseFamily;
  filter: string;
  by: string[];
}): JSX.Element {
  const { family, by } = props;
  const filter = both(props.filter, equals("benchmark", family.benchmark), equals("metric", family.metric));
  const fields = figureFields(family, by);
  const { data, error, loading } = useCall(TabulateResults, { filter, fields, limit: POINT_LIMIT });
  const parameter = xParameter(family);
  const wanted = param("plot");
  const groups = useMemo(
    () => (data ? groupsModel(data, family, by) : undefined),
    [data, family, by.join()],
  );
  const most = Math.max(0, ...(groups?.groups.map((group) => group.points.length) ?? []));
  const automatic: Shape = parameter ? "line" : most > STRIP_RESULTS ? "box" : "strip";
  const shape: Shape =
    (wanted === "line" && parameter) || wanted === "strip" || wanted === "box" ? (wanted as Shape) : automatic;
  const lines = useMemo(
    () => (data && parameter ? linesOf(data, family, parameter, by) : undefined),
    [data, family, parameter, by.join()],
  );
  const draw = useCallback(
    (width: number) => {
      if (shape === "line") return drawLines(lines!, width);
      return shape === "box" ? drawBoxes(groups!, width) : drawStrip(groups!, width);
    },
    [shape, lines, groups],
  );
  const remaining = num(data?.remainingCount) ?? 0;
  const empty = (groups?.groups.length ?? 0) === 0;
  const parameters = [...family.varying.keys()].map((name) => `parameters.${name}`);
  const columns = [...new Set([...by, ...parameters, "median", "node"])];

  return (
    <Section
      title={family.benchmark}
      aside={
        props.families.length > 1 ? (
          <Choice
            label="Figure of"
            value={familyKey(family.benchmark, family.metric)}
            options={props.families.map((one) => ({
              value: familyKey(one.benchmark, one.metric),
              text: `${one.benchmark}: ${one.metric} (${count(one.resultCount)})`,
            }))}
            onChange={(value) => setParams({ case: value })}
          />
        ) : undefined
      }
    >
      <ErrorNote error={error} />
      {!data && loading && <Skeleton lines={6} />}
      {data && empty && <p class="muted">All results of {family.benchmark} failed: there is nothing to draw.</p>}
      {data && !empty && groups && (
        <>
          <Chart
            title={
              shape === "line"
                ? `${family.metric.replaceAll("_", " ")} over ${parameter}`
                : `${family.metric.replaceAll("_", " ")} by ${by.join(" and ") || "case"}`
            }
            summary={shape === "line" ? linesSummary(lines!) : groupsSummary(groups)}
            draw={draw}
            command={
              shape === "line" && parameter === "bytes" && family.unit.endsWith("B/s")
                ? commandLine(["plot", "bandwidth"], { filter, limit: String(POINT_LIMIT) })
                : commandLine(["results"], { filter, columns: columns.join(","), limit: String(POINT_LIMIT) })
            }
          >
            <Switch
              label="Kind of figure"
              value={shape}
              options={[
                ...(parameter ? [{ value: "line", text: "line" }] : []),
                { value: "strip", text: "points" },
                { value: "box", text: "boxes" },
              ]}
              onChange={(value) => setParams({ plot: value === automatic ? "" : value })}
            />
          </Chart>
          {remaining > 0 && (
            <p class="muted">
              The newest {count(data.rowCount)} results are drawn; {plural(remaining, "older one")} not.
            </p>
          )}
        </>
      )}
    </Section>
  );
}

// Returns a filter for the results of one group.
export function groupFilter(group: ResultGroupJson, by: string[]): string {
  const run = group.best?.caseResult;
  const measured = run?.measurements?.[0];
  const parts = [equals("benchmark", run?.benchmark ?? "")];
  for (const [name, value] of Object.entries(run?.parameters ?? {})) {
    parts.push(equals(`parameters.${name}`, value));
  }
  if (measured?.metric) parts.push(equals("metric", measured.metric));
  by.forEach((field, index) => parts.push(equals(field, group.values?.[index] ?? "")));
  return parts.join(" AND ");
}

function unitOf(group: ResultGroupJson): string {
  return group.best?.caseResult?.measurements?.[0]?.unit ?? "";
}

function groupColumns(
  by: string[],
  filter: string,
  name: ReturnType<typeof parameterNames>,
): Column<ResultGroupJson>[] {
  const metric = (group: ResultGroupJson) => group.best?.caseResult?.measurements?.[0]?.metric ?? "";
  return [
    {
      key: "benchmark",
      title: "Benchmark",
      value: (group) => group.best?.caseResult?.benchmark,
      cell: (group) => (
        <a href={to("series", "", { filter: groupFilter(group, by) })} title="Its history">
          {group.best?.caseResult?.benchmark}
        </a>
      ),
    },
    {
      key: "parameters",
      title: "Parameters",
      wide: true,
      value: (group) => name(group.best?.caseResult?.benchmark ?? "", group.best?.caseResult?.parameters ?? {}),
      cell: (group) => (
        <span title={parametersName(group.best?.caseResult?.parameters ?? {})}>
          {name(group.best?.caseResult?.benchmark ?? "", group.best?.caseResult?.parameters ?? {})}
        </span>
      ),
    },
    { key: "metric", title: "Metric", value: metric },
    ...by.map(
      (field, index): Column<ResultGroupJson> => ({
        key: field,
        title: field,
        value: (group) => group.values?.[index],
        cell: (group) => {
          const value = group.values?.[index] ?? "";
          return (
            <a href={toParams({ filter: both(filter, equals(field, value)), limit: "" })}>
              {value || <span class="muted">none</span>}
            </a>
          );
        },
      }),
    ),
    {
      key: "median",
      title: "Median",
      numeric: true,
      value: (group) => num(group.median),
      cell: (group) => (group.median === undefined ? <span class="bad">all failed</span> : quantity(group.median, unitOf(group))),
    },
    {
      key: "range",
      title: "Lowest to highest",
      numeric: true,
      value: (group) => num(group.low),
      cell: (group) =>
        group.low === undefined ? "" : `${quantity(group.low, unitOf(group))} to ${quantity(group.high, unitOf(group))}`,
    },
    {
      key: "best",
      title: "Best",
      numeric: true,
      value: (group) => num(group.best?.caseResult?.measurements?.[0]?.median),
      cell: (group) => {
        const best = group.best;
        const value = best?.caseResult?.measurements?.[0]?.median;
        return <a href={to("result", best?.resultId)}>{value === undefined ? "newest" : quantity(value, unitOf(group))}</a>;
      },
    },
    {
      key: "flags",
      title: "Flags of the best",
      cell: (group) => <Flags of={group.best?.caseResult?.conditions?.flags} />,
    },
    {
      key: "results",
      title: "Results",
      numeric: true,
      value: (group) => group.resultCount,
      cell: (group) => (
        <a href={toParams({ filter: groupFilter(group, by), by: "node,gpu.uuid", case: "", limit: "" })} title="By GPU">
          {count(group.resultCount)}
        </a>
      ),
    },
    {
      key: "failed",
      title: "Failed",
      numeric: true,
      value: (group) => group.failedCount,
      cell: (group) => (group.failedCount ? <span class="bad">{count(group.failedCount)}</span> : "0"),
    },
    { key: "nodes", title: "Nodes", numeric: true, value: (group) => group.nodeCount },
    { key: "gpus", title: "GPUs", numeric: true, value: (group) => group.gpuCount },
    {
      key: "newest",
      title: "Newest",
      value: (group) => group.newestTime,
      cell: (group) => <Time at={group.newestTime} />,
    },
  ];
}

function Groups(props: {
  groups: ResultGroupJson[];
  by: string[];
  filter: string;
  truncated: boolean;
  limit: number;
}): JSX.Element {
  const { groups, by, filter, truncated, limit } = props;
  const columns = useMemo(
    () => groupColumns(by, filter, parameterNames(groups.map((group) => group.best?.caseResult ?? {}))),
    [by.join(), filter, groups],
  );
  const save = () => {
    const header = ["benchmark", "parameters", "metric", "unit", ...by, "median", "low", "high"];
    header.push("results", "failed", "nodes", "gpus", "newest_time", "best_result_id");
    const rows = groups.map((group) => {
      const run = group.best?.caseResult;
      const parameters = Object.entries(run?.parameters ?? {}).map(([name, value]) => `${name}=${value}`);
      return [
        run?.benchmark ?? "",
        parameters.join(";"),
        run?.measurements?.[0]?.metric ?? "",
        unitOf(group),
        ...by.map((_, index) => group.values?.[index] ?? ""),
        group.median ?? "",
        group.low ?? "",
        group.high ?? "",
        group.resultCount ?? 0,
        group.failedCount ?? 0,
        group.nodeCount ?? 0,
        group.gpuCount ?? 0,
        group.newestTime ?? "",
        group.best?.resultId ?? "",
      ];
    });
    download("assay-results.csv", "text/csv", csv([header, ...rows]));
  };
  return (
    <Section
      title={`${count(groups.length)}${truncated ? "+" : ""} ${groups.length === 1 ? "group" : "groups"}`}
      aside={
        <button type="button" class="small" onClick={save}>
          save as CSV
        </button>
      }
    >
      <Table
        label="Results by case"
        rows={groups}
        columns={columns}
        rowKey={(group) => JSON.stringify([group.best?.resultId, group.values])}
        main
      />
      {truncated && limit < MOST_GROUPS && (
        <p>
          <button type="button" onClick={() => setParams({ limit: String(Math.min(limit * 5, MOST_GROUPS)) }, true)}>
            more groups
          </button>
        </p>
      )}
      {truncated && limit >= MOST_GROUPS && <p class="muted">There are more groups; narrow the filter to see them.</p>}
      <Command text={commandLine(["results"], { filter, by: by.join(",") })} />
    </Section>
  );
}
