// The data in a report, and the page that holds it. `assay report` writes both.
//
// The page is complete without script: every finding and every figure's values are in its text and
// tables. The script adds figures above the tables, sorts tables and folds long ones.
//
//   <body class="report">
//     <main>
//       <header class="page-head"> ... </header>
//       <section class="section" data-figure="roofline" data-index="0">
//         <header><h2>H200 SXM</h2></header>
//         <p>What the figure shows.</p>
//         <div class="table-holder"><table class="table"> ... </table></div>
//       </section>
//     </main>
//     <script type="application/json" id="assay-report">{ ... }</script>
//     <script> report.js </script>
//   </body>
//
// The figure goes before the section's first .table-holder. What data-figure draws:
//
//   roofline   roofline.rooflines[data-index]
//   heatmap    pairs.matrices[data-index]
//   forest     comparison
//   history    the places of history with the same case; data-index counts cases in the order of
//              their first place
//   bandwidth  the rows of results with data-benchmark and data-metric, over data-parameter
//              ("bytes" if it is absent), a line per value of data-by and of the other parameters
//   strip      the same rows as points, in groups by data-by ("node" if it is absent)
//
// data-by may be several fields, separated by commas. A section whose data is absent or empty keeps
// its table alone.
//
// A table's cells are sorted by their text, or by data-value, a number or a time in RFC 3339, if they
// have one. Tables with the class "plain" are left as they are.
//
// Messages are protobuf's JSON with default values, as the coordinator answers. "<" must be written
// as \u003c.

import type {
  CompareResultsResponseJson,
  GetHistoryResponseJson,
  GetPairsResponseJson,
  GetRooflineResponseJson,
} from "proto/analysis_service_pb";
import type { CampaignJson } from "proto/campaign_service_pb";
import type { GroupResultsResponseJson, TabulateResultsResponseJson } from "proto/result_service_pb";

export interface ReportData {
  // The campaign, with its rules and their verdicts. Absent if the report is over a filter.
  campaign?: CampaignJson;
  // As in ListResultsRequest. "" for all results of the campaign.
  filter: string;
  // When the report was made, in RFC 3339.
  time: string;
  // Of `assay`.
  version: string;
  // The fields REPORT_FIELDS, and "parameters.NAME" for each parameter that differs between results
  // of one benchmark, or as many as a request may have.
  results: TabulateResultsResponseJson;
  roofline: GetRooflineResponseJson;
  // If the campaign measured pairs.
  pairs?: GetPairsResponseJson;
  // If the results have two drivers.
  comparison?: CompareResultsResponseJson;
  // The margin that the comparison was made with. Absent: 0.02.
  comparison_margin?: number;
  // If results have several runs at one place.
  history?: GetHistoryResponseJson;
  // By "gpu.model".
  groups: GroupResultsResponseJson;
}

export const REPORT_FIELDS = [
  "result_id",
  "benchmark",
  "metric",
  "unit",
  "node",
  "gpu.uuid",
  "gpu.model",
  "driver",
  "end_time",
  "median",
  "ci_low",
  "ci_high",
  "flag",
  "model_latency_seconds",
  "model_bandwidth",
  "model_error",
  "model_sizes",
];
