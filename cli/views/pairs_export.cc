// Matrices of pairs for machines.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/pairs_view.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* KindName(PairFailureKind kind) {
  switch (kind) {
    case PairFailureKind::kRepetition:
      return "repetition_failed";
    case PairFailureKind::kUnsupported:
      return "unsupported";
    case PairFailureKind::kFailed:
      break;
  }
  return "failed";
}

const char* JudgementName(const PairCase& measured) {
  switch (JudgementOf(measured)) {
    case PairJudgement::kWhole:
      return "whole";
    case PairJudgement::kPartial:
      return "partial";
    case PairJudgement::kNone:
      break;
  }
  return "none";
}

Json CellJson(const PairCase& measured, size_t i) {
  const PairCell& cell = measured.cells[i];
  const auto& expected = measured.analysis.expected;
  Json json = {{"from", measured.nodes[cell.value.from]},
               {"to", measured.nodes[cell.value.to]},
               {"median", cell.value.value}};
  if (cell.interval) {
    json["ci_low"] = cell.interval->first;
    json["ci_high"] = cell.interval->second;
  }
  json["repetitions"] = cell.repetitions;
  if (!expected.empty()) json["expected"] = expected[i];
  json["verdict"] = PairVerdict(measured, cell.value.from, cell.value.to);
  json["flags"] = cell.flags;
  return json;
}

Json NodesJson(const PairCase& measured, const std::vector<BadNode>& nodes) {
  static const std::map<NodeSide, std::string> sides = {{NodeSide::kBoth, "both"},
                                                        {NodeSide::kSending, "sending"},
                                                        {NodeSide::kReceiving, "receiving"}};
  Json json = Json::array();
  for (const BadNode& bad : nodes) {
    json.push_back({{"node", measured.nodes[bad.node]},
                    {"side", sides.at(bad.side)},
                    {"deficit", bad.deficit},
                    {"bad_links", bad.bad_links},
                    {"links", bad.links}});
  }
  return json;
}

Json LinksJson(const PairCase& measured, const std::vector<BadLink>& links) {
  Json json = Json::array();
  for (const BadLink& bad : links) {
    json.push_back({{"from", measured.nodes[bad.from]},
                    {"to", measured.nodes[bad.to]},
                    {"one_way", bad.one_way},
                    {"deficit", bad.deficit}});
  }
  return json;
}

// What has no value.
void AddAbsent(const PairCase& measured, Json& object) {
  object["dead_nodes"] = Json::array();
  for (const DeadNode& dead : measured.dead) {
    object["dead_nodes"].push_back(
        {{"node", measured.nodes[dead.node]}, {"failed_pairs", dead.dead}, {"pairs", dead.pairs}});
  }
  object["failures"] = Json::array();
  for (const PairFailure& failure : measured.failures) {
    object["failures"].push_back({{"from", measured.nodes[failure.from]},
                                  {"to", measured.nodes[failure.to]},
                                  {"one_way", failure.one_way},
                                  {"kind", KindName(failure.kind)},
                                  {"reason", failure.reason}});
  }
  object["missing"] = Json::array();
  for (const auto& [from, to] : measured.missing) {
    object["missing"].push_back({{"from", measured.nodes[from]}, {"to", measured.nodes[to]}});
  }
}

Json CaseJson(const PairCase& measured) {
  const PairAnalysis& analysis = measured.analysis;
  Json object = {{"benchmark", measured.benchmark},
                 {"parameters", measured.parameters},
                 {"metric", measured.metric},
                 {"unit", measured.unit},
                 {"higher_is_better", measured.higher_is_better},
                 {"nodes", measured.nodes},
                 {"judged", JudgementOf(measured) != PairJudgement::kNone},
                 {"judgement", JudgementName(measured)},
                 {"waiting_jobs", measured.waiting},
                 {"both_ways", analysis.both_ways},
                 {"additive", analysis.additive},
                 {"threshold", measured.threshold},
                 {"noise", analysis.noise},
                 {"node_limit", analysis.node_limit},
                 {"link_limit", analysis.link_limit},
                 {"noise_hides", NoiseHides(measured)},
                 {"clear", IsClear(measured)},
                 {"pairs", Json::array()}};
  for (size_t i = 0; i < measured.cells.size(); ++i) {
    object["pairs"].push_back(CellJson(measured, i));
  }
  object["bad_nodes"] = NodesJson(measured, analysis.nodes);
  object["bad_links"] = LinksJson(measured, analysis.links);
  object["doubtful_nodes"] = NodesJson(measured, analysis.doubtful_nodes);
  object["doubtful_links"] = LinksJson(measured, analysis.doubtful_links);
  object["unjudged_nodes"] = Json::array();
  for (const size_t node : analysis.unjudged_nodes) {
    object["unjudged_nodes"].push_back(measured.nodes[node]);
  }
  AddAbsent(measured, object);
  object["findings"] = PairFindings(measured);
  return object;
}

}  // namespace

std::string PairsCsv(const std::vector<PairCase>& cases) {
  std::string csv = CsvRecord({"benchmark", "parameters", "metric", "unit", "from", "to", "median",
                               "expected", "ratio", "failure", "ci_low", "ci_high", "repetitions",
                               "verdict", "flags", "judgement"});
  for (const PairCase& measured : cases) {
    const char* const judgement = JudgementName(measured);
    const auto record = [&](size_t from, size_t to, const std::vector<std::string>& rest) {
      std::vector<std::string> fields = {measured.benchmark,   measured.parameters,
                                         measured.metric,      measured.unit,
                                         measured.nodes[from], measured.nodes[to]};
      fields.insert(fields.end(), rest.begin(), rest.end());
      fields.emplace_back(judgement);
      csv += CsvRecord(fields);
    };
    const auto& expected = measured.analysis.expected;
    for (size_t i = 0; i < measured.cells.size(); ++i) {
      const PairCell& cell = measured.cells[i];
      const PairValue& value = cell.value;
      const bool known = !expected.empty();
      std::string flags;
      for (const std::string& flag : cell.flags) flags += (flags.empty() ? "" : ";") + flag;
      record(
          value.from, value.to,
          {FormatExact(value.value), known ? FormatExact(expected[i]) : "",
           known && expected[i] > 0 ? FormatExact(value.value / expected[i]) : "", "",
           cell.interval ? FormatExact(cell.interval->first) : "",
           cell.interval ? FormatExact(cell.interval->second) : "",
           std::to_string(cell.repetitions), PairVerdict(measured, value.from, value.to), flags});
    }
    for (const PairFailure& failure : measured.failures) {
      record(failure.from, failure.to,
             {"", "", "", failure.reason, "", "", "", KindName(failure.kind), ""});
    }
    for (const auto& [from, to] : measured.missing) {
      record(from, to, {"", "", "", "", "", "", "", "missing", ""});
    }
  }
  return csv;
}

std::string PairsJson(const std::vector<PairCase>& cases) {
  const std::vector<PairSuspect> suspects = PairSuspects(cases);
  JsonArray array;
  std::string json;
  for (size_t i = 0; i < cases.size(); ++i) {
    Json object = CaseJson(cases[i]);
    object["look_at"] = Json::array();
    for (const PairSuspect& suspect : suspects) {
      if (std::count(suspect.cases.begin(), suspect.cases.end(), i) == 0) continue;
      object["look_at"].push_back({{"name", suspect.name},
                                   {"advice", suspect.advice},
                                   {"in_cases", suspect.cases.size()},
                                   {"of_cases", cases.size()}});
    }
    json += array.AddText(object.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return json + array.Finish();
}

}  // namespace assay::cli
