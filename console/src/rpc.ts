// The methods of the coordinator that the console calls.

import type * as analysis from "proto/analysis_service_pb";
import type * as campaigns from "proto/campaign_service_pb";
import type * as nodes from "proto/node_service_pb";
import type * as results from "proto/result_service_pb";
import type * as schedules from "proto/schedule_service_pb";
import { method } from "./api";

export const GetFleet = method<nodes.GetFleetRequestJson, nodes.GetFleetResponseJson>(
  "NodeService",
  "GetFleet",
);
export const WatchFleet = method<nodes.WatchFleetRequestJson, nodes.WatchFleetResponseJson>(
  "NodeService",
  "WatchFleet",
);
export const GetNode = method<nodes.GetNodeRequestJson, nodes.GetNodeResponseJson>(
  "NodeService",
  "GetNode",
);
export const ListNodes = method<nodes.ListNodesRequestJson, nodes.ListNodesResponseJson>(
  "NodeService",
  "ListNodes",
);

export const ListCampaigns = method<
  campaigns.ListCampaignsRequestJson,
  campaigns.ListCampaignsResponseJson
>("CampaignService", "ListCampaigns");
export const GetCampaign = method<
  campaigns.GetCampaignRequestJson,
  campaigns.GetCampaignResponseJson
>("CampaignService", "GetCampaign");
export const WatchCampaign = method<
  campaigns.WatchCampaignRequestJson,
  campaigns.WatchCampaignResponseJson
>("CampaignService", "WatchCampaign");
export const GetCampaignProgress = method<
  campaigns.GetCampaignProgressRequestJson,
  campaigns.GetCampaignProgressResponseJson
>("CampaignService", "GetCampaignProgress");

export const ListSchedules = method<
  schedules.ListSchedulesRequestJson,
  schedules.ListSchedulesResponseJson
>("ScheduleService", "ListSchedules");

export const ListResults = method<results.ListResultsRequestJson, results.ListResultsResponseJson>(
  "ResultService",
  "ListResults",
);
export const GroupResults = method<
  results.GroupResultsRequestJson,
  results.GroupResultsResponseJson
>("ResultService", "GroupResults");
export const GetResult = method<results.GetResultRequestJson, results.GetResultResponseJson>(
  "ResultService",
  "GetResult",
);
export const TabulateResults = method<
  results.TabulateResultsRequestJson,
  results.TabulateResultsResponseJson
>("ResultService", "TabulateResults");
export const ListFacets = method<results.ListFacetsRequestJson, results.ListFacetsResponseJson>(
  "ResultService",
  "ListFacets",
);

export const CompareResults = method<
  analysis.CompareResultsRequestJson,
  analysis.CompareResultsResponseJson
>("AnalysisService", "CompareResults");
export const GetHistory = method<analysis.GetHistoryRequestJson, analysis.GetHistoryResponseJson>(
  "AnalysisService",
  "GetHistory",
);
export const ListRegressions = method<
  analysis.ListRegressionsRequestJson,
  analysis.ListRegressionsResponseJson
>("AnalysisService", "ListRegressions");
export const ListOutliers = method<
  analysis.ListOutliersRequestJson,
  analysis.ListOutliersResponseJson
>("AnalysisService", "ListOutliers");
export const GetRoofline = method<
  analysis.GetRooflineRequestJson,
  analysis.GetRooflineResponseJson
>("AnalysisService", "GetRoofline");
export const GetPairs = method<analysis.GetPairsRequestJson, analysis.GetPairsResponseJson>(
  "AnalysisService",
  "GetPairs",
);
export const GetCosts = method<analysis.GetCostsRequestJson, analysis.GetCostsResponseJson>(
  "AnalysisService",
  "GetCosts",
);
