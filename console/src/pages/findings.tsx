// Regressions and outliers: what must a person decide?

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { IncidentJson, OutlierJson, RegressionJson } from "proto/analysis_pb";
import {
  Age,
  Badge,
  Command,
  Empty,
  ErrorNote,
  Facts,
  PageHead,
  Section,
  Skeleton,
  Time,
} from "../components/basic";
import { RegressionBadge } from "../components/states";
import { type Column, Table } from "../components/table";
import { caseNames, placeName } from "../figures/names";
import {
  arrow,
  causeText,
  commonSuspects,
  historyFilter,
  noteText,
  rankText,
  rerunsText,
  scopeText,
  shortId,
  suspects,
} from "../findings";
import { change, count, num, plural, quantity, words } from "../format";
import { useCall } from "../hooks";
import { param, setParams, to } from "../router";
import { ListOutliers, ListRegressions } from "../rpc";
import { useSimulated } from "../simulated";

const PAGE_SIZE = 100;
const POLL_SECONDS = 30;

export function FindingsPage(): JSX.Element {
  const simulated = useSimulated();
  const all = param("all") === "1";
  const regressions = useCall(
    ListRegressions,
    simulated === undefined ? undefined : { simulated, includeClosed: all, pageSize: PAGE_SIZE },
    POLL_SECONDS,
  );
  const outliers = useCall(
    ListOutliers,
    simulated === undefined ? undefined : { simulated },
    POLL_SECONDS,
  );
  const judged = regressions.data?.judgedUntil;
  return (
    <>
      <PageHead title="Findings">
        {simulated && <Badge title="No hardware is measured">simulated</Badge>}
        {judged && (
          <span class="muted">
            results up to <Age at={judged} />
          </span>
        )}
      </PageHead>
      <Section
        title="Regressions, by their common cause"
        aside={
          <label class="field">
            <input
              type="checkbox"
              checked={all}
              onChange={(event) => setParams({ all: event.currentTarget.checked ? "1" : "" })}
            />
            resolved and cleared ones too
          </label>
        }
      >
        <ErrorNote error={regressions.error} />
        {!regressions.data && !regressions.error && <Skeleton lines={6} />}
        {regressions.data && (
          <Incidents
            incidents={regressions.data.incidents ?? []}
            regressions={regressions.data.regressions ?? []}
            simulated={simulated === true}
            judged={judged}
          />
        )}
        <Command
          text={`assay regressions -v${all ? " --all" : ""}${simulated ? " --simulated" : ""}`}
        />
      </Section>
      <Section
        title="Outliers, against GPUs of the same hardware and driver"
        aside={
          outliers.data && judgedText(outliers.data.judgedPlaces, outliers.data.unjudgedPlaces)
        }
      >
        <ErrorNote error={outliers.error} />
        {!outliers.data && !outliers.error && <Skeleton lines={4} />}
        {outliers.data && <Outliers outliers={outliers.data.outliers ?? []} />}
        <Command text={`assay outliers${simulated ? " --simulated" : ""}`} />
      </Section>
    </>
  );
}

function judgedText(judged = 0, unjudged = 0): string {
  const text = `${plural(judged, "place")} compared`;
  return unjudged > 0 ? `${text}; ${count(unjudged)} with too few peers` : text;
}

// What needs a person first.
const STATE_ORDER = [
  "REGRESSION_STATE_CONFIRMED",
  "REGRESSION_STATE_DETECTED",
  "REGRESSION_STATE_ACKNOWLEDGED",
  "REGRESSION_STATE_RESOLVED",
  "REGRESSION_STATE_CLEARED",
];

export function Incidents(props: {
  incidents: readonly IncidentJson[];
  regressions: readonly RegressionJson[];
  simulated: boolean;
  judged: string | undefined;
  // If set, the regressions are those of this node only.
  nodeName?: string | undefined;
}): JSX.Element {
  const byIncident = useMemo(() => {
    const groups = new Map<string, RegressionJson[]>();
    for (const regression of props.regressions) {
      const id = regression.incidentId ?? "";
      groups.set(id, [...(groups.get(id) ?? []), regression]);
    }
    return groups;
  }, [props.regressions]);
  const incidents = useMemo(() => {
    const rank = (incident: IncidentJson): number => STATE_ORDER.indexOf(incident.state ?? "");
    return [...props.incidents].sort((a, b) => rank(a) - rank(b));
  }, [props.incidents]);
  if (incidents.length === 0) {
    return (
      <Empty
        title={props.judged ? "Nothing has become slower." : "No results have been judged yet."}
      >
        {!props.judged && <p>Regressions are found once cases have several runs.</p>}
      </Empty>
    );
  }
  return (
    <ul class="list incidents">
      {incidents.map((incident) => (
        <Incident
          key={incident.incidentId}
          incident={incident}
          regressions={byIncident.get(incident.incidentId ?? "") ?? []}
          simulated={props.simulated}
          nodeName={props.nodeName}
        />
      ))}
    </ul>
  );
}

function Incident(props: {
  incident: IncidentJson;
  // Those that are loaded: maybe not all.
  regressions: readonly RegressionJson[];
  simulated: boolean;
  nodeName?: string | undefined;
}): JSX.Element {
  const { incident } = props;
  const total = incident.regressionCount ?? 0;
  const here = props.nodeName !== undefined;
  const complete = here || props.regressions.length >= Math.min(total, PAGE_SIZE);
  const [opened, setOpened] = useState(false);
  const loaded = useCall(
    ListRegressions,
    opened && !complete
      ? {
          incidentId: incident.incidentId ?? "",
          simulated: props.simulated,
          includeClosed: true,
          pageSize: PAGE_SIZE,
        }
      : undefined,
  );
  const regressions = loaded.data?.regressions ?? props.regressions;
  const open =
    incident.state === "REGRESSION_STATE_CONFIRMED" ||
    incident.state === "REGRESSION_STATE_DETECTED";
  const together = commonSuspects(regressions);
  const scope = scopeText(incident.scope);
  const id = shortId(incident.incidentId);
  const ratio = num(incident.worstRatio);
  return (
    <li>
      <div class="line incident-head">
        <RegressionBadge state={incident.state} />
        <strong>{causeText(incident)}</strong>
        {ratio !== undefined && ratio > 0 && (
          <span>
            worst <strong class={open ? "bad" : undefined}>{change(ratio)}</strong>
          </span>
        )}
        <span class="muted">
          {plural(incident.caseCount ?? 0, "case")} at {plural(incident.placeCount ?? 0, "place")}
        </span>
      </div>
      <Facts
        rows={[
          [
            "Since",
            <>
              <Time at={incident.startTime} />
              {incident.lastGoodTime && (
                <span class="muted">
                  , last good run <Time at={incident.lastGoodTime} />
                </span>
              )}
            </>,
          ],
          scope !== "" && ["Extent", scope],
          together.length > 0 && ["Changed with it", <Lines of={together} />],
        ]}
      />
      <details
        open={complete && regressions.length <= 3}
        onToggle={(event) => setOpened(event.currentTarget.open)}
      >
        <summary>
          {here
            ? `${plural(regressions.length, "regression")} of this node`
            : plural(total, "regression")}{" "}
          with evidence
        </summary>
        <ErrorNote error={loaded.error} />
        {regressions.length === 0 && !loaded.error && <Skeleton lines={2} />}
        {regressions.length > 0 && (
          <Regressions
            label={`Regressions: ${causeText(incident)}`}
            regressions={regressions}
            simulated={props.simulated}
          />
        )}
        {!here && regressions.length < total && regressions.length > 0 && (
          <p class="muted">
            {opened && !complete && !loaded.data
              ? "Loading more"
              : `The newest ${count(regressions.length)} of ${count(total)} are shown.`}
          </p>
        )}
      </details>
      {open && <Command label="acknowledge" text={`assay regressions ack ${id} --note 'WHY'`} />}
    </li>
  );
}

function Lines({ of }: { of: readonly string[] }): JSX.Element {
  return (
    <>
      {of.map((text) => (
        <div key={text}>{text}</div>
      ))}
    </>
  );
}

function Regressions(props: {
  label: string;
  regressions: readonly RegressionJson[];
  simulated: boolean;
}): JSX.Element {
  const { regressions, simulated } = props;
  const columns = useMemo<Column<RegressionJson>[]>(() => {
    const name = caseNames(regressions.map((one) => one.case ?? {}));
    return [
      {
        key: "case",
        title: "Case",
        wide: true,
        value: (one) => name(one.case ?? {}),
        cell: (one) => (
          <a
            href={to("series", "", {
              filter: historyFilter(one.case?.lineageId, one.place, simulated),
            })}
          >
            {name(one.case ?? {})}
          </a>
        ),
      },
      {
        key: "place",
        title: "Place",
        value: (one) => placeName(one.place),
        cell: (one) => {
          const node = one.place?.nodeNames?.[0];
          return node ? (
            <a href={to("node", node)}>{placeName(one.place)}</a>
          ) : (
            placeName(one.place)
          );
        },
      },
      {
        key: "change",
        title: "Change",
        numeric: true,
        value: (one) => num(one.step?.ratio),
        cell: (one) => <strong>{change(one.step?.ratio)}</strong>,
      },
      {
        key: "before",
        title: "Before → after",
        cell: (one) => {
          const unit = one.case?.unit ?? "";
          return (
            <>
              <a href={to("result", one.resultIdBefore)}>
                {quantity(one.step?.medianBefore, unit)}
              </a>
              {" → "}
              <a href={to("result", one.resultId)}>{quantity(one.step?.medianAfter, unit)}</a>
            </>
          );
        },
      },
      {
        key: "state",
        title: "State",
        value: (one) => STATE_ORDER.indexOf(one.state ?? ""),
        cell: (one) => <RegressionBadge state={one.state} />,
      },
      { key: "evidence", title: "Evidence", wide: true, cell: (one) => <Evidence of={one} /> },
    ];
  }, [regressions, simulated]);
  return (
    <Table
      label={props.label}
      rows={regressions}
      columns={columns}
      rowKey={(one) => one.regressionId ?? ""}
      sortParameter="rsort"
    />
  );
}

function Evidence({ of }: { of: RegressionJson }): JSX.Element {
  const reruns = rerunsText(of);
  const changed = suspects(of).join("; ");
  const note = noteText(of);
  const rows: [string, string | JSX.Element][] = [];
  if (changed) rows.push(["changed", changed]);
  if (reruns) rows.push(["reruns", reruns]);
  if (of.rerunCampaignId) {
    rows.push(["under way", <a href={to("campaign", of.rerunCampaignId)}>rerun</a>]);
  } else if (of.state === "REGRESSION_STATE_DETECTED" && of.nextRerunTime) {
    rows.push(["next rerun", <Time at={of.nextRerunTime} />]);
  }
  if (!of.isStep) rows.push(["runs", "one slow run so far"]);
  if (note) rows.push(["note", note]);
  return (
    <dl class="evidence">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const OUTLIER_COLUMNS = (
  name: (of: OutlierJson) => string,
  openPlace: string,
  setOpen: (key: string) => void,
): Column<OutlierJson>[] => [
  {
    key: "place",
    title: "Place",
    value: (one) => placeName(one.place),
    cell: (one) => {
      const node = one.place?.nodeNames?.[0];
      return node ? <a href={to("node", node)}>{placeName(one.place)}</a> : placeName(one.place);
    },
  },
  {
    key: "kind",
    title: "Kind",
    value: (one) => one.kind,
    cell: (one) => (
      <Badge
        tone={one.kind === "OUTLIER_KIND_SLOW" ? "bad" : "warn"}
        title={
          one.kind === "OUTLIER_KIND_SLOW"
            ? "Slower than its peers"
            : "So much faster than its peers that the measurement is doubtful"
        }
      >
        {words(one.kind, "OUTLIER_KIND")}
      </Badge>
    ),
  },
  {
    key: "ratio",
    title: "Against peers",
    numeric: true,
    value: (one) => num(one.cases?.[0]?.ratio),
    cell: (one) => <strong>{change(one.cases?.[0]?.ratio)}</strong>,
  },
  {
    key: "cases",
    title: "Cases",
    numeric: true,
    value: (one) => one.cases?.length ?? 0,
    cell: (one) => `${count(one.cases?.length ?? 0)} of ${count(one.judgedCount ?? 0)}`,
  },
  { key: "worst", title: "Worst case", wide: true, value: name },
  {
    key: "rank",
    title: "Rank",
    help: "From the fastest",
    cell: (one) => (one.cases?.[0] ? rankText(one.cases[0]) : ""),
  },
  {
    key: "hint",
    title: "Hint",
    cell: (one) =>
      one.cases?.some((two) => two.powerLimited) ? (
        <span title="As efficient at its clock as its peers: the power limit or the cooling differs">
          power-limited
        </span>
      ) : (
        ""
      ),
  },
  {
    key: "open",
    title: "Details",
    cell: (one) => {
      const key = outlierKey(one);
      return (
        <button
          type="button"
          class="link"
          aria-expanded={openPlace === key}
          onClick={() => setOpen(openPlace === key ? "" : key)}
        >
          {openPlace === key ? "hide cases" : "show cases"}
        </button>
      );
    },
  },
];

function outlierKey(one: OutlierJson): string {
  return [...(one.place?.nodeNames ?? []), ...(one.place?.gpuUuids ?? [])].join(" ");
}

// Outliers as a table. Also part of a node's page.
export function Outliers(props: { outliers: readonly OutlierJson[] }): JSX.Element {
  const { outliers } = props;
  const [open, setOpen] = useState("");
  const name = useMemo(
    () => caseNames(outliers.flatMap((one) => (one.cases ?? []).map((two) => two.case ?? {}))),
    [outliers],
  );
  const columns = useMemo(
    () => OUTLIER_COLUMNS((one) => name(one.cases?.[0]?.case ?? {}), open, setOpen),
    [name, open],
  );
  const chosen = outliers.find((one) => outlierKey(one) === open);
  if (outliers.length === 0) return <Empty title="No place differs from its peers." />;
  return (
    <>
      <Table
        label="Outliers"
        main
        rows={outliers}
        columns={columns}
        rowKey={outlierKey}
        sortParameter="osort"
      />
      {chosen && (
        <div class="outlier-cases">
          <h3>Cases of {placeName(chosen.place)}</h3>
          <Table
            label={`Cases of ${placeName(chosen.place)}`}
            rows={chosen.cases ?? []}
            rowKey={(one) => one.resultId ?? ""}
            sortParameter="csort"
            columns={[
              {
                key: "case",
                title: "Case",
                wide: true,
                value: (one) => name(one.case ?? {}),
                cell: (one) => <a href={to("result", one.resultId)}>{name(one.case ?? {})}</a>,
              },
              {
                key: "ratio",
                title: "Against peers",
                numeric: true,
                value: (one) => num(one.ratio),
                cell: (one) => change(one.ratio),
              },
              {
                key: "z",
                title: "Deviations",
                help: "Distance from the peers' median in their standard deviations",
                numeric: true,
                value: (one) => num(one.z),
                cell: (one) => num(one.z)?.toFixed(1),
              },
              {
                key: "medians",
                title: "Median, peers",
                cell: (one) =>
                  arrow(
                    quantity(one.median, one.case?.unit ?? ""),
                    quantity(one.peersMedian, one.case?.unit ?? ""),
                  ).replace("→", "vs"),
              },
              { key: "rank", title: "Rank", value: (one) => num(one.rank), cell: rankText },
              { key: "driver", title: "Driver", value: (one) => one.driverVersion },
              { key: "time", title: "Ended", cell: (one) => <Age at={one.endTime} /> },
            ]}
          />
        </div>
      )}
    </>
  );
}
