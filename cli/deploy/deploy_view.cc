#include "cli/deploy/deploy_view.h"

#include <nlohmann/json.hpp>

#include "cli/views/output.h"
#include "common/numbers.h"
#include "common/text.h"

namespace assay::cli {
namespace {

Cell OutcomeOf(const DeployResult& result) {
  switch (result.outcome) {
    case DeployResult::Outcome::kJoined:
      return {"joined", Tone::kGood};
    case DeployResult::Outcome::kSkipped:
      return {"skipped", Tone::kDim};
    default:
      return {"failed", Tone::kBad};
  }
}

std::string SecondsText(double seconds) { return FormatFixed(seconds, 1); }

}  // namespace

std::string DeployText(const std::vector<DeployResult>& results, const Style& style) {
  Table table({{"HOST"}, {"NODE", Align::kLeft, 1}, {"RESULT"}, {"SECONDS", Align::kRight, 2}});
  std::string messages;
  for (const DeployResult& one : results) {
    const bool skipped = one.outcome == DeployResult::Outcome::kSkipped;
    table.Add({one.host, one.node, OutcomeOf(one), skipped ? "" : SecondsText(one.seconds)});
    if (one.message.empty()) continue;
    messages += Wrap(Sanitize(one.host + ": " + one.message), style.width, 4) + "\n";
  }
  return table.Render(style) + (messages.empty() ? "" : "\n" + messages);
}

std::string DeployCsv(const std::vector<DeployResult>& results) {
  std::string csv = CsvRecord({"host", "node", "result", "seconds", "message"});
  for (const DeployResult& one : results) {
    csv +=
        CsvRecord({one.host, one.node, OutcomeOf(one).text, SecondsText(one.seconds), one.message});
  }
  return csv;
}

std::string DeployJson(const std::vector<DeployResult>& results) {
  JsonArray array;
  std::string text;
  for (const DeployResult& one : results) {
    nlohmann::ordered_json json;
    json["host"] = one.host;
    json["node"] = one.node;
    json["result"] = OutcomeOf(one).text;
    json["seconds"] = std::stod(SecondsText(one.seconds));
    if (!one.message.empty()) json["message"] = one.message;
    text +=
        array.AddText(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }
  return text + array.Finish();
}

}  // namespace assay::cli
