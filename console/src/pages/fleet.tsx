// The fleet: what is wrong now?

import { Component, Fragment, type JSX } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FleetGpuJson, FleetNodeJson, FleetSummaryJson } from "proto/node_service_pb";
import { call } from "../api";
import { Badge, Command, Empty, ErrorNote, PageHead, Skeleton } from "../components/basic";
import { FilterBox } from "../components/filter";
import type { FilterField } from "../complete";
import {
  applyMessage,
  type Colouring,
  type Fleet,
  colouring,
  conditionLabel,
  cordonLabel,
  fromSnapshot,
  gpuModel,
  gpusText,
  groupNodes,
  GROUPINGS,
  matchesOnly,
  type Mode,
  MODES,
  squareAt,
  squares,
  squareSize,
} from "../fleet";
import { age, change, count, dollars, NOT_MEASURED, plural, quoteShell } from "../format";
import { useLive } from "../hooks";
import { nodeFields } from "../nodefields";
import { param, setParams, to, toParams } from "../router";
import { GetFleet, WatchFleet } from "../rpc";
import { useBenchmarks, useEfficiencies } from "../spec";
import { setSimulated } from "../simulated";
import { sortRows } from "../table";
import { dark } from "../theme";
import { NodeTable } from "./fleet_table";

// Above this number of nodes, tiles have no names, so that the fleet fits on a screen.
const COMPACT_ABOVE = 160;
const POLL_SECONDS = 15;

function useFleet(filter: string) {
  const [fleet, setFleet] = useState<Fleet | undefined>(undefined);
  const shown = useRef(filter);
  const restart = useRef(false);
  const request = useMemo(() => ({ filter }), [filter]);
  const error = useLive(WatchFleet, request, {
    // The first message of a stream has all nodes. The old ones stay in view until it comes.
    onRestart: () => {
      restart.current = true;
    },
    onMessage: (message) => {
      const first = restart.current;
      restart.current = false;
      shown.current = filter;
      setFleet((old) => applyMessage(first ? undefined : old, message));
    },
    poll: async (signal) => {
      const response = await call(GetFleet, request, signal);
      shown.current = filter;
      setFleet(fromSnapshot(response));
    },
    pollSeconds: POLL_SECONDS,
  });
  return { fleet, error, stale: shown.current !== filter };
}

export function FleetPage(): JSX.Element {
  const filter = param("filter");
  const only = param("only");
  const mode = (MODES.find(({ key }) => key === param("color"))?.key ?? "state") as Mode;
  const by = param("by");
  const view = param("view");
  const { fleet, error, stale } = useFleet(filter);

  const simulated = fleet?.summary?.simulated;
  useEffect(() => setSimulated(simulated), [simulated]);

  const all = useMemo(
    () => (fleet ? sortRows([...fleet.nodes.values()], ({ name }) => name, false) : []),
    [fleet?.nodes],
  );
  const nodes = useMemo(
    () => (only ? all.filter((node) => matchesOnly(node, only)) : all),
    [all, only],
  );
  const benchmarks = useBenchmarks(mode === "spec");
  const benchmark = param("benchmark") || benchmarks.names[0] || "";
  const efficiencies = useEfficiencies(mode === "spec" ? benchmark : "", simulated);
  const colours = useMemo(
    () => colouring(mode, nodes, dark.value, efficiencies.byGpu),
    [mode, nodes, dark.value, efficiencies.byGpu],
  );
  // Fields and labels of nodes that connect later can wait for the next visit.
  const fields = useMemo<readonly FilterField[]>(() => nodeFields(all), [all.length]);
  const labels = useMemo(() => labelNames(all), [all.length]);
  const command = ["assay node list", filter && `--filter ${quoteShell(filter)}`]
    .filter(Boolean)
    .join(" ");

  return (
    <>
      <Headline summary={fleet?.summary} only={only} />
      <div class="toolbar">
        <FilterBox
          value={filter}
          onChange={(value) => setParams({ filter: value })}
          fields={fields}
          error={error}
          label="Filter of nodes"
          placeholder="Filter nodes, for example gpu.model = H200 AND label.rack = 7"
        />
        <Choice
          label="Color by"
          value={mode}
          options={MODES}
          onChange={(value) => setParams({ color: value === "state" ? "" : value })}
        />
        {mode === "spec" && (
          <Choice
            label="of"
            value={benchmark}
            options={benchmarks.names.map((name) => ({ key: name, label: name }))}
            onChange={(value) => setParams({ benchmark: value })}
          />
        )}
        <Choice
          label="Group by"
          value={by}
          options={[
            ...GROUPINGS,
            ...labels.map((name) => ({ key: `label.${name}`, label: `label ${name}` })),
          ]}
          onChange={(value) => setParams({ by: value })}
        />
        <button
          type="button"
          aria-pressed={view === "table"}
          onClick={() => setParams({ view: view === "table" ? "" : "table" })}
        >
          Table
        </button>
      </div>
      {error?.code !== "invalid_argument" && <ErrorNote error={error} />}
      <ErrorNote error={efficiencies.error} />
      {!fleet && !error && <Skeleton lines={8} />}
      {fleet && (
        <div class="panel" aria-busy={stale}>
          <Legend colours={colours} only={only} shown={nodes.length} all={all.length} />
          {nodes.length === 0 ? (
            <NoNodes filtered={Boolean(filter || only)} />
          ) : view === "table" ? (
            <NodeTable nodes={nodes} colours={colours} mode={mode} />
          ) : (
            <Grid nodes={nodes} by={by} colours={colours} mode={mode} />
          )}
          <Command text={command} />
        </div>
      )}
    </>
  );
}

const MAX_LABELS = 12;
const MAX_LABEL_NAME = 40;

// Names of labels by which nodes can be grouped.
function labelNames(nodes: readonly FleetNodeJson[]): string[] {
  const names = new Set<string>();
  for (const node of nodes) {
    for (const name of Object.keys(node.labels ?? {})) {
      if (name.length <= MAX_LABEL_NAME) names.add(name);
    }
  }
  return [...names].sort().slice(0, MAX_LABELS);
}

function Choice(props: {
  label: string;
  value: string;
  options: readonly { key: string; label: string }[];
  onChange: (value: string) => void;
}): JSX.Element {
  const known = props.options.some(({ key }) => key === props.value);
  return (
    <label class="field">
      {props.label}
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {!known && (
          <option value={props.value}>{props.value.slice(0, MAX_LABEL_NAME) || "…"}</option>
        )}
        {props.options.map(({ key, label }) => (
          <option key={key} value={key}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

function Headline(props: { summary: FleetSummaryJson | undefined; only: string }): JSX.Element {
  const { summary, only } = props;
  if (!summary) return <PageHead title="Fleet" />;
  // An item either shows only its nodes, or leads to another page.
  const items: {
    number: number | undefined;
    text: string;
    only?: string;
    page?: string;
    calm?: boolean;
  }[] = [
    { number: summary.lostNodeCount, text: "lost", only: "lost" },
    { number: summary.failingNodeCount, text: "failing preflight", only: "failing" },
    { number: summary.quarantinedNodeCount, text: "quarantined", only: "quarantined" },
    {
      number: summary.confirmedIncidentCount,
      text: summary.confirmedIncidentCount === 1 ? "confirmed regression" : "confirmed regressions",
      page: "findings",
    },
    {
      number: summary.outlierCount,
      text: summary.outlierCount === 1 ? "outlier" : "outliers",
      only: "outlier",
    },
    {
      number: summary.stalledCampaignCount,
      text: summary.stalledCampaignCount === 1 ? "stalled campaign" : "stalled campaigns",
      page: "campaigns",
    },
    { number: summary.cordonedNodeCount, text: "cordoned", only: "cordoned", calm: true },
    {
      number: summary.detectedIncidentCount,
      text: "being checked by reruns",
      page: "findings",
      calm: true,
    },
    {
      number: summary.activeCampaignCount,
      text: summary.activeCampaignCount === 1 ? "active campaign" : "active campaigns",
      page: "campaigns",
      calm: true,
    },
  ];
  const present = items.filter(({ number }) => (number ?? 0) > 0);
  const fine = present.every(({ calm }) => calm);
  const size =
    (summary.gpuCount ?? 0) > 0
      ? `${plural(summary.nodeCount, "node")}, ${plural(summary.gpuCount, "GPU")}`
      : plural(summary.nodeCount, "node");
  return (
    <div class="headline">
      <h1 class="total">
        {size}
        {(summary.nodeCount ?? 0) > 0 && fine && ", nothing to look at"}
      </h1>
      {present.map(({ number, text, only: key, page, calm }) => {
        const kind = calm ? undefined : "needs";
        const content = (
          <>
            <strong>{count(number)}</strong> {text}
          </>
        );
        return page === undefined ? (
          <a
            key={text}
            href={toParams({ only: only === key ? "" : key })}
            class={kind}
            aria-current={only === key ? "true" : undefined}
          >
            {content}
          </a>
        ) : (
          <a key={text} href={to(page)} class={kind}>
            {content}
          </a>
        );
      })}
      {summary.simulated && <Badge title="No hardware is measured">simulated</Badge>}
    </div>
  );
}

function Legend(props: {
  colours: Colouring;
  only: string;
  shown: number;
  all: number;
}): JSX.Element {
  const { scale, legend } = props.colours;
  return (
    <div class="legend fleet-legend">
      {scale && (
        <span>
          {scale.low}{" "}
          <span
            class="ramp"
            style={{ backgroundImage: `linear-gradient(to right, ${scale.colours.join(", ")})` }}
          />{" "}
          {scale.high}
        </span>
      )}
      {legend.map((entry) => {
        const content = (
          <>
            <span class="swatch" style={{ background: entry.colour }} />
            {entry.label} <span class="muted">{count(entry.count)}</span>
          </>
        );
        return entry.only ? (
          <button
            key={entry.label}
            type="button"
            aria-pressed={props.only === entry.only}
            onClick={() => setParams({ only: props.only === entry.only ? "" : entry.only! })}
          >
            {content}
          </button>
        ) : (
          <span key={entry.label}>{content}</span>
        );
      })}
      {props.shown < props.all && (
        <button type="button" class="link" onClick={() => setParams({ only: "" })}>
          {count(props.shown)} of {plural(props.all, "node")}: show all
        </button>
      )}
    </div>
  );
}

function NoNodes({ filtered }: { filtered: boolean }): JSX.Element {
  if (filtered) {
    return (
      <Empty title="No node matches.">
        <button type="button" onClick={() => setParams({ filter: "", only: "" })}>
          Show all nodes
        </button>
      </Empty>
    );
  }
  return (
    <Empty title="No node has connected yet.">
      <p>Start an agent on each node:</p>
      <Command text="assay-agent run --coordinator HOST:PORT" />
    </Empty>
  );
}

interface Tip {
  node: FleetNodeJson;
  gpu: FleetGpuJson | undefined;
  left: number;
  top: number;
}

function Grid(props: {
  nodes: readonly FleetNodeJson[];
  by: string;
  colours: Colouring;
  mode: Mode;
}): JSX.Element {
  const { nodes, colours } = props;
  const groups = useMemo(() => groupNodes(nodes, props.by), [nodes, props.by]);
  const compact = nodes.length > COMPACT_ABOVE;
  const most = useMemo(
    () => nodes.reduce((max, node) => Math.max(max, node.gpus?.length ?? 0), 1),
    [nodes],
  );
  // The width of a full page, until it is measured: so the first drawing is mostly the last.
  const [room, setRoom] = useState(() => innerWidth - (innerWidth > 640 ? 74 : 50));
  const size = compact ? squareSize(nodes.length, most, room, innerHeight - 260) : 13;
  const width = Math.max(compact ? 0 : 96, most * (size + 1));
  const byId = useMemo(() => new Map(nodes.map((node) => [node.nodeId ?? "", node])), [nodes]);
  const [tip, setTip] = useState<Tip | undefined>(undefined);
  const holder = useRef<HTMLDivElement>(null);
  // One tile at a time can be reached by Tab; arrows move between tiles.
  const [tabStop, setTabStop] = useState("");
  const stop = byId.has(tabStop) ? tabStop : (groups[0]?.nodes[0]?.nodeId ?? "");

  const tileOf = (target: EventTarget | null): HTMLElement | undefined =>
    (target as HTMLElement | null)?.closest<HTMLElement>(".tile") ?? undefined;
  const show = (tile: HTMLElement, x: number | undefined): void => {
    const node = byId.get(tile.dataset.id ?? "");
    if (!node) return;
    const bar = tile.querySelector<HTMLElement>(".gpus")!.getBoundingClientRect();
    const gpus = node.gpus ?? [];
    const index = x === undefined ? -1 : squareAt(x - bar.left, gpus.length, size);
    setTip((old) =>
      old && old.node === node && old.gpu === gpus[index]
        ? old
        : {
            node,
            gpu: gpus[index],
            left: bar.left + Math.max(index, 0) * (size + 1),
            top: bar.bottom + 6,
          },
    );
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const moves: Record<string, number> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      Home: -Infinity,
      End: Infinity,
    };
    const tiles = [...(holder.current?.querySelectorAll<HTMLElement>(".tile") ?? [])];
    const current = tiles.indexOf(document.activeElement as HTMLElement);
    if (current < 0) return;
    let next: HTMLElement | undefined;
    if (event.key in moves) {
      next = tiles[Math.min(tiles.length - 1, Math.max(0, current + moves[event.key]!))];
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      next = nextRow(tiles, current, event.key === "ArrowDown");
    } else if (event.key === "Escape") {
      setTip(undefined);
    }
    if (!next) return;
    event.preventDefault();
    setTabStop(next.dataset.id ?? "");
    next.focus();
  };
  useEffect(() => {
    const element = holder.current!;
    const observer = new ResizeObserver(() => setRoom(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const hide = (): void => setTip(undefined);
    addEventListener("scroll", hide, { passive: true });
    return () => removeEventListener("scroll", hide);
  }, []);

  return (
    <div
      ref={holder}
      onMouseMove={(event) => {
        const tile = tileOf(event.target);
        if (tile) show(tile, event.clientX);
        else setTip(undefined);
      }}
      onMouseLeave={() => setTip(undefined)}
      onFocusCapture={(event) => {
        const tile = tileOf(event.target);
        if (tile) show(tile, undefined);
      }}
      onBlurCapture={() => setTip(undefined)}
      onKeyDown={onKeyDown}
    >
      {groups.map((group) => (
        <section class="fleet-group" key={group.name} aria-label={group.name || "Nodes"}>
          {props.by && (
            <h3>
              {group.name.slice(0, 200) || "none"}{" "}
              <span class="muted">
                {plural(group.nodes.length, "node")}, {plural(group.gpuCount, "GPU")}
              </span>
            </h3>
          )}
          <div class={compact ? "tiles compact" : "tiles"}>
            {group.nodes.map((node) => (
              <Tile
                key={node.nodeId ?? ""}
                node={node}
                colours={colours}
                size={size}
                width={width}
                named={!compact}
                tabStop={stop === node.nodeId}
              />
            ))}
          </div>
        </section>
      ))}
      {tip && <TipView tip={tip} colours={colours} mode={props.mode} />}
    </div>
  );
}

// The nearest tile in the row below or above.
function nextRow(tiles: HTMLElement[], current: number, down: boolean): HTMLElement | undefined {
  const from = tiles[current]!.getBoundingClientRect();
  const rest = down ? tiles.slice(current + 1) : tiles.slice(0, current).reverse();
  let best: HTMLElement | undefined;
  let bestDistance = Infinity;
  let row: number | undefined;
  for (const tile of rest) {
    const box = tile.getBoundingClientRect();
    if (box.top === from.top) continue;
    row ??= box.top;
    if (box.top !== row) break;
    const distance = Math.abs(box.left - from.left);
    if (distance < bestDistance) [best, bestDistance] = [tile, distance];
  }
  return best;
}

interface TileProps {
  node: FleetNodeJson;
  colours: Colouring;
  size: number;
  width: number;
  named: boolean;
  tabStop: boolean;
}

function coloursOf(node: FleetNodeJson, colours: Colouring): string[] {
  const gpus = node.gpus ?? [];
  return gpus.length > 0
    ? gpus.map((gpu) => colours.colour(node, gpu))
    : [colours.colour(node, undefined)];
}

class Tile extends Component<TileProps> {
  // A message of the stream makes a new colouring for all nodes, but changes few of them.
  override shouldComponentUpdate(next: TileProps): boolean {
    const old = this.props;
    return !(
      old.size === next.size &&
      old.width === next.width &&
      old.named === next.named &&
      old.tabStop === next.tabStop &&
      old.node.name === next.node.name &&
      conditionLabel(old.node) === conditionLabel(next.node) &&
      coloursOf(old.node, old.colours).join() === coloursOf(next.node, next.colours).join()
    );
  }

  override render({ node, colours, size, width, named, tabStop }: TileProps): JSX.Element {
    const name = node.name ?? "";
    const found = coloursOf(node, colours);
    return (
      <a
        class="tile"
        href={to("node", name)}
        data-id={node.nodeId}
        tabIndex={tabStop ? 0 : -1}
        aria-label={`${name.slice(0, 100)}, ${conditionLabel(node)}, ${plural(node.gpus?.length ?? 0, "GPU")}`}
        style={{ width: `${width}px` }}
      >
        {named && <span class="name">{name.slice(0, 100)}</span>}
        <span
          class="gpus"
          style={{
            backgroundImage: squares(found, size),
            width: `${found.length * (size + 1)}px`,
            height: `${size + (named ? 1 : 0)}px`,
          }}
        />
      </a>
    );
  }
}

function TipView({
  tip,
  colours,
  mode,
}: {
  tip: Tip;
  colours: Colouring;
  mode: Mode;
}): JSX.Element {
  const { node, gpu } = tip;
  const lost = node.state !== "NODE_STATE_CONNECTED";
  const element = useRef<HTMLDivElement>(null);
  const place = useCallback(() => {
    const box = element.current;
    if (!box) return;
    const left = Math.min(tip.left, innerWidth - box.offsetWidth - 8);
    const below = tip.top + box.offsetHeight < innerHeight;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${below ? tip.top : tip.top - box.offsetHeight - 30}px`;
  }, [tip]);
  useEffect(place, [place]);
  const rows: [string, string][] = [];
  const add = (name: string, value: string | undefined): void => {
    if (value) rows.push([name, value]);
  };
  add(
    "State",
    conditionLabel(node) + (node.runningJobCount ? `, ${plural(node.runningJobCount, "job")}` : ""),
  );
  if (mode !== "state") {
    const label = MODES.find(({ key }) => key === mode)!.label;
    if (gpu) add(label, colours.text(node, gpu));
  }
  add("Quarantine", node.quarantine?.slice(0, 160));
  if (node.cordon) {
    const label = cordonLabel(node.cordon, node.runningJobCount ?? 0);
    add("Cordon", [label, node.cordon.reason?.slice(0, 160)].filter(Boolean).join(": "));
  }
  if (lost) add("Last heard", age(node.lastHeartbeatTime));
  if (node.healthErrorCount) add("Preflight", plural(node.healthErrorCount, "error"));
  if (gpu) {
    add("GPU", gpuModel(gpu) || "unknown model");
    add("Temperature", unit(gpu.temperatureCelsius, "C"));
    add(
      "Power",
      gpu.powerWatts === undefined
        ? NOT_MEASURED
        : `${gpu.powerWatts} W${gpu.powerLimitWatts ? ` of ${gpu.powerLimitWatts} W` : ""}`,
    );
    add(
      "SM clock",
      gpu.smClockMhz === undefined
        ? NOT_MEASURED
        : `${gpu.smClockMhz} MHz${gpu.smClockMaxMhz ? ` of ${gpu.smClockMaxMhz} MHz` : ""}`,
    );
    add("Utilization", unit(gpu.utilizationPercent, "%", ""));
    add("Throttled", gpu.throttleReasons?.map((reason) => reason.replaceAll("_", " ")).join(", "));
    if (gpu.lastXid !== undefined) add("Newest Xid", String(gpu.lastXid));
    if (Number(gpu.eccUncorrected ?? 0) > 0) add("ECC errors", `${gpu.eccUncorrected} uncorrected`);
    if (typeof gpu.outlierRatio === "number") add("Against peers", change(gpu.outlierRatio));
    if (gpu.regressionCount) add("Regressions", `${gpu.regressionCount} open`);
  } else {
    add("GPUs", gpusText(node));
  }
  add("Driver", node.driverVersion);
  add("Provider", [node.provider, node.region].filter(Boolean).join(", "));
  if (typeof node.pricePerHour === "number") add("Price", `${dollars(node.pricePerHour)}/h`);
  return (
    <div class="tip" ref={element} role="tooltip">
      <strong>
        {node.name?.slice(0, 100)}
        {gpu && `, GPU ${gpu.index ?? 0}`}
      </strong>
      <dl>
        {rows.map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
      </dl>
    </div>
  );
}

function unit(value: number | undefined, name: string, gap = " "): string {
  return value === undefined ? NOT_MEASURED : `${value}${gap}${name}`;
}
