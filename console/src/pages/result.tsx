// A result: can I believe it?

import type { ComponentChildren, JSX } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import type { PlaceHistoryJson } from "proto/analysis_pb";
import type { CaseResultJson, MeasurementJson, RankTimesJson } from "proto/result_pb";
import type { StoredResultJson } from "proto/result_service_pb";
import {
  Badge,
  Command,
  ErrorNote,
  Facts,
  LongText,
  NotMeasured,
  PageHead,
  Reading,
  Section,
  Skeleton,
  Time,
  Value,
} from "../components/basic";
import { Figure } from "../components/figure";
import { FailureView, NodeLinks } from "../components/states";
import { type Column, Table } from "../components/table";
import { hardwareName, parametersName } from "../figures/names";
import { historyFilter } from "../findings";
import {
  bytes,
  change,
  count,
  dollars,
  localTime,
  num,
  percent,
  plural,
  quantity,
  quantityParts,
  quoteShell,
  reading,
  timeMillis,
} from "../format";
import { useCall } from "../hooks";
import { MARKS } from "../marks";
import { drawPast, drawSamples, type PastRun } from "../plots";
import { route, to } from "../router";
import { GetHistory, GetResult } from "../rpc";
import { quantile } from "../spec";

export function ResultPage(): JSX.Element {
  const id = route.value.argument;
  const { data, error } = useCall(GetResult, { resultId: id });
  const stored = data?.result;
  const result = stored?.caseResult;
  return (
    <>
      <PageHead title={result?.benchmark ?? id} kind="Result">
        {result && <OutcomeBadge result={result} />}
        {result && <span class="muted">{parametersName(result.parameters ?? {})}</span>}
        {stored?.primary === false && (
          <Badge title="A further metric of the case">{result?.measurements?.[0]?.metric}</Badge>
        )}
      </PageHead>
      <ErrorNote error={error} />
      {!stored && !error && <Skeleton lines={8} />}
      {stored && result && <ResultView stored={stored} result={result} />}
    </>
  );
}

function OutcomeBadge({ result }: { result: CaseResultJson }): JSX.Element {
  switch (result.outcome) {
    case "CASE_OUTCOME_FAILED":
      return <Badge tone="bad">failed</Badge>;
    case "CASE_OUTCOME_UNSUPPORTED":
      return (
        <Badge title="This hardware or software cannot run the case. This is no failure.">
          unsupported
        </Badge>
      );
    default:
      if (result.provenance?.simulated) return <Badge>simulated, not verified</Badge>;
      if (result.verification?.passed) return <Badge tone="good">verified</Badge>;
      return <Badge tone="warn">not verified</Badge>;
  }
}

function ResultView(props: { stored: StoredResultJson; result: CaseResultJson }): JSX.Element {
  const { stored, result } = props;
  const measured = result.measurements?.[0];
  return (
    <>
      {result.failure && (
        <Section title="Why it failed">
          <FailureView failure={result.failure} />
        </Section>
      )}
      {measured && <Headline stored={stored} result={result} measured={measured} />}
      <Doubts result={result} measured={measured} />
      {measured && (
        <div class="columns">
          <Expected result={result} />
          <Verification result={result} />
        </div>
      )}
      {(measured?.samples?.length ?? 0) > 0 && <Samples measured={measured!} />}
      {measured && <Past stored={stored} result={result} measured={measured} />}
      {(result.rankTimes?.length ?? 0) > 0 && <Ranks result={result} />}
      <div class="cards">
        <Conditions result={result} />
        {measured && <Method measured={measured} />}
        {result.counters && <Counters result={result} />}
        <Software result={result} />
        <Provenance stored={stored} result={result} />
      </div>
    </>
  );
}

// Half of the interval's width, as a fraction of the median.
function uncertainty(measured: MeasurementJson): number | undefined {
  const low = num(measured.ciLow);
  const high = num(measured.ciHigh);
  const median = num(measured.median);
  if (low === undefined || high === undefined || !median || (measured.n ?? 0) < 6) return undefined;
  return (high - low) / 2 / Math.abs(median);
}

function Headline(props: {
  stored: StoredResultJson;
  result: CaseResultJson;
  measured: MeasurementJson;
}): JSX.Element {
  const { stored, result, measured } = props;
  const unit = measured.unit ?? "";
  const parts = quantityParts(num(measured.median) ?? NaN, unit);
  const wide = uncertainty(measured);
  const { provenance, environment } = result;
  return (
    <section class="panel">
      <div class="stats">
        <div>
          <span>
            {(measured.metric ?? "").replaceAll("_", " ")},{" "}
            {measured.direction === "DIRECTION_LOWER_IS_BETTER" ? "lower" : "higher"} is better
          </span>
          <div class="headline-value">
            {parts.number} <small>{parts.unit}</small>
          </div>
          <span class="muted">
            {wide === undefined
              ? "no interval: too few samples"
              : `±${percent(wide)}: 95% of the median lies in ${quantity(measured.ciLow, unit)} to ${quantity(measured.ciHigh, unit)}`}
          </span>
        </div>
        <Stat name="Samples">{count(measured.n ?? 0)}</Stat>
        <Stat name="5% to 95% of samples">
          {quantity(measured.p05, unit)} to {quantity(measured.p95, unit)}
        </Stat>
        <Stat name="Median absolute deviation">{quantity(measured.mad, unit)}</Stat>
        <Stat name="Hardware">{hardwareName(environment) || "unknown"}</Stat>
        <Stat name="Node">
          <NodeLinks names={provenance?.nodeNames} />
        </Stat>
        <Stat name="Ended">
          <Time at={result.endTime} />
        </Stat>
      </div>
      <Command
        text={`assay results --filter ${quoteShell(seriesFilter(stored, result))} --columns time,node,median,ci_low,ci_high`}
        label="its series"
      />
    </section>
  );
}

function seriesFilter(stored: StoredResultJson, result: CaseResultJson): string {
  const simulated = result.provenance?.simulated ? " AND simulated = true" : "";
  return `series_id = ${stored.seriesId}${simulated}`;
}

function Stat(props: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <span>{props.name}</span>
      <strong class="stat-text">{props.children}</strong>
    </div>
  );
}

// Flags of the result, and marks that follow from how it was measured.
function doubts(result: CaseResultJson, measured: MeasurementJson | undefined): string[] {
  const found = [...(result.conditions?.flags ?? [])];
  if (measured && (uncertainty(measured) ?? 0) > 0.025) found.push("noisy");
  if (measured?.method?.cache === "hot") found.push("hot_cache");
  if (measured?.method?.fill === "zeros") found.push("zeros");
  if (measured?.method?.effort === "quick") found.push("quick");
  if (result.parameters?.launch === "graph") found.push("graph");
  if (result.prediction?.specCertainty === "recalled") found.push("recalled_spec");
  if (result.provenance?.importedFrom) found.push("imported");
  if (result.provenance?.simulated) found.push("simulated");
  return found;
}

function Doubts(props: {
  result: CaseResultJson;
  measured: MeasurementJson | undefined;
}): JSX.Element | null {
  const found = doubts(props.result, props.measured);
  if (!props.measured && found.length === 0) return null;
  return (
    <Section title="Doubts and marks">
      {found.length === 0 ? (
        <p class="muted">None: measured in the usual way, and nothing disturbed it.</p>
      ) : (
        <ul class="marks">
          {found.map((flag) => (
            <li key={flag} class="rule">
              <Badge tone={MARKED_ONLY.has(flag) ? "plain" : "warn"}>
                {flag.replaceAll("_", " ")}
              </Badge>
              <span>{MARKS[flag]?.text ?? "a flag that this console does not know"}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

// Marks that say how a result was measured, without a doubt about it.
const MARKED_ONLY = new Set(["graph", "hot_cache", "quick", "imported", "simulated", "zeros"]);

function Expected({ result }: { result: CaseResultJson }): JSX.Element {
  const prediction = result.prediction;
  const rows = [
    ["of the spec sheet", num(prediction?.efficiencySpec), prediction?.spec],
    ["of what this device reached", num(prediction?.efficiencyMeasured), "measured ceiling"],
    ["of the peak at its clock", num(prediction?.efficiencyClock), "at the observed clock"],
  ] as const;
  return (
    <Section title="Against predictions">
      {!prediction ? (
        <p class="muted">There is no prediction for this case.</p>
      ) : (
        <>
          <div class="efficiencies">
            {rows.map(([name, value, basis]) => (
              <div key={name}>
                <strong>{value === undefined ? <NotMeasured /> : percent(value)}</strong>
                <span>
                  {name}
                  {basis && <span class="muted">, {basis}</span>}
                </span>
                <span class="meter-bar" aria-hidden="true">
                  <span style={{ width: `${Math.min(100, 100 * (value ?? 0))}%` }} />
                </span>
              </div>
            ))}
          </div>
          <Facts
            rows={[
              prediction.predictedSeconds !== undefined && [
                "Predicted time",
                <>
                  <Value of={prediction.predictedSeconds} unit="s" /> per iteration, limited by{" "}
                  {prediction.bound || "an unknown bound"}
                </>,
              ],
              Boolean(prediction.regime) && ["Regime", prediction.regime],
              num(prediction.arithmeticIntensity) !== undefined && [
                "Intensity",
                `${quantity(prediction.arithmeticIntensity, "FLOP/B")}${ridge(num(prediction.ridgePoint))}`,
              ],
              num(prediction.flops) !== undefined && [
                "Work",
                `${scaled(num(prediction.flops)!, "FLOP")}${num(prediction.bytes) === undefined ? "" : `, ${scaled(num(prediction.bytes)!, "B")}`} per iteration`,
              ],
              prediction.linkModel && [
                "Other sizes",
                `predict ${quantity(prediction.linkModel.predictedSeconds, "s")}: latency ${quantity(prediction.linkModel.latencySeconds, "s")}, bandwidth ${quantity(prediction.linkModel.bandwidth, "B/s")}, knee at ${bytes(Math.round(num(prediction.linkModel.kneeBytes) ?? 0))} (${plural(prediction.linkModel.points ?? 0, "size")}, off by ${percent(prediction.linkModel.error)})`,
              ],
            ]}
          />
        </>
      )}
    </Section>
  );
}

function ridge(point: number | undefined): string {
  return point === undefined ? "" : `, ridge at ${quantity(point, "FLOP/B")}`;
}

// "1.100 TFLOP"
function scaled(value: number, unit: string): string {
  const { number, unit: text } = quantityParts(value, `${unit}/s`);
  return `${number} ${text.replace(/\/s$/, "")}`;
}

function Verification({ result }: { result: CaseResultJson }): JSX.Element {
  const verification = result.verification;
  return (
    <Section title="Verification">
      {!verification ? (
        <p class="muted">The output was not compared with a reference.</p>
      ) : (
        <Facts
          rows={[
            [
              "Output",
              verification.passed ? (
                <Badge tone="good">right</Badge>
              ) : (
                <Badge tone="bad">wrong, or not checked</Badge>
              ),
            ],
            ["Compared with", verification.reference || <span class="muted">unknown</span>],
            [
              "Error",
              num(verification.error) === undefined
                ? "not a number"
                : `${exponent(num(verification.error)!)}, allowed ${exponent(num(verification.tolerance) ?? 0)}`,
            ],
            Boolean(verification.norm) && ["Norm", verification.norm!.replaceAll("_", " ")],
            ["Elements", count(verification.elementsChecked)],
          ]}
        />
      )}
    </Section>
  );
}

function exponent(value: number): string {
  return value === 0 || (Math.abs(value) >= 0.001 && Math.abs(value) < 1e6)
    ? String(Number(value.toPrecision(3)))
    : value.toExponential(1);
}

function Samples({ measured }: { measured: MeasurementJson }): JSX.Element {
  const values = useMemo(() => {
    const unit = measured.unit ?? "";
    return {
      samples: (measured.samples ?? []).map(Number),
      median: num(measured.median) ?? NaN,
      low: num(measured.ciLow),
      high: num(measured.ciHigh),
      unit,
    };
  }, [measured]);
  const draw = useCallback((width: number) => drawSamples(values, width), [values]);
  return (
    <Section title="Samples">
      <Figure
        title={`${plural(values.samples.length, "sample")} in the order measured; the band is the 95% interval of the median`}
        summary={`From ${quantity(Math.min(...values.samples), values.unit)} to ${quantity(Math.max(...values.samples), values.unit)}, median ${quantity(values.median, values.unit)}.`}
        table={() => ({
          columns: ["sample", values.unit],
          rows: values.samples.map((value, index) => [index + 1, value]),
        })}
        draw={draw}
      />
    </Section>
  );
}

// The runs of the same case at the same place.
function Past(props: {
  stored: StoredResultJson;
  result: CaseResultJson;
  measured: MeasurementJson;
}): JSX.Element {
  const { stored, result, measured } = props;
  const unit = measured.unit ?? "";
  const filter = historyFilter(
    stored.lineageId,
    { nodeNames: result.provenance?.nodeNames ?? [], gpuUuids: result.provenance?.gpuUuids ?? [] },
    result.provenance?.simulated,
  );
  const metric = stored.primary === false ? `${filter} AND metric = ${measured.metric}` : filter;
  const { data, error } = useCall(GetHistory, { filter: metric, placeLimit: 4 });
  const runs = useMemo(
    () => (data ? pastRuns(data.places ?? [], stored.resultId ?? "") : []),
    [data, stored.resultId],
  );
  const others = runs.filter(({ current }) => !current).map(({ value }) => value);
  const typical = quantile(
    [...others].sort((a, b) => a - b),
    0.5,
  );
  const mine = num(measured.median) ?? NaN;
  const ratio =
    measured.direction === "DIRECTION_LOWER_IS_BETTER" ? typical / mine : mine / typical;
  const text =
    others.length === 0
      ? "the only run of this case here"
      : `${plural(others.length, "other run")} here, median ${quantity(typical, unit)}; this one is ${change(ratio)} against it`;
  const draw = useCallback((width: number) => drawPast(runs, unit, width), [runs, unit]);
  return (
    <Section
      title="Place in its history"
      aside={<a href={to("series", "", { filter: metric })}>Open the series</a>}
    >
      <ErrorNote error={error} />
      {!data && !error && <Skeleton />}
      {data && runs.length < 2 && <p class="muted">It is {text}.</p>}
      {data && runs.length >= 2 && (
        <Figure
          title={text}
          summary={`${plural(runs.length, "run")}.`}
          table={() => ({
            columns: ["ended", unit, "low", "high"],
            rows: runs.map(({ time, value, low, high, current }) => [
              localTime(new Date(time).toISOString()) + (current ? " (this run)" : ""),
              value,
              low,
              high,
            ]),
          })}
          draw={draw}
        />
      )}
    </Section>
  );
}

function pastRuns(places: readonly PlaceHistoryJson[], resultId: string): PastRun[] {
  const place =
    places.find(({ points }) => points?.some((point) => point.resultId === resultId)) ?? places[0];
  return (place?.points ?? [])
    .filter((point) => !point.excluded)
    .map((point) => {
      const value = num(point.median) ?? NaN;
      const half = (num(point.uncertainty) ?? 0) * Math.abs(value);
      return {
        time: timeMillis(point.endTime) ?? 0,
        value,
        low: value - half,
        high: value + half,
        current: point.resultId === resultId,
      };
    })
    .filter(({ time, value }) => time > 0 && Number.isFinite(value));
}

const RANK_COLUMNS: readonly Column<RankTimesJson>[] = [
  { key: "rank", title: "Rank", numeric: true, value: (one) => one.rank ?? 0 },
  {
    key: "node",
    title: "Node",
    value: (one) => one.nodeName,
    cell: (one) => <NodeLinks names={one.nodeName ? [one.nodeName] : []} />,
  },
  { key: "gpu", title: "GPU", numeric: true, value: (one) => one.gpuIndex ?? 0 },
  {
    key: "median",
    title: "Median",
    numeric: true,
    value: (one) => num(one.median),
    cell: (one) => quantity(one.median, "s"),
  },
  {
    key: "range",
    title: "5% to 95%",
    cell: (one) => `${quantity(one.p05, "s")} to ${quantity(one.p95, "s")}`,
  },
  {
    key: "wait",
    title: "Waits",
    help: "How much longer it spends in an iteration than the rank with the shortest time",
    numeric: true,
    value: (one) => num(one.wait),
    cell: (one) => <Value of={one.wait} unit="s" />,
  },
  { key: "n", title: "Iterations", numeric: true, value: (one) => one.n ?? 0 },
];

function Ranks({ result }: { result: CaseResultJson }): JSX.Element {
  const slow = result.slowRank;
  const collective = result.collective;
  return (
    <Section
      title="Time of each rank"
      aside={
        collective &&
        [
          collective.algorithm,
          collective.protocol,
          (collective.channels ?? 0) > 0 && plural(collective.channels, "channel"),
          collective.source && `by the ${collective.source}`,
        ]
          .filter(Boolean)
          .join(", ")
      }
    >
      {slow && (
        <p>
          <Badge tone="warn">slow rank</Badge> The others wait{" "}
          {quantity(slow.othersWaitSeconds, "s")} for rank {slow.rank ?? 0}, GPU{" "}
          {slow.gpuIndex ?? 0} of <NodeLinks names={slow.nodeName ? [slow.nodeName] : []} />.
        </p>
      )}
      <Table
        label="Time of each rank"
        rows={result.rankTimes ?? []}
        columns={RANK_COLUMNS}
        rowKey={(one) => String(one.rank ?? 0)}
      />
    </Section>
  );
}

function Conditions({ result }: { result: CaseResultJson }): JSX.Element {
  const { conditions = {}, environment = {} } = result;
  const known = (value: boolean | undefined): JSX.Element | string =>
    value === undefined ? <NotMeasured /> : value ? "yes" : "no";
  const gpu = (environment.gpuCount ?? 0) > 0;
  return (
    <Section title="Conditions">
      <Facts
        rows={[
          gpu && ["SM clock", <Reading of={conditions.smClockMhz} unit="MHz" />],
          gpu && ["Memory clock", <Reading of={conditions.memoryClockMhz} unit="MHz" />],
          gpu && [
            "Power",
            <>
              <Reading of={conditions.powerWatts} unit="W" />
              {num(environment.powerLimitWatts) !== undefined &&
                `, limit ${reading(environment.powerLimitWatts, "W")}`}
            </>,
          ],
          gpu && ["Temperature", <Reading of={conditions.temperatureCelsius} unit="C" />],
          gpu && [
            "Throttled",
            conditions.throttleReasons?.length
              ? conditions.throttleReasons.map((reason) => reason.replaceAll("_", " ")).join(", ")
              : "no",
          ],
          gpu && [
            "Other processes",
            conditions.otherGpuProcesses === undefined ? (
              <NotMeasured />
            ) : (
              `${count(conditions.otherGpuProcesses)} on the GPU`
            ),
          ],
          ["Load average", <Reading of={conditions.loadAverage} />],
          gpu && ["ECC", known(environment.eccEnabled)],
          gpu && ["Clocks locked", known(environment.clocksLocked)],
        ]}
      />
    </Section>
  );
}

function Method({ measured }: { measured: MeasurementJson }): JSX.Element {
  const method = measured.method ?? {};
  return (
    <Section title="Method">
      <Facts
        rows={[
          ["Cache", method.cache || <span class="muted">unknown</span>],
          ["Input data", method.fill || <span class="muted">unknown</span>],
          ["Timer", (method.timer || "unknown").replaceAll("_", " ")],
          ["Batch", plural(method.batch ?? 1, "iteration") + " per sample"],
          [
            "Warm-up",
            `${reading(method.warmupSeconds ?? 0, "s")}, ${plural(num(method.warmupIterations) ?? 0, "iteration")}`,
          ],
          ["Ended by", (method.stopReason || "unknown").replaceAll("_", " ")],
          [
            "Host's clock",
            (num(method.hostSeconds) ?? 0) > 0 ? (
              `${quantity(method.hostSeconds, "s")} per iteration`
            ) : (
              <NotMeasured />
            ),
          ],
          ["Effort", method.effort || <span class="muted">unknown</span>],
        ]}
      />
    </Section>
  );
}

function Counters({ result }: { result: CaseResultJson }): JSX.Element {
  const counters = result.counters ?? {};
  const part = (value: number | string | undefined): JSX.Element | string =>
    num(value) === undefined ? <NotMeasured /> : percent(value);
  const size = (value: number | string | undefined): JSX.Element | string =>
    num(value) === undefined ? <NotMeasured /> : scaled(num(value)!, "B");
  return (
    <Section title="Counters" aside={`from ${(counters.source ?? "").replaceAll("_", " ")}`}>
      {counters.reason && <p class="muted">{counters.reason}</p>}
      <Facts
        rows={[
          ["Memory read", size(counters.dramReadBytes)],
          ["Memory written", size(counters.dramWriteBytes)],
          ["Memory throughput", part(counters.dramThroughput)],
          ["SMs active", part(counters.smActive)],
          ["SM throughput", part(counters.smThroughput)],
          ["Tensor pipe", part(counters.tensorPipeActive)],
          ["L2 hits", part(counters.l2HitRate)],
          ["Occupancy", part(counters.achievedOccupancy)],
          num(counters.sharedBankConflicts) !== undefined && [
            "Bank conflicts",
            count(counters.sharedBankConflicts),
          ],
        ]}
      />
    </Section>
  );
}

function Software({ result }: { result: CaseResultJson }): JSX.Element {
  const environment = result.environment ?? {};
  const software = environment.software ?? {};
  const variables = Object.entries(environment.nccl ?? {});
  const kernels = result.kernels ?? [];
  return (
    <Section title="Software">
      <Facts
        rows={[
          ["Benchmark", `${result.benchmark ?? ""}, version ${result.benchmarkVersion ?? 0}`],
          environment.driverVersion !== undefined && ["Driver", environment.driverVersion],
          software.cudaRuntime !== undefined && ["CUDA runtime", software.cudaRuntime],
          software.cublas !== undefined && ["cuBLAS", software.cublas],
          software.nccl !== undefined && ["NCCL", software.nccl],
          software.blas !== undefined && ["BLAS", software.blas],
          variables.length > 0 && [
            "NCCL variables",
            variables.map(([name, value]) => `${name}=${value}`).join(" "),
          ],
          Boolean(environment.topology) && ["Topology", environment.topology],
          Boolean(environment.cpuModel) && ["CPU", environment.cpuModel],
          [
            "GPU kernels",
            kernels.length > 0 ? (
              <>
                {kernels.slice(0, 20).map((kernel, index) => (
                  <div key={index}>
                    <code>{kernel.slice(0, 300)}</code>
                  </div>
                ))}
              </>
            ) : (
              <NotMeasured why={result.kernelsReason ?? ""} />
            ),
          ],
        ]}
      />
    </Section>
  );
}

function Provenance(props: { stored: StoredResultJson; result: CaseResultJson }): JSX.Element {
  const { stored, result } = props;
  const provenance = result.provenance ?? {};
  const labels = Object.entries(provenance.labels ?? {});
  return (
    <Section title="Provenance">
      <Facts
        rows={[
          ["Result", <code>{stored.resultId}</code>],
          [
            "Campaign",
            <>
              <a href={to("campaign", stored.campaignId)}>{stored.campaignName}</a>, repetition{" "}
              {stored.repetition ?? 0}
            </>,
          ],
          ["Job", <code>{stored.jobId}</code>],
          ["Nodes", <NodeLinks names={provenance.nodeNames} />],
          (provenance.gpuUuids?.length ?? 0) > 0 && [
            "GPUs",
            <>
              {provenance.gpuUuids!.slice(0, 8).map((uuid) => (
                <div key={uuid}>
                  <code>{uuid}</code>
                </div>
              ))}
              {provenance.gpuUuids!.length > 8 && (
                <span class="muted">and {provenance.gpuUuids!.length - 8} more</span>
              )}
            </>,
          ],
          ["Started", <Time at={result.startTime} />],
          ["Ended", <Time at={result.endTime} />],
          Boolean(provenance.provider) && [
            "Provider",
            [provenance.provider, provenance.region].filter(Boolean).join(", "),
          ],
          num(provenance.pricePerHour) !== undefined && [
            "Price",
            `${dollars(provenance.pricePerHour)}/h for the node`,
          ],
          Boolean(provenance.importedFrom) && ["Measured by", provenance.importedFrom],
          Boolean(provenance.agentVersion) && ["Agent", provenance.agentVersion],
          Boolean(provenance.kernel) && ["Kernel", provenance.kernel],
          ["Series", <code>{(stored.seriesId ?? "").slice(0, 16)}</code>],
          ...labels
            .slice(0, 20)
            .map(
              ([name, value]) => [`label ${name.slice(0, 60)}`, <LongText text={value} />] as const,
            ),
        ]}
      />
    </Section>
  );
}
