// A node: is it what I pay for?

import type { JSX } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import type { GpuInventoryJson, GpuLinkJson } from "proto/inventory_pb";
import type { NodeJson } from "proto/node_service_pb";
import {
  Age,
  Badge,
  Command,
  ErrorNote,
  Facts,
  LongText,
  NotMeasured,
  PageHead,
  Section,
  Skeleton,
  Time,
} from "../components/basic";
import { Figure } from "../components/figure";
import { CordonBadge, CordonText } from "../components/states";
import { type Column, Table } from "../components/table";
import { caseNames } from "../figures/names";
import { drawShares, MOST_PERCENT } from "../plots";
import {
  bytes,
  count,
  dollars,
  num,
  percent,
  plural,
  quantity,
  quoteFilter,
  quoteShell,
} from "../format";
import { useCall } from "../hooks";
import { route, to } from "../router";
import { GetCosts, GetNode, ListOutliers, ListRegressions } from "../rpc";
import { type Share, usePeerShares } from "../spec";
import { Incidents, Outliers } from "./findings";
import { GpuErrors, Gpus } from "./node_gpus";

const POLL_SECONDS = 10;

export function NodePage(): JSX.Element {
  const name = route.value.argument;
  const { data, error } = useCall(GetNode, { node: name }, POLL_SECONDS);
  const node = data?.node;
  const title = node?.description?.name ?? name;
  return (
    <>
      <PageHead title={title} kind="Node">
        {node && <StateBadges node={node} />}
        {node && (
          <span class="page-links">
            <a href={to("results", "", { filter: nodeFilter(node) })}>Results</a>
            <a href={to("series", "", { filter: nodeFilter(node) })}>Series</a>
            <a href={to("roofline", "", { filter: nodeFilter(node) })}>Roofline</a>
          </span>
        )}
      </PageHead>
      <ErrorNote error={error} />
      {!node && !error && <Skeleton lines={8} />}
      {node && <NodeView node={node} />}
    </>
  );
}

// Results of this node. A node is either simulated or real.
function nodeFilter(node: NodeJson): string {
  const { name = "", inventory } = node.description ?? {};
  return `node = ${quoteFilter(name)}${inventory?.simulated ? " AND simulated = true" : ""}`;
}

function StateBadges({ node }: { node: NodeJson }): JSX.Element {
  return (
    <span class="badges">
      {node.state === "NODE_STATE_CONNECTED" ? (
        <Badge tone="accent">connected</Badge>
      ) : (
        <Badge tone="bad">lost</Badge>
      )}
      {node.quarantine && <Badge tone="bad">quarantined</Badge>}
      {node.cordon && (
        <CordonBadge cordon={node.cordon} runningJobs={node.jobIds?.length ?? 0} />
      )}
      {node.description?.inventory?.simulated && (
        <Badge title="No hardware is measured">simulated</Badge>
      )}
    </span>
  );
}

function NodeView({ node }: { node: NodeJson }): JSX.Element {
  const description = node.description ?? {};
  const inventory = description.inventory ?? {};
  const gpus = inventory.gpus ?? [];
  const name = description.name ?? "";
  const simulated = inventory.simulated === true;
  const regressions = useCall(ListRegressions, { nodeName: name, simulated, pageSize: 100 }, 60);
  const outliers = useCall(ListOutliers, { nodeName: name, simulated }, 60);
  const found = regressions.data?.regressions ?? [];
  const differing = outliers.data?.outliers ?? [];
  return (
    <>
      {node.quarantine && (
        <p class="error">
          <strong>Gets no jobs</strong> since <Time at={node.quarantineTime} />: {node.quarantine}.
          The quarantine ends when a check of the node passes.
        </p>
      )}
      <CordonNote node={node} />
      <Summary node={node} />
      {differing.length > 0 && (
        <Section title="Outliers, against GPUs of the same hardware and driver">
          <Outliers outliers={differing} />
        </Section>
      )}
      {found.length > 0 && (
        <Section title="Open regressions" aside={<a href={to("findings")}>All findings</a>}>
          <Incidents
            incidents={(regressions.data?.incidents ?? []).filter(({ incidentId }) =>
              found.some((one) => one.incidentId === incidentId),
            )}
            regressions={found}
            simulated={simulated}
            judged={regressions.data?.judgedUntil}
            nodeName={name}
          />
        </Section>
      )}
      <ErrorNote error={regressions.error} />
      <ErrorNote error={outliers.error} />
      <Health node={node} calm={found.length === 0 && differing.length === 0} />
      {gpus.length > 0 && (
        <Section
          title="GPUs"
          aside={
            node.telemetry?.length
              ? "live, every 10 s"
              : "no telemetry: this coordinator has no session"
          }
        >
          <Gpus gpus={gpus} telemetry={node.telemetry ?? []} />
          <Command text={`assay node show ${quoteShell(name)}`} />
        </Section>
      )}
      {gpus.length > 0 && (node.telemetry?.length ?? 0) > 0 && (
        <Section title="Errors of GPUs">
          <GpuErrors gpus={gpus} telemetry={node.telemetry!} />
        </Section>
      )}
      {gpus.length > 0 && <Shares node={node} />}
      {gpus.length > 1 && <Topology gpus={gpus} links={inventory.gpuLinks ?? []} />}
      <Costs node={node} />
      <Inventory node={node} />
    </>
  );
}

// Says why the node gets no new jobs, and how that ends.
function CordonNote({ node }: { node: NodeJson }): JSX.Element | null {
  const { cordon } = node;
  if (!cordon) return null;
  const jobs = node.jobIds?.length ?? 0;
  return (
    <section class="panel">
      <p>
        <strong>Gets no new jobs</strong> <CordonText cordon={cordon} />
      </p>
      {cordon.drainDeadline && jobs > 0 && (
        <p>
          {plural(jobs, "job")} still {jobs === 1 ? "runs" : "run"}. At{" "}
          <Time at={cordon.drainDeadline} />, the coordinator stops what is left and queues it
          again.
        </p>
      )}
      <Command text={`assay node uncordon ${quoteShell(node.description?.name ?? "")}`} />
    </section>
  );
}

function Summary({ node }: { node: NodeJson }): JSX.Element {
  const { description = {} } = node;
  const gpus = description.inventory?.gpus ?? [];
  const price = num(description.pricePerHour);
  const jobs = node.jobIds ?? [];
  const models = new Map<string, number>();
  for (const gpu of gpus) {
    const model = [gpu.model, gpu.formFactor, gpu.migProfile].filter(Boolean).join(" ");
    models.set(model, (models.get(model) ?? 0) + 1);
  }
  return (
    <section class="panel stats">
      <div>
        <span>GPUs</span>
        <strong>
          {gpus.length === 0
            ? "none"
            : [...models].map(([model, number]) => `${number} x ${model}`).join(", ")}
        </strong>
      </div>
      <div>
        <span>Last heard</span>
        <strong>
          <Age at={node.lastHeartbeatTime} />
        </strong>
      </div>
      <div>
        <span>Running jobs</span>
        <strong>{jobs.length === 0 ? "none" : count(jobs.length)}</strong>
        {jobs.length > 0 && (
          <small class="muted" title={jobs.join("\n")}>
            <code>{jobs[0]}</code>
            {jobs.length > 1 && ` and ${jobs.length - 1} more`}
          </small>
        )}
      </div>
      <div>
        <span>Price</span>
        <strong>{price === undefined ? "unknown" : `${dollars(price)}/h`}</strong>
        {price !== undefined && gpus.length > 1 && (
          <small class="muted">{dollars(price / gpus.length)}/h per GPU</small>
        )}
        {num(node.settings?.pricePerHour) !== undefined && (
          <small class="muted" title="with assay node price, in place of what the agent says">
            set by an operator
          </small>
        )}
      </div>
      <div>
        <span>Provider</span>
        <strong>{description.provider || "unknown"}</strong>
        {description.region && <small class="muted">{description.region}</small>}
      </div>
      <div>
        <span>Driver</span>
        <strong>{description.inventory?.driverVersion ?? "none"}</strong>
      </div>
    </section>
  );
}

function Health({ node, calm }: { node: NodeJson; calm: boolean }): JSX.Element {
  const health = node.description?.health ?? [];
  const errors = health.filter((finding) => finding.severity === "SEVERITY_ERROR").length;
  return (
    <Section
      title="Preflight checks"
      aside={
        health.length > 0 &&
        `${plural(errors, "error")}, ${plural(health.length - errors, "warning")}`
      }
    >
      {health.length === 0 ? (
        <p class="muted">
          Nothing was found{calm && "; the node has no open regression and is no outlier"}.
        </p>
      ) : (
        <ul class="list">
          {health.map((finding, index) => (
            <li key={index} class="rule">
              <Badge tone={finding.severity === "SEVERITY_ERROR" ? "bad" : "warn"}>
                {finding.severity === "SEVERITY_ERROR" ? "error" : "warning"}
              </Badge>
              <div>
                <code>{finding.check}</code>
                <div>{finding.message}</div>
              </div>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Shares({ node }: { node: NodeJson }): JSX.Element | null {
  const { shares, error, partial } = usePeerShares(node);
  const draw = useCallback((width: number) => drawShares(shares ?? [], width), [shares]);
  return (
    <Section title="Share of the spec sheet, against peers">
      <ErrorNote error={error} />
      {!shares && !error && <Skeleton lines={3} />}
      {shares && shares.length === 0 && (
        <p class="muted">No result of this node has a prediction by a spec sheet yet.</p>
      )}
      {shares && shares.length > 0 && (
        <Figure
          title="Best case of each GPU, by benchmark"
          summary={shares.map(shareText).join(". ")}
          table={() => ({
            columns: [
              "benchmark",
              "GPUs",
              "median",
              "lowest",
              "peers",
              "peers' median",
              "peers 5% to 95%",
            ],
            rows: shares.map((share) => [
              share.benchmark,
              share.own.length,
              percent(share.median),
              percent(share.own[0]),
              share.peers,
              percent(share.peerMedian),
              `${percent(share.peerLow)} to ${percent(share.peerHigh)}`,
            ]),
          })}
          command={`assay results --filter ${quoteShell(nodeFilter(node))} --by gpu.uuid`}
          draw={draw}
        >
          <div class="legend">
            <span>
              <span class="swatch share-own" />a GPU of this node
            </span>
            <span>
              <span class="swatch share-peers" />
              5% to 95% of GPUs of the same model on other nodes
            </span>
            <span>
              <span class="swatch share-median" />
              their median
            </span>
            {shares.some(
              ({ own, peerHigh }) => 100 * Math.max(...own, peerHigh || 0) > MOST_PERCENT,
            ) && <span>implausible values above {MOST_PERCENT}% are at the edge</span>}
            {partial && <span>peers from the newest results only</span>}
          </div>
        </Figure>
      )}
    </Section>
  );
}

function shareText(share: Share): string {
  const own = `${share.benchmark}: median ${percent(share.median)} over ${plural(share.own.length, "GPU")}`;
  return share.peers > 0
    ? `${own}, peers ${percent(share.peerMedian)} over ${plural(share.peers, "GPU")}`
    : `${own}, no peers`;
}

// Kinds of links from close to far, in words.
const LINK_KINDS: Record<string, string> = {
  PIX: "one PCIe switch",
  PXB: "several PCIe switches",
  PHB: "a PCIe host bridge",
  NODE: "host bridges of one NUMA node",
  SYS: "the link between CPU sockets",
};

function linkText(link: GpuLinkJson): string {
  const kind = link.kind ?? "";
  const words = /^NV\d+$/.test(kind) ? `${kind.slice(2)} NVLinks` : (LINK_KINDS[kind] ?? kind);
  return link.noPeerAccess ? `${words}; no peer access: ${link.noPeerAccess}` : words;
}

function Topology(props: {
  gpus: readonly GpuInventoryJson[];
  links: readonly GpuLinkJson[];
}): JSX.Element | null {
  const byPair = new Map<string, GpuLinkJson>();
  for (const link of props.links) {
    byPair.set(`${link.gpuA ?? 0} ${link.gpuB ?? 0}`, link);
    byPair.set(`${link.gpuB ?? 0} ${link.gpuA ?? 0}`, link);
  }
  if (props.links.length === 0) return null;
  const kinds = [...new Set(props.links.map((link) => link.kind ?? ""))].sort();
  return (
    <Section title="Links between GPUs">
      <div class="table-holder" tabIndex={0} role="region" aria-label="Links between GPUs">
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col">GPU</th>
              {props.gpus.map((gpu) => (
                <th key={gpu.index} scope="col">
                  {gpu.index ?? 0}
                </th>
              ))}
              <th scope="col">NUMA</th>
            </tr>
          </thead>
          <tbody>
            {props.gpus.map((from) => (
              <tr key={from.index}>
                <th scope="row">{from.index ?? 0}</th>
                {props.gpus.map((other) => {
                  const link = byPair.get(`${from.index ?? 0} ${other.index ?? 0}`);
                  if (!link) return <td key={other.index} class="link-none" />;
                  return (
                    <td key={other.index} class={linkClass(link)} title={linkText(link)}>
                      {link.kind}
                      {link.noPeerAccess && "!"}
                    </td>
                  );
                })}
                <td>{from.numaNode ?? "?"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="muted">{kinds.map((kind) => `${kind}: ${linkText({ kind })}`).join("; ")}.</p>
    </Section>
  );
}

function linkClass(link: GpuLinkJson): string {
  if (/^NV\d+$/.test(link.kind ?? "")) return "link-nv";
  return link.kind === "SYS" || link.noPeerAccess ? "link-far" : "link-pcie";
}

function Costs({ node }: { node: NodeJson }): JSX.Element | null {
  const priced = num(node.description?.pricePerHour) !== undefined;
  const { data } = useCall(GetCosts, priced ? { filter: nodeFilter(node) } : undefined);
  const rows = useMemo(
    () => (data?.rows ?? []).filter((row) => num(row.dollarsPerRateHour) !== undefined),
    [data],
  );
  const columns = useMemo<Column<(typeof rows)[number]>[]>(() => {
    const name = caseNames(rows.map((row) => row.case ?? {}));
    return [
      { key: "case", title: "Case", wide: true, value: (row) => name(row.case ?? {}) },
      {
        key: "median",
        title: "Median",
        numeric: true,
        value: (row) => num(row.median),
        cell: (row) => quantity(row.median, row.case?.unit ?? ""),
      },
      {
        key: "cost",
        title: "Cost of an hour at",
        numeric: true,
        value: (row) => num(row.dollarsPerRateHour),
        cell: (row) => `1 ${row.rateUnit}: ${dollars(row.dollarsPerRateHour)}`,
      },
      {
        key: "places",
        title: "GPUs, runs",
        numeric: true,
        value: (row) => row.places ?? 0,
        cell: (row) => `${count(row.places ?? 0)}, ${count(row.runs ?? 0)}`,
      },
    ];
  }, [rows]);
  if (rows.length === 0) return null;
  return (
    <Section title="Price of work">
      <Table
        label="Price of work"
        rows={rows}
        columns={columns}
        rowKey={(row) => JSON.stringify(row.case)}
        sortParameter="psort"
      />
      <Command text={`assay cost --filter ${quoteShell(nodeFilter(node))}`} />
    </Section>
  );
}

function Inventory({ node }: { node: NodeJson }): JSX.Element {
  const description = node.description ?? {};
  const inventory = description.inventory ?? {};
  const { cpu, software = {} } = inventory;
  const labels = Object.entries(description.labels ?? {});
  const { labels: set = {}, removedLabels: removed = [] } = node.settings ?? {};
  return (
    <div class="columns">
      <Section title="Host">
        <Facts
          rows={[
            ["Host name", inventory.hostname],
            [
              "CPU",
              cpu ? (
                <>
                  {cpu.model}
                  <div class="muted">
                    {plural(cpu.sockets ?? 0, "socket")}, {plural(cpu.cores ?? 0, "core")},{" "}
                    {plural(cpu.threads ?? 0, "thread")}, {plural(cpu.numaNodes ?? 0, "NUMA node")}
                    {cpu.vectorIsa && `, ${cpu.vectorIsa}`}
                  </div>
                </>
              ) : (
                <NotMeasured />
              ),
            ],
            ["Memory", inventory.memoryBytes ? bytes(inventory.memoryBytes) : <NotMeasured />],
            ["System", inventory.os],
            ["Kernel", inventory.kernel],
            ["Address", description.advertiseAddress || <span class="muted">unknown</span>],
            [
              "Connection",
              node.dialAddress ? `the coordinator dials ${node.dialAddress}` : "the agent dials",
            ],
          ]}
        />
      </Section>
      <Section title="Software">
        <Facts
          rows={[
            ["NVIDIA driver", inventory.driverVersion ?? <span class="muted">none</span>],
            ["CUDA of the driver", inventory.driverCudaVersion ?? <span class="muted">none</span>],
            ["CUDA runtime", software.cudaRuntime ?? <span class="muted">none</span>],
            ["cuBLAS", software.cublas ?? <span class="muted">none</span>],
            ["NCCL", software.nccl ?? <span class="muted">none</span>],
            ["BLAS", software.blas ?? <span class="muted">none</span>],
            ["Agent", description.agentVersion],
          ]}
        />
      </Section>
      <Section title="Identity">
        <Facts
          rows={[
            ["Node id", <code>{description.nodeId}</code>],
            ["First seen", <Time at={node.firstSeenTime} />],
            ["Last heard", <Time at={node.lastHeartbeatTime} />],
            ...labels
              .slice(0, 50)
              .map(
                ([name, value]) =>
                  [
                    `label ${name.slice(0, 60)}`,
                    <>
                      <LongText text={value} />
                      {Object.hasOwn(set, name) && <small class="muted"> set by an operator</small>}
                    </>,
                  ] as const,
              ),
            labels.length > 50 && ["More labels", count(labels.length - 50)],
            removed.length > 0 && [
              "Labels removed",
              <>
                <LongText text={removed.join(", ")} />
                <small class="muted"> by an operator</small>
              </>,
            ],
          ]}
        />
      </Section>
    </div>
  );
}
