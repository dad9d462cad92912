// The nodes of the fleet as a table.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { FleetGpuJson, FleetNodeJson } from "proto/node_service_pb";
import { Age, Badge, type Tone } from "../components/basic";
import { CordonBadge } from "../components/states";
import { type Column, Table } from "../components/table";
import {
  CONDITIONS,
  type Colouring,
  conditionLabel,
  gpusText,
  isOutlier,
  type Mode,
  MODES,
} from "../fleet";
import { count, dollars, NOT_MEASURED, timeMillis } from "../format";
import { to } from "../router";

export function NodeTable(props: {
  nodes: readonly FleetNodeJson[];
  colours: Colouring;
  mode: Mode;
}): JSX.Element {
  const { colours, mode } = props;
  const columns = useMemo<Column<FleetNodeJson>[]>(() => {
    const worstOf = (node: FleetNodeJson): string | number | undefined => {
      const values = (node.gpus ?? [])
        .map((gpu) => colours.value(node, gpu))
        .filter((value) => value !== undefined);
      if (values.length === 0) return colours.value(node, undefined);
      if (values.every((value) => typeof value === "number")) {
        // The worst GPU stands for the node: the lowest share of the spec, else the highest value.
        return mode === "spec" || mode === "state" ? Math.min(...values) : Math.max(...values);
      }
      return values.map(String).sort().at(-1);
    };
    const worstText = (node: FleetNodeJson): string => {
      const wanted = worstOf(node);
      const gpu = (node.gpus ?? []).find((one) => colours.value(node, one) === wanted);
      return colours.text(node, gpu);
    };
    const most = (
      node: FleetNodeJson,
      read: (gpu: FleetGpuJson) => number | undefined,
    ): number | undefined => {
      const values = (node.gpus ?? []).map(read).filter((value) => value !== undefined);
      return values.length > 0 ? Math.max(...values) : undefined;
    };
    const optional = (value: number | undefined, text: (value: number) => string) =>
      value === undefined ? <span class="muted">{NOT_MEASURED}</span> : text(value);
    const result: Column<FleetNodeJson>[] = [
      {
        key: "name",
        title: "Node",
        value: (node) => node.name,
        cell: (node) => <a href={to("node", node.name)}>{node.name?.slice(0, 100)}</a>,
      },
      {
        key: "state",
        title: "State",
        value: (node) => CONDITIONS.findIndex(({ label }) => label === conditionLabel(node)),
        cell: (node) => <StateBadge node={node} />,
      },
      { key: "gpus", title: "GPUs", value: gpusText },
      {
        key: "temperature",
        title: "Hottest GPU",
        unit: "C",
        numeric: true,
        value: (node) => most(node, (gpu) => gpu.temperatureCelsius),
        cell: (node) =>
          optional(
            most(node, (gpu) => gpu.temperatureCelsius),
            String,
          ),
      },
      {
        key: "power",
        title: "Power",
        unit: "W",
        help: "Sum over the GPUs",
        numeric: true,
        value: powerOf,
        cell: (node) => optional(powerOf(node), count),
      },
      {
        key: "jobs",
        title: "Jobs",
        numeric: true,
        value: (node) => node.runningJobCount ?? 0,
      },
      {
        key: "findings",
        title: "Findings",
        help: "Open regressions and outliers",
        numeric: true,
        value: findingsOf,
      },
      { key: "driver", title: "Driver", value: (node) => node.driverVersion },
      { key: "provider", title: "Provider", value: (node) => node.provider },
      { key: "region", title: "Region", value: (node) => node.region },
      {
        key: "price",
        title: "Price",
        unit: "$/h",
        numeric: true,
        value: (node) => (typeof node.pricePerHour === "number" ? node.pricePerHour : undefined),
        cell: (node) =>
          typeof node.pricePerHour === "number" ? (
            dollars(node.pricePerHour)
          ) : (
            <span class="muted">unknown</span>
          ),
      },
      {
        key: "heartbeat",
        title: "Last heard",
        value: (node) =>
          node.state === "NODE_STATE_CONNECTED" ? Infinity : timeMillis(node.lastHeartbeatTime),
        // The stream does not send each heartbeat.
        cell: (node) =>
          node.state === "NODE_STATE_CONNECTED" ? (
            <span class="muted">in session</span>
          ) : (
            <Age at={node.lastHeartbeatTime} />
          ),
      },
    ];
    if (mode === "spec" || mode === "peers" || mode === "throttle" || mode === "utilization") {
      result.splice(2, 0, {
        key: "color",
        title: MODES.find(({ key }) => key === mode)!.label,
        help: "The worst GPU of the node",
        value: worstOf,
        cell: worstText,
      });
    }
    return result;
  }, [colours, mode]);
  return (
    <Table
      label="Nodes"
      main
      rows={props.nodes}
      columns={columns}
      rowKey={(node) => node.nodeId ?? ""}
    />
  );
}

function powerOf(node: FleetNodeJson): number | undefined {
  const values = (node.gpus ?? []).map((gpu) => gpu.powerWatts).filter((x) => x !== undefined);
  return values.length > 0 ? values.reduce((sum, x) => sum + x, 0) : undefined;
}

function findingsOf(node: FleetNodeJson): number {
  let findings = node.regressionCount ?? 0;
  for (const gpu of node.gpus ?? []) {
    findings += (gpu.regressionCount ?? 0) + (isOutlier(gpu) ? 1 : 0);
  }
  return findings;
}

const TONES: Record<string, Tone> = {
  "running a job": "accent",
  idle: "plain",
  outlier: "warn",
};

function StateBadge({ node }: { node: FleetNodeJson }): JSX.Element {
  const label = conditionLabel(node);
  const jobs = node.runningJobCount ?? 0;
  // A finding does not hide that a person has taken the node out.
  return (
    <span class="badges">
      {label !== "cordoned" && (
        <Badge tone={TONES[label] ?? "bad"} title={node.quarantine?.slice(0, 200)}>
          {label}
        </Badge>
      )}
      {node.cordon && <CordonBadge cordon={node.cordon} runningJobs={jobs} />}
    </span>
  );
}
