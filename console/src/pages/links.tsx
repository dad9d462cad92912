// Which link is bad? Measurements between every two nodes, or every two GPUs of a node.

import type { GetPairsResponseJson, PairMatrixJson } from "proto/analysis_service_pb";
import type { JSX } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import { Badge, Command, Empty, ErrorNote, PageHead, Section, Skeleton, type Tone } from "../components/basic";
import { type Column, Table } from "../components/table";
import { Chart } from "../figures/chart";
import { Choice, commandLine } from "../figures/controls";
import { type HeatCell, type HeatModel, drawHeat, heatModel, heatSummary } from "../figures/heatmap";
import { change, plural, quantity, words } from "../format";
import { useCall } from "../hooks";
import { param, setParams, to } from "../router";
import { GetPairs, ListCampaigns } from "../rpc";

const VERDICTS: Record<string, { tone: Tone; text: string }> = {
  clear: { tone: "good", text: "every pair was measured and none is bad" },
  bad: { tone: "bad", text: "a node or link is bad" },
  undecided: { tone: "warn", text: "nothing is certainly bad, but pairs are missing or their values too uncertain to be clear" },
};

// Campaigns that look like measurements of pairs come first. The list has no specs.
export function byPairs(names: string[]): string[] {
  const looks = (name: string) => /pair|peer|link/i.test(name);
  return [...names.filter(looks), ...names.filter((name) => !looks(name))];
}

export function LinksPage(): JSX.Element {
  const campaigns = useCall(ListCampaigns, { pageSize: 200 });
  const names = useMemo(
    () => byPairs([...new Set((campaigns.data?.campaigns ?? []).map((one) => one.name ?? ""))]),
    [campaigns.data],
  );
  const guess = names[0] && /pair|peer|link/i.test(names[0]) ? names[0] : "";
  const campaign = param("campaign") || guess;
  const metric = param("metric");
  const threshold = Number(param("threshold")) || 0;
  const request = campaign ? { campaign, metric, threshold: threshold / 100 } : undefined;
  const { data, error, loading } = useCall(GetPairs, request, 30);
  const command = commandLine(["pairs", campaign], {
    metric,
    threshold: threshold ? String(threshold) : "",
  });

  return (
    <>
      <PageHead title="Links" kind="Which link is bad?" />
      <div class="toolbar">
        <Choice
          label="Campaign"
          value={campaign}
          options={names}
          onChange={(value) => setParams({ campaign: value, metric: "" })}
        />
        <Choice
          label="Bad from"
          value={String(threshold || 10)}
          options={["5", "10", "20", "30", "50"].map((value) => ({ value, text: `${value}% worse` }))}
          onChange={(value) => setParams({ threshold: value === "10" ? "" : value })}
        />
      </div>
      <ErrorNote error={error ?? campaigns.error} />
      {(!campaigns.data || (request && !data)) && loading && <Skeleton lines={8} />}
      {campaigns.data && (!campaign || (error && !data)) && (
        <Empty title={campaign ? `${campaign} has no measurements of pairs.` : "No campaign measured pairs."}>
          <p>Measure every two nodes, or every two GPUs of a node:</p>
          <Command text={commandLine(["campaign", "submit", "examples/network-pairs.yaml", "--watch"])} />
          <Command text={commandLine(["campaign", "submit", "examples/peer-matrix.yaml", "--watch"])} />
        </Empty>
      )}
      {data && <Pairs data={data} campaign={campaign} command={command} />}
    </>
  );
}

function Pairs(props: { data: GetPairsResponseJson; campaign: string; command: string }): JSX.Element {
  const { data } = props;
  const verdict = words(data.verdict, "PAIRS_VERDICT");
  const shown = VERDICTS[verdict];
  const findings = data.findings ?? [];
  const waiting = data.waitingJobCount ?? 0;
  return (
    <>
      <Section
        title="Findings"
        aside={
          <a href={to("campaign", data.campaignId || props.campaign)}>campaign {props.campaign}</a>
        }
      >
        <p>
          {shown && <Badge tone={shown.tone}>{verdict}</Badge>} {shown?.text}
          {waiting > 0 && `; ${plural(waiting, "job")} still to be done`}
          {data.absentNodes?.length ? `; absent: ${data.absentNodes.join(", ")}` : ""}
        </p>
        {findings.length > 0 && (
          <Table
            label="Bad nodes and links"
            sortParameter="findings"
            rows={findings}
            rowKey={(finding) => JSON.stringify([finding.ends, finding.text])}
            columns={[
              {
                key: "what",
                title: "What",
                value: (finding) => (finding.ends ?? []).map((end) => data.ends?.[end] ?? "").join(" – "),
              },
              {
                key: "certain",
                title: "Certain",
                value: (finding) => (finding.certain ? "yes" : "no"),
                cell: (finding) =>
                  finding.certain ? <Badge tone="bad">certain</Badge> : <Badge tone="warn">may be noise</Badge>,
              },
              { key: "text", title: "Finding", wide: true, value: (finding) => finding.text },
              { key: "advice", title: "What to check", wide: true, value: (finding) => finding.advice },
            ]}
          />
        )}
        <Command text={props.command} />
      </Section>
      {(data.matrices ?? []).map((matrix) => (
        <Matrix
          key={`${matrix.benchmark} ${matrix.parameters} ${matrix.metric} ${matrix.betweenGpus}`}
          pairs={data}
          matrix={matrix}
          command={props.command}
        />
      ))}
    </>
  );
}

function cellColumns(model: HeatModel): Column<HeatCell>[] {
  const ratio = (cell: HeatCell) => {
    if (cell.value === undefined || !cell.expected) return undefined;
    return model.lowerIsBetter ? cell.expected / cell.value : cell.value / cell.expected;
  };
  return [
    { key: "from", title: model.directed ? "Sender" : "End", value: (cell) => model.ends[cell.row] },
    { key: "to", title: model.directed ? "Receiver" : "Other end", value: (cell) => model.ends[cell.column] },
    {
      key: "value",
      title: "Measured",
      numeric: true,
      value: (cell) => cell.value,
      cell: (cell) => quantity(cell.value, model.unit),
    },
    {
      key: "expected",
      title: "Expected",
      help: "what the other pairs of both ends predict",
      numeric: true,
      value: (cell) => cell.expected,
      cell: (cell) => (cell.expected === undefined ? "" : quantity(cell.expected, model.unit)),
    },
    {
      key: "ratio",
      title: "Against expected",
      help: "below 0%, the pair is slower",
      numeric: true,
      value: ratio,
      cell: (cell) => (ratio(cell) === undefined ? "" : change(ratio(cell))),
    },
    {
      key: "state",
      title: "Verdict",
      value: (cell) => cell.state,
      cell: (cell) =>
        cell.state.startsWith("bad") || cell.state === "failed" ? (
          <Badge tone="bad">{cell.state}</Badge>
        ) : (
          cell.state
        ),
    },
    { key: "link", title: "Link", value: (cell) => cell.link },
  ];
}

const ORDER = ["bad link", "failed", "bad end", "uncertain", "missing", "unjudged", "ok"];

function Matrix(props: {
  pairs: GetPairsResponseJson;
  matrix: PairMatrixJson;
  command: string;
}): JSX.Element {
  const model = useMemo(() => heatModel(props.pairs, props.matrix), [props.pairs, props.matrix]);
  const draw = useCallback((width: number) => drawHeat(model, width), [model]);
  const rows = useMemo(() => {
    const cells = model.directed ? model.cells : model.cells.filter((cell) => cell.row <= cell.column);
    return [...cells].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  }, [model]);
  const columns = useMemo(() => cellColumns(model), [model]);
  return (
    <Section title={model.title}>
      <Chart
        title={`${model.metric.replaceAll("_", " ")} between ${model.betweenGpus ? "GPUs" : "nodes"}`}
        summary={heatSummary(model)}
        draw={draw}
        command={props.command}
      />
      <details>
        <summary>{plural(rows.length, "pair")} as a table</summary>
        <Table
          label={`Pairs of ${model.title}`}
          sortParameter={`sort-${model.title}-${model.metric}`}
          rows={rows}
          rowKey={(cell) => `${cell.row} ${cell.column}`}
          columns={columns}
        />
      </details>
    </Section>
  );
}
