// The GPUs of a node: their state now, and their errors.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { GpuInventoryJson } from "proto/inventory_pb";
import type { GpuTelemetryJson } from "proto/telemetry_pb";
import { Age, Badge, NotMeasured, Reading } from "../components/basic";
import { type Column, Table } from "../components/table";
import { bytes, count, duration, num } from "../format";

interface GpuRow {
  gpu: GpuInventoryJson;
  now: GpuTelemetryJson | undefined;
}

// A bar behind a number, from 0 to 1.
function Meter(props: { part: number | undefined; hot?: boolean; children: string }): JSX.Element {
  const { part } = props;
  if (part === undefined) return <NotMeasured />;
  return (
    <span class="meter">
      <span class="meter-text">{props.children}</span>
      <span class="meter-bar" aria-hidden="true">
        <span
          class={props.hot ? "hot" : undefined}
          style={{ width: `${Math.min(100, 100 * part)}%` }}
        />
      </span>
    </span>
  );
}

function ratio(part: number | undefined, whole: number | undefined): number | undefined {
  return part !== undefined && whole ? part / whole : undefined;
}

const GPU_COLUMNS: readonly Column<GpuRow>[] = [
  {
    key: "index",
    title: "GPU",
    value: ({ gpu }) => gpu.index ?? 0,
    cell: ({ gpu }) => <span title={gpu.uuid}>{gpu.index ?? 0}</span>,
  },
  {
    key: "model",
    title: "Model",
    value: ({ gpu }) => gpu.model,
    cell: ({ gpu }) => [gpu.model, gpu.formFactor, gpu.migProfile].filter(Boolean).join(" "),
  },
  {
    key: "temperature",
    title: "Temperature",
    numeric: true,
    value: ({ now }) => num(now?.temperatureCelsius),
    cell: ({ now }) => <Reading of={num(now?.temperatureCelsius)?.toFixed(0)} unit="C" />,
  },
  {
    key: "power",
    title: "Power",
    value: ({ now }) => num(now?.powerWatts),
    cell: ({ gpu, now }) => {
      const power = num(now?.powerWatts);
      const limit = num(now?.powerLimitWatts) ?? num(gpu.powerLimitWatts);
      return (
        <Meter part={power === undefined ? undefined : (ratio(power, limit) ?? 0)}>
          {`${power?.toFixed(0)}${limit ? ` of ${limit.toFixed(0)}` : ""} W`}
        </Meter>
      );
    },
  },
  {
    key: "clock",
    title: "SM clock",
    value: ({ now }) => num(now?.smClockMhz),
    cell: ({ gpu, now }) => {
      const clock = num(now?.smClockMhz);
      return (
        <Meter part={clock === undefined ? undefined : (ratio(clock, gpu.smClockMaxMhz) ?? 0)}>
          {`${clock?.toFixed(0)}${gpu.smClockMaxMhz ? ` of ${gpu.smClockMaxMhz}` : ""} MHz`}
        </Meter>
      );
    },
  },
  {
    key: "utilization",
    title: "Busy",
    value: ({ now }) => num(now?.utilization),
    cell: ({ now }) => {
      const part = num(now?.utilization);
      return <Meter part={part}>{`${((part ?? 0) * 100).toFixed(0)}%`}</Meter>;
    },
  },
  {
    key: "memory",
    title: "Memory in use",
    value: ({ now }) => num(now?.memoryUsedBytes),
    cell: ({ gpu, now }) => {
      const used = num(now?.memoryUsedBytes);
      const total = num(gpu.memoryBytes);
      if (used === undefined) return total === undefined ? <NotMeasured /> : `of ${bytes(total)}`;
      return (
        <Meter part={ratio(used, total) ?? 0}>
          {total ? `${bytes(used)} of ${bytes(total)}` : bytes(used)}
        </Meter>
      );
    },
  },
  {
    key: "throttle",
    title: "Throttled",
    value: ({ now }) => now?.throttleReasons?.join(", "),
    cell: ({ now }) => {
      if (!now) return <NotMeasured />;
      const reasons = (now.throttleReasons ?? []).map((reason) => reason.replaceAll("_", " "));
      const times = (now.throttleTimes ?? [])
        .map((time) => `${time.reason}: ${duration(num(time.seconds))}`)
        .join("\n");
      return (
        <span title={times && `since the driver was loaded\n${times}`}>
          {reasons.length > 0 ? <Badge tone="warn">{reasons.join(", ")}</Badge> : "no"}
        </span>
      );
    },
  },
  {
    key: "pcie",
    title: "PCIe",
    value: ({ gpu }) => gpu.pcieGeneration,
    cell: ({ gpu }) => {
      if (gpu.pcieGeneration === undefined) return <NotMeasured />;
      const below =
        (gpu.pcieGeneration ?? 0) < (gpu.pcieGenerationMax ?? 0) ||
        (gpu.pcieWidth ?? 0) < (gpu.pcieWidthMax ?? 0);
      const text = `gen ${gpu.pcieGeneration} x${gpu.pcieWidth ?? "?"}`;
      return below ? (
        <Badge tone="warn" title={`can do gen ${gpu.pcieGenerationMax} x${gpu.pcieWidthMax}`}>
          {text}
        </Badge>
      ) : (
        text
      );
    },
  },
];

function NotAvailable(): JSX.Element {
  return (
    <span class="muted" title="not reported by the driver or the agent">
      n/a
    </span>
  );
}

// Errors that the hardware has repaired, and in red what it could not: "9 corrected, 2 uncorrected".
function Errors(props: {
  mild: number | string | undefined;
  bad: number | string | undefined;
  words: readonly [string, string];
}): JSX.Element {
  const mild = num(props.mild);
  const bad = num(props.bad);
  if (mild === undefined && bad === undefined) return <NotAvailable />;
  if (!mild && !bad) return <span class="muted">0</span>;
  return (
    <>
      {!!mild && `${count(mild)} ${props.words[0]}`}
      {!!mild && !!bad && ", "}
      {!!bad && (
        <span class="bad">
          {count(bad)} {props.words[1]}
        </span>
      )}
    </>
  );
}

function countColumn(
  key: string,
  title: string,
  help: string,
  read: (now: GpuTelemetryJson) => number | string | undefined,
): Column<GpuRow> {
  const value = ({ now }: GpuRow): number | undefined => now && num(read(now));
  return {
    key,
    title,
    help,
    numeric: true,
    value,
    cell: (row) => {
      const number = value(row);
      if (number === undefined) return <NotAvailable />;
      return <span class={number === 0 ? "muted" : undefined}>{count(number)}</span>;
    },
  };
}

const ERROR_COLUMNS: readonly Column<GpuRow>[] = [
  { key: "index", title: "GPU", value: ({ gpu }) => gpu.index ?? 0 },
  {
    key: "xid",
    title: "Newest Xid",
    value: ({ now }) => now?.lastXid,
    cell: ({ now }) =>
      !now ? (
        <NotAvailable />
      ) : now.lastXid === undefined ? (
        <span class="muted" title="since the agent started">
          none
        </span>
      ) : (
        <span class="nowrap">
          <Badge tone="bad">Xid {now.lastXid}</Badge>{" "}
          {now.lastXidTime && <Age at={now.lastXidTime} />}
        </span>
      ),
  },
  {
    key: "ecc",
    title: "ECC errors",
    help: "since the driver was loaded",
    value: ({ now }) => num(now?.eccUncorrected),
    cell: ({ now }) => (
      <Errors
        mild={now?.eccCorrected}
        bad={now?.eccUncorrected}
        words={["corrected", "uncorrected"]}
      />
    ),
  },
  {
    key: "remaps",
    title: "Rows remapped",
    help: "over the GPU's life, because of repeated single-bit errors or of uncorrectable errors",
    value: ({ now }) => num(now?.rowsRemappedUncorrectable),
    cell: ({ now }) => (
      <Errors
        mild={now?.rowsRemappedCorrectable}
        bad={now?.rowsRemappedUncorrectable}
        words={["correctable", "uncorrectable"]}
      />
    ),
  },
  {
    key: "remap",
    title: "Next remap",
    value: ({ now }) => (now?.rowRemapFailed ? 0 : now?.rowRemapPending ? 1 : 2),
    cell: ({ now }) =>
      now?.rowRemapFailed ? (
        <Badge tone="bad">failed</Badge>
      ) : now?.rowRemapPending ? (
        <Badge tone="warn" title="The next reboot replaces a row of memory">
          at reboot
        </Badge>
      ) : now?.rowRemapPending === undefined ? (
        <NotAvailable />
      ) : (
        <span class="muted">none</span>
      ),
  },
  {
    key: "links",
    title: "NVLinks active",
    numeric: true,
    value: ({ now }) => now?.nvlinksActive,
    cell: ({ gpu, now }) => <Links now={now?.nvlinksActive} before={gpu.nvlinksActive} />,
  },
  countColumn(
    "nvlink",
    "NVLink errors",
    "replays, recoveries and CRC errors of all links since the driver was loaded",
    (now) => now.nvlinkErrors,
  ),
  countColumn("replays", "PCIe replays", "packets sent again", (now) => now.pcieReplays),
];

// `before` is the number of links when the agent started.
function Links(props: { now: number | undefined; before: number | undefined }): JSX.Element {
  const { now, before } = props;
  if (now === undefined) return <NotAvailable />;
  if (before === undefined || now >= before) return <span>{now}</span>;
  return (
    <Badge tone="bad" title="A link went down since the agent started">
      {now} of {before}
    </Badge>
  );
}

function rowsOf(
  gpus: readonly GpuInventoryJson[],
  telemetry: readonly GpuTelemetryJson[],
): GpuRow[] {
  const byIndex = new Map(telemetry.map((one) => [one.index ?? 0, one]));
  return gpus.map((gpu) => ({ gpu, now: byIndex.get(gpu.index ?? 0) }));
}

interface GpusProps {
  gpus: readonly GpuInventoryJson[];
  telemetry: readonly GpuTelemetryJson[];
}

export function Gpus({ gpus, telemetry }: GpusProps): JSX.Element {
  const rows = useMemo(() => rowsOf(gpus, telemetry), [gpus, telemetry]);
  return <Table label="GPUs" main rows={rows} columns={GPU_COLUMNS} rowKey={rowKey} />;
}

// The errors that the driver has counted.
export function GpuErrors({ gpus, telemetry }: GpusProps): JSX.Element {
  const rows = useMemo(() => rowsOf(gpus, telemetry), [gpus, telemetry]);
  return (
    <Table
      label="Errors of GPUs"
      sortParameter="esort"
      rows={rows}
      columns={ERROR_COLUMNS}
      rowKey={rowKey}
    />
  );
}

function rowKey({ gpu }: GpuRow): string {
  return gpu.uuid ?? String(gpu.index);
}
