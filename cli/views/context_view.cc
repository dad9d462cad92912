#include "cli/views/context_view.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/views/format.h"
#include "cli/views/output.h"
#include "common/text.h"
#include "wire/timestamps.h"

namespace assay::cli {
namespace {

// Returns the facts of a context by the names that CSV and JSON have for them.
std::vector<std::pair<std::string, std::string>> FactsOf(const ContextRow& row) {
  const identity::Enrolled who = row.enrolled.value_or(identity::Enrolled());
  const std::string end =
      row.enrolled ? schema::TimeText(schema::ToTimestamp(who.expire_time)) : "";
  return {{"name", row.name},
          {"current", row.current ? "true" : "false"},
          {"coordinator", row.coordinator},
          {"fleet", who.fleet},
          {"user", who.name},
          {"role", who.role},
          {"certificate_expire_time", end},
          {"join_url", who.join.url},
          {"identity", row.context.identity},
          {"tls_ca", row.context.tls.authorities},
          {"tls_cert", row.context.tls.certificate},
          {"tls_key", row.context.tls.key},
          {"problem", row.problem}};
}

}  // namespace

std::string ContextsText(const std::vector<ContextRow>& rows, const Style& style) {
  Table table({{""},
               {"NAME"},
               {"FLEET", Align::kLeft, 2},
               {"USER", Align::kLeft, 1},
               {"ROLE", Align::kLeft, 1},
               {"COORDINATOR"},
               {"CERTIFICATE ENDS", Align::kLeft, 3}});
  std::string problems;
  for (const ContextRow& row : rows) {
    const identity::Enrolled who = row.enrolled.value_or(identity::Enrolled());
    table.Add({row.current ? "*" : "", row.name, who.fleet, who.name, who.role, row.coordinator,
               row.enrolled ? FormatTime(schema::ToTimestamp(who.expire_time)) : ""});
    if (!row.problem.empty()) {
      problems += Wrap(Sanitize(row.name + ": " + row.problem), style.width, 2) + "\n";
    }
  }
  return table.Render(style) + problems;
}

std::string ContextsCsv(const std::vector<ContextRow>& rows) {
  std::string csv;
  for (const ContextRow& row : rows) {
    std::vector<std::string> names;
    std::vector<std::string> values;
    for (auto& [name, value] : FactsOf(row)) {
      names.push_back(name);
      values.push_back(value);
    }
    if (csv.empty()) csv = CsvRecord(names);
    csv += CsvRecord(values);
  }
  return csv;
}

std::string ContextText(const ContextRow& row) {
  std::string text;
  for (const auto& [name, value] : FactsOf(row)) {
    if (value.empty() || name == "current") continue;
    std::string label = name + ":";
    for (char& c : label) c = c == '_' ? ' ' : c;
    label.resize(26, ' ');
    text += label + Sanitize(value) + "\n";
  }
  return text;
}

std::string ContextJson(const ContextRow& row) {
  nlohmann::ordered_json json;
  for (const auto& [name, value] : FactsOf(row)) {
    if (name == "current") {
      json[name] = row.current;
    } else if (!value.empty()) {
      json[name] = value;
    }
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace assay::cli
