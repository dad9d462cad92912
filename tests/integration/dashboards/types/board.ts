// The type of Assay's dashboards, made of Grafana's own. types_test.py writes one file per dashboard
// that assigns its JSON to Board, so that unknown or misspelt members are errors.
import type * as common from "@grafana/schema";
import type * as barchart from "@grafana/schema/dist/esm/raw/composable/barchart/panelcfg/x/BarChartPanelCfg_types.gen";
import type * as bargauge from "@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen";
import type * as heatmap from "@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen";
import type * as stat from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type * as timeline from "@grafana/schema/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen";
import type * as table from "@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen";
import type * as text from "@grafana/schema/dist/esm/raw/composable/text/panelcfg/x/TextPanelCfg_types.gen";
import type * as timeseries from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";
import type * as raw from "@grafana/schema/dist/esm/raw/dashboard/x/Dashboard_types.gen";

// JSON has the values of enumerations, not their members.
type Plain<T> = T extends string
  ? `${T}`
  : T extends number
    ? `${T}` extends `${infer Value extends number}`
      ? Value
      : never
    : T extends object
      ? { [Key in keyof T]: Plain<T[Key]> }
      : T;

interface Link {
  title: string;
  url: string;
  targetBlank?: boolean;
}

interface Query {
  refId: string;
  datasource: { type: string; uid: string };
  hide?: boolean;
}

interface PrometheusQuery extends Query {
  expr: string;
  editorMode: "code";
  instant: boolean;
  range: boolean;
  format?: "time_series" | "table" | "heatmap";
  legendFormat?: string;
  interval?: string;
}

interface SqlQuery extends Query {
  rawSql: string;
  rawQuery: true;
  editorMode: "code";
  format: "table" | "time_series";
}

// The properties that an override may change, besides those of `custom`, which depend on the panel.
type Property<Custom> =
  | { [Key in keyof Defaults<Custom>]-?: { id: Key; value: Defaults<Custom>[Key] } }[Exclude<
      keyof Defaults<Custom>,
      "custom"
    >]
  | {
      [Key in keyof Custom & string]-?: { id: `custom.${Key}`; value: Plain<Custom[Key]> };
    }[keyof Custom & string];

interface Override<Custom> {
  matcher: { id: "byName" | "byRegexp" | "byType" | "byFrameRefID"; options: string };
  properties: Property<Custom>[];
}

type Defaults<Custom> = Omit<Plain<raw.FieldConfig>, "custom" | "links"> & {
  custom?: { [Key in keyof Custom]?: Plain<Custom[Key]> };
  links?: Link[];
};

type Panel<Type extends string, Options, Custom = Record<never, never>> = Omit<
  Plain<raw.Panel>,
  "type" | "options" | "fieldConfig" | "targets" | "transformations"
> & {
  type: Type;
  options: { [Key in keyof Options]?: Plain<Options[Key]> };
  fieldConfig: { defaults: Defaults<Custom>; overrides: Override<Custom>[] };
  targets: (PrometheusQuery | SqlQuery)[];
  transformations?: { id: string; options: Record<string, unknown> }[];
};

type TextPanel = Omit<Plain<raw.Panel>, "type" | "options"> & {
  type: "text";
  options: Plain<text.Options>;
};

type AnyPanel =
  | Panel<"barchart", barchart.Options, barchart.FieldConfig>
  | Panel<"bargauge", bargauge.Options>
  | Panel<"heatmap", heatmap.Options, heatmap.FieldConfig>
  | Panel<"stat", stat.Options>
  | Panel<"state-timeline", timeline.Options, timeline.FieldConfig>
  | Panel<"table", table.Options, table.FieldConfig>
  | Panel<"timeseries", timeseries.Options, timeseries.FieldConfig>
  | TextPanel;

type Row = Omit<Plain<raw.RowPanel>, "panels"> & { panels: AnyPanel[] };

// Grafana's types leave out the members of variables and annotations that belong to one kind.
type Variable = Plain<common.VariableModel> & { definition?: string };

type Annotation = Omit<Plain<raw.AnnotationQuery>, "target"> & {
  expr?: string;
  step?: string;
  titleFormat?: string;
  textFormat?: string;
  tagKeys?: string;
  target?: SqlQuery;
  rawQuery?: string;
};

export type Board = Omit<Plain<raw.Dashboard>, "panels" | "annotations" | "templating"> & {
  panels: (AnyPanel | Row)[];
  annotations: { list: Annotation[] };
  templating: { list: Variable[] };
};
