#include "cli/views/cost_view.h"

#include <map>
#include <utility>
#include <vector>

#include "cli/views/case_text.h"
#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/result_text.h"
#include "common/text.h"

namespace assay::cli {
namespace {

// Returns the case without its hardware, because costs are compared across hardware.
v1::CaseIdentity CaseOf(const v1::CostRow& row) {
  v1::CaseIdentity identity = row.case_();
  identity.clear_hardware();
  return identity;
}

// Returns "PFLOP-hour" for "PFLOP/s".
std::string RateHour(std::string unit) {
  if (unit.ends_with("/s")) unit.resize(unit.size() - 2);
  return Sanitize(unit) + "-hour";
}

// The cheapest row of a case, and its number of rows.
struct Cheapest {
  const v1::CostRow* row = nullptr;
  int rows = 0;
};

std::map<std::vector<std::string>, Cheapest> FindCheapest(const v1::GetCostsResponse& costs) {
  std::map<std::vector<std::string>, Cheapest> cheapest;
  for (const v1::CostRow& row : costs.rows()) {
    if (!row.has_dollars_per_rate_hour()) continue;
    Cheapest& known = cheapest[CaseValues(CaseOf(row))];
    ++known.rows;
    if (known.row == nullptr || row.dollars_per_rate_hour() < known.row->dollars_per_rate_hour()) {
      known.row = &row;
    }
  }
  return cheapest;
}

// Returns "cheapest" or "+23.4%".
Cell AgainstCheapest(const v1::CostRow& row, const Cheapest& cheapest) {
  if (!row.has_dollars_per_rate_hour() || cheapest.row == nullptr || cheapest.rows < 2) return "";
  if (cheapest.row == &row) return {"cheapest", Tone::kGood};
  const double least = cheapest.row->dollars_per_rate_hour();
  return least > 0 ? Cell(ChangeText(row.dollars_per_rate_hour() / least)) : Cell("");
}

}  // namespace

std::string CostsTable(const v1::GetCostsResponse& costs, const Style& style) {
  std::vector<v1::CaseIdentity> cases;
  for (const v1::CostRow& row : costs.rows()) cases.push_back(CaseOf(row));
  const CaseNames names(cases);
  auto cheapest = FindCheapest(costs);
  Table table({{"CASE"},
               {"PROVIDER"},
               {"HARDWARE", Align::kLeft, 1},
               {"MEDIAN", Align::kRight, 3},
               {"$/H", Align::kRight, 2},
               {"$ PER RATE", Align::kRight},
               {"VS BEST", Align::kRight},
               {"PLACES", Align::kRight, 4},
               {"NODES", Align::kRight, 6},
               {"RUNS", Align::kRight, 5}});
  constexpr int kDigits = 4;
  for (const v1::CostRow& row : costs.rows()) {
    table.Add(
        {names.Short(CaseOf(row)), row.provider().empty() ? "none" : Sanitize(row.provider()),
         HardwareText(row.case_().hardware()),
         FormatQuantity(row.median(), row.case_().unit()).ToString(),
         FormatFixed(row.dollars_per_hour(), 2),
         row.has_dollars_per_rate_hour() ? FormatSignificant(row.dollars_per_rate_hour(), kDigits) +
                                               "/" + RateHour(row.rate_unit())
                                         : "",
         AgainstCheapest(row, cheapest[CaseValues(CaseOf(row))]), std::to_string(row.places()),
         std::to_string(row.nodes()), std::to_string(row.runs())});
  }
  std::string text = table.Render(style);
  if (costs.unpriced_runs() > 0) {
    text += Wrap(Counted(costs.unpriced_runs(), "run has", "runs have") +
                     " no price, because the node's agent was started without --price",
                 style.width, 2) +
            "\n";
  }
  return text;
}

std::string CostsCsv(const v1::GetCostsResponse& costs) {
  std::string csv = CsvRecordAfter(
      CaseColumns(), {"provider", "median", "dollars_per_hour", "dollars_per_rate_hour",
                      "rate_unit", "places", "nodes", "runs"});
  for (const v1::CostRow& row : costs.rows()) {
    csv += CsvRecordAfter(
        CaseValues(row.case_()),
        {row.provider(), FormatExact(row.median()), FormatExact(row.dollars_per_hour()),
         row.has_dollars_per_rate_hour() ? FormatExact(row.dollars_per_rate_hour()) : "",
         row.rate_unit(), std::to_string(row.places()), std::to_string(row.nodes()),
         std::to_string(row.runs())});
  }
  return csv;
}

}  // namespace assay::cli
