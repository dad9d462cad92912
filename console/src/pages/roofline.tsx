// Where does this GPU stand? Results under the limits of their GPU.

import type { RooflinePointJson } from "proto/analysis_service_pb";
import type { JSX } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { Command, Empty, ErrorNote, Flags, PageHead, Section, Skeleton, Value } from "../components/basic";
import { FilterBox } from "../components/filter";
import { type Column, Table } from "../components/table";
import { useResultFields } from "../facets";
import { Chart } from "../figures/chart";
import { Choice, SimulatedHint, both, commandLine, equals } from "../figures/controls";
import { parameterNames, parametersName } from "../figures/names";
import { drawRoofline, gpuName, rooflineModel, rooflineSummary } from "../figures/roofline";
import { num, percent, plural, quantity, significant } from "../format";
import { useCall } from "../hooks";
import { param, setParams, to } from "../router";
import { GetRoofline } from "../rpc";

const POINT_LIMIT = 800;

const columnsFor = (name: ReturnType<typeof parameterNames>): Column<RooflinePointJson>[] => [
  {
    key: "benchmark",
    title: "Benchmark",
    value: (point) => point.benchmark,
    cell: (point) => <a href={to("result", point.resultId)}>{point.benchmark}</a>,
  },
  {
    key: "parameters",
    title: "Parameters",
    value: (point) => name(point.benchmark ?? "", point.parameters ?? {}),
    cell: (point) => (
      <span title={parametersName(point.parameters ?? {})}>
        {name(point.benchmark ?? "", point.parameters ?? {})}
      </span>
    ),
    wide: true,
  },
  {
    key: "intensity",
    title: "Intensity",
    unit: "FLOP/B",
    numeric: true,
    value: (point) => num(point.arithmeticIntensity),
    cell: (point) => significant(num(point.arithmeticIntensity) ?? NaN, 3),
  },
  {
    key: "flops",
    title: "Performance",
    numeric: true,
    value: (point) => num(point.flopsPerSecond),
    cell: (point) => <Value of={point.flopsPerSecond} unit="FLOP/s" />,
  },
  {
    key: "interval",
    title: "Interval",
    help: "95% confidence interval of the median, as a share of it",
    numeric: true,
    value: (point) => halfWidth(point),
    cell: (point) => {
      const half = halfWidth(point);
      return half === undefined ? <span class="muted">none</span> : `±${percent(half)}`;
    },
  },
  {
    key: "spec",
    title: "Of sheet",
    help: "performance over the spec sheet's limit",
    numeric: true,
    value: (point) => num(point.efficiencySpec),
    cell: (point) => percent(point.efficiencySpec),
  },
  {
    key: "clock",
    title: "At clock",
    help: "performance over the limit at the observed clock",
    numeric: true,
    value: (point) => num(point.efficiencyClock),
    cell: (point) => percent(point.efficiencyClock),
  },
  {
    key: "measured",
    title: "Of measured",
    help: "performance over the best that was measured on this GPU",
    numeric: true,
    value: (point) => num(point.efficiencyMeasured),
    cell: (point) => percent(point.efficiencyMeasured),
  },
  { key: "regime", title: "Limit", value: (point) => point.regime || "unknown" },
  {
    key: "node",
    title: "Node",
    value: (point) => point.nodeName,
    cell: (point) => <a href={to("node", point.nodeName)}>{point.nodeName}</a>,
  },
  { key: "gpu", title: "GPU", value: (point) => point.gpuUuid?.slice(0, 12) || "several" },
  { key: "flags", title: "Flags", cell: (point) => <Flags of={point.flags} /> },
];

function halfWidth(point: RooflinePointJson): number | undefined {
  const low = num(point.flopsPerSecondLow);
  const high = num(point.flopsPerSecondHigh);
  const middle = num(point.flopsPerSecond);
  return low === undefined || high === undefined || !middle ? undefined : (high - low) / 2 / middle;
}

export function RooflinePage(): JSX.Element {
  const fields = useResultFields();
  const filter = param("filter");
  const { data, error, loading } = useCall(GetRoofline, { filter, limit: POINT_LIMIT });
  const rooflines = data?.rooflines ?? [];
  const gpu = param("gpu");
  const chosen = rooflines.find((one) => gpuName(one) === gpu) ?? rooflines[0];
  const dtype = param("dtype");
  const benchmark = param("benchmark");
  const points = useMemo(() => chosen?.points ?? [], [chosen]);
  const dtypes = [...new Set(points.map((point) => point.computeRoof ?? "").filter(Boolean))].sort();
  const benchmarks = [...new Set(points.map((point) => point.benchmark ?? ""))].sort();
  const model = useMemo(
    () => (chosen ? rooflineModel(chosen, { dtype, benchmark }) : undefined),
    [chosen, dtype, benchmark],
  );
  const draw = useCallback((width: number) => drawRoofline(model!, width), [model]);
  const rows = useMemo(() => {
    const ids = new Set(model?.dots.map((dot) => dot.resultId));
    return points.filter((point) => ids.has(point.resultId ?? ""));
  }, [points, model]);
  const columns = useMemo(() => columnsFor(parameterNames(points)), [points]);
  const asFilter = both(
    filter,
    chosen?.gpuModel ? equals("gpu.model", chosen.gpuModel) : "",
    benchmark ? equals("benchmark", benchmark) : "",
    dtype ? equals("parameters.dtype", dtype) : "",
  );

  return (
    <>
      <PageHead title="Roofline" kind="Where does this GPU stand?" />
      <div class="toolbar">
        <FilterBox
          value={filter}
          onChange={(value) => setParams({ filter: value })}
          fields={fields}
          error={error}
        />
        {rooflines.length > 0 && (
          <>
            <Choice
              label="GPU"
              value={chosen ? gpuName(chosen) : ""}
              options={rooflines.map(gpuName)}
              onChange={(value) => setParams({ gpu: value, dtype: "", benchmark: "" })}
            />
            <Choice
              label="Precision"
              value={dtype}
              options={[{ value: "", text: "all" }, ...dtypes]}
              onChange={(value) => setParams({ dtype: value })}
            />
            <Choice
              label="Benchmark"
              value={benchmark}
              options={[{ value: "", text: "all" }, ...benchmarks]}
              onChange={(value) => setParams({ benchmark: value })}
            />
          </>
        )}
      </div>
      {error?.code !== "invalid_argument" && <ErrorNote error={error} />}
      {!data && loading && <Skeleton lines={8} />}
      {data && !chosen && (
        <Empty title="No result with a prediction matches.">
          <p>Benchmarks with a number of operations and bytes have one. To measure some:</p>
          <Command text={commandLine(["campaign", "submit", "examples/roofline.yaml"])} />
          <SimulatedHint filter={filter} />
        </Empty>
      )}
      {model && chosen && (
        <>
          <Section
            title={gpuName(chosen)}
            aside={
              chosen.spec ? (
                <span class="muted">
                  spec sheet {chosen.spec}
                  {chosen.specCertainty === "recalled" && ", not checked against the vendor's"}
                </span>
              ) : (
                <span class="muted">no spec sheet is known</span>
              )
            }
          >
            <Chart
              title="Performance over arithmetic intensity"
              summary={rooflineSummary(model)}
              draw={draw}
              command={commandLine(["plot", "roofline"], { filter: asFilter })}
            />
          </Section>
          <Section
            title={plural(rows.length, "result")}
            aside={
              num(data?.remainingCount) ? (
                <span class="muted">{plural(data?.remainingCount, "older result")} not shown</span>
              ) : undefined
            }
          >
            <Table
              label="Results in the roofline"
              rows={rows}
              columns={columns}
              rowKey={(point) => point.resultId ?? ""}
              main
              empty={<p class="muted">No result has this precision and benchmark.</p>}
            />
          </Section>
          <Limits model={model} />
        </>
      )}
    </>
  );
}

function Limits({ model }: { model: ReturnType<typeof rooflineModel> }): JSX.Element {
  return (
    <Section title="Limits">
      <Table
        label="Limits of the GPU"
        sortParameter="limits"
        rows={model.lines}
        rowKey={(line) => `${line.name} ${line.basis}`}
        columns={[
          { key: "name", title: "Limit", value: (line) => line.name },
          {
            key: "basis",
            title: "Basis",
            value: (line) => line.basis,
            cell: (line) =>
              line.resultId ? <a href={to("result", line.resultId)}>{line.basis}</a> : line.basis,
          },
          {
            key: "value",
            title: "Value",
            numeric: true,
            value: (line) => line.value,
            cell: (line) => quantity(line.value, line.isBandwidth ? "B/s" : "FLOP/s"),
          },
          {
            key: "ridge",
            title: "Ridge",
            unit: "FLOP/B",
            help: "from this intensity on, arithmetic is the limit",
            numeric: true,
            value: (line) => (line.isBandwidth ? undefined : line.x1),
            cell: (line) => (line.isBandwidth ? "" : significant(line.x1, 3)),
          },
        ]}
      />
    </Section>
  );
}
