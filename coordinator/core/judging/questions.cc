#include "coordinator/core/judging/questions.h"

#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/steps.h"
#include "campaign/accept_rule.h"
#include "common/text.h"
#include "coordinator/core/judging/histories.h"
#include "coordinator/core/judging/prices.h"
#include "coordinator/core/judging/records.h"
#include "storage/analysis_rules.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using storage::Run;
using storage::Runs;

constexpr int kPlaces = 20;
constexpr int kMostPlaces = 1000;
constexpr size_t kMostNameBytes = 100;

v1::HistoryPoint PointOf(const Runs& runs, const Run& run) {
  v1::HistoryPoint point;
  *point.mutable_end_time() = schema::ToTimestamp(run.end_time);
  point.set_median(run.median);
  if (run.uncertainty) point.set_uncertainty(*run.uncertainty);
  point.set_driver_version(DriverOf(runs, run));
  point.set_result_id(run.result_id);
  point.set_excluded(run.excluded);
  return point;
}

v1::PlaceHistory HistoryMessage(const Runs& runs, const History& history) {
  v1::PlaceHistory message;
  *message.mutable_case_() = history.identity;
  *message.mutable_place() = history.place;
  for (const Run* run : history.runs) *message.add_points() = PointOf(runs, *run);
  for (const analysis::Step& step : StepsOf(runs, history)) {
    v1::HistoryStep& added = *message.add_steps();
    added = StepMessage(runs, history, step);
    const auto first =
        std::find(history.runs.begin(), history.runs.end(), history.used[step.first]);
    added.set_first_point(static_cast<int>(first - history.runs.begin()));
  }
  return message;
}

// Returns the unit for which prices are quoted for this case, PFLOP/s or TB/s, and the factor that
// converts the case's own unit to it. If the case does not measure such a rate, returns "" and
// nullopt.
std::pair<std::string, std::optional<double>> RateUnitOf(const v1::CaseIdentity& identity) {
  if (identity.direction() == v1::DIRECTION_LOWER_IS_BETTER) return {"", std::nullopt};
  for (const char* unit : {"PFLOP/s", "TB/s"}) {
    if (const auto factor = campaign::UnitFactor(identity.unit(), unit)) return {unit, factor};
  }
  return {"", std::nullopt};
}

// The histories of one case at one provider.
struct CostGroup {
  std::vector<const History*> histories;
  std::vector<double> prices;
  std::set<std::string> nodes;
  int runs = 0;
};

v1::CostRow RowOf(const std::string& provider, const CostGroup& group) {
  v1::CostRow row;
  *row.mutable_case_() = group.histories.front()->identity;
  row.set_provider(provider);
  row.set_median(MedianOverPlaces(group.histories));
  double price = 0;
  for (const double one : group.prices) price += one / static_cast<double>(group.prices.size());
  row.set_dollars_per_hour(price);
  const auto [unit, factor] = RateUnitOf(row.case_());
  if (factor && row.median() > 0) {
    row.set_rate_unit(unit);
    row.set_dollars_per_rate_hour(price / (row.median() * *factor));
  }
  row.set_places(static_cast<int>(group.histories.size()));
  row.set_nodes(static_cast<int>(group.nodes.size()));
  row.set_runs(group.runs);
  return row;
}

// Orders rows by case, and the rows of a case from cheapest to most expensive. Compares the prices
// per unit of performance (PFLOP/s or TB/s) or, if a row has none, the prices per hour.
bool IsCheaper(const v1::CostRow& a, const v1::CostRow& b) {
  const auto key = [](const v1::CostRow& row) {
    return std::tuple(
        row.case_().benchmark(), row.case_().metric(), CaseText(row.case_()),
        row.has_dollars_per_rate_hour() ? row.dollars_per_rate_hour() : row.dollars_per_hour());
  };
  return key(a) < key(b);
}

Status CheckName(const std::string& name) {
  if (name.empty()) return InvalidArgument("name: a baseline needs a name");
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (plain && name.size() <= kMostNameBytes) return Status::Ok();
  return InvalidArgument("name: " + Quote(name) +
                         " must be at most 100 letters, digits, \"-\", \"_\" and \".\", so that "
                         "accept rules can name it");
}

}  // namespace

Result<v1::GetHistoryResponse> Questions::GetHistory(const v1::GetHistoryRequest& request) const {
  if (request.place_limit() < 0 || request.place_limit() > kMostPlaces) {
    return InvalidArgument("place_limit must be 0 or from 1 to 1000");
  }
  ASSAY_ASSIGN_OR_RETURN(const Runs runs, environment_.analysis.ListRuns(request.filter()));
  std::vector<v1::PlaceHistory> histories;
  for (const History& history : SortIntoHistories(runs)) {
    histories.push_back(HistoryMessage(runs, history));
  }
  const auto limit =
      static_cast<size_t>(request.place_limit() == 0 ? kPlaces : request.place_limit());
  v1::GetHistoryResponse response;
  response.set_failed_count(runs.failed);
  if (histories.size() > limit) {
    response.set_remaining_count(static_cast<int>(histories.size() - limit));
    // Choose a sample that does not depend on the values, so that its median represents all places.
    std::sort(histories.begin(), histories.end(), [](const auto& a, const auto& b) {
      return RecordId(storage::PlaceKey(a.place())) < RecordId(storage::PlaceKey(b.place()));
    });
    histories.resize(limit);
  }
  ASSAY_ASSIGN_OR_RETURN(const PlaceIndices indices, PlaceIndices::Read(environment_));
  for (v1::PlaceHistory& history : histories) {
    indices.Complete(*history.mutable_place());
    *response.add_places() = std::move(history);
  }
  if (runs.runs.empty()) return response;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Annotation> annotations,
                         environment_.analysis.ListAnnotations(runs.runs.front().end_time,
                                                               environment_.clock.WallNow()));
  response.mutable_annotations()->Assign(annotations.begin(), annotations.end());
  return response;
}

Result<v1::GetCostsResponse> Questions::GetCosts(const v1::GetCostsRequest& request) const {
  ASSAY_ASSIGN_OR_RETURN(const Runs runs, environment_.analysis.ListRuns(request.filter()));
  ASSAY_ASSIGN_OR_RETURN(const Prices prices, Prices::Read(environment_));
  v1::GetCostsResponse response;
  // A node may have changed its provider or price, so keep the runs separate by provider and price.
  std::map<std::pair<std::string, double>, Runs> offers;
  for (const Run& run : runs.runs) {
    const storage::RunOrigin& origin = runs.origins[run.origin];
    Runs& offer = offers[{origin.provider, origin.price_per_hour.value_or(0)}];
    if (offer.runs.empty()) {
      offer.series = runs.series;
      offer.origins = runs.origins;
    }
    offer.runs.push_back(run);
  }
  std::list<std::vector<History>> histories;                        // Groups point to these.
  std::map<std::pair<std::string, std::string>, CostGroup> groups;  // By lineage and provider.
  for (const auto& [key, offer] : offers) {
    for (const History& history : histories.emplace_back(SortIntoHistories(offer))) {
      if (history.used.empty()) continue;
      const storage::RunOrigin& origin = offer.origins[history.used.back()->origin];
      const std::optional<double> price = prices.PerHour(history.identity, origin);
      const auto count = static_cast<int>(history.used.size());
      if (!price) {
        response.set_unpriced_runs(response.unpriced_runs() + count);
        continue;
      }
      CostGroup& group = groups[{history.identity.lineage_id(), origin.provider}];
      group.histories.push_back(&history);
      group.prices.push_back(*price);
      group.nodes.insert(origin.node_ids.begin(), origin.node_ids.end());
      group.runs += count;
    }
  }
  for (const auto& [key, group] : groups) *response.add_rows() = RowOf(key.second, group);
  std::sort(response.mutable_rows()->begin(), response.mutable_rows()->end(), IsCheaper);
  return response;
}

Result<v1::Baseline> Questions::CreateBaseline(const v1::CreateBaselineRequest& request,
                                               const std::string& created_by) const {
  ASSAY_RETURN_IF_ERROR(CheckName(request.name()));
  ASSAY_ASSIGN_OR_RETURN(const Runs runs, environment_.analysis.ListRuns(request.filter()));
  const std::vector<History> histories = SortIntoHistories(runs);
  std::map<std::string, std::vector<const History*>> cases;  // By lineage.
  for (const History& history : histories) {
    if (!history.used.empty()) cases[history.identity.lineage_id()].push_back(&history);
  }
  if (cases.empty()) {
    return NotFound("no measured result matches the filter, so the baseline would be empty");
  }
  v1::Baseline baseline;
  baseline.set_name(request.name());
  baseline.set_filter(request.filter());
  baseline.set_created_by(created_by);
  *baseline.mutable_create_time() = schema::ToTimestamp(environment_.clock.WallNow());
  for (const auto& [lineage, of_case] : cases) {
    v1::BaselineCase& one = *baseline.add_cases();
    *one.mutable_case_() = of_case.front()->identity;
    one.set_median(MedianOverPlaces(of_case));
    size_t count = 0;
    for (const History* history : of_case) count += history->used.size();
    one.set_runs(static_cast<int>(count));
    one.set_places(static_cast<int>(of_case.size()));
    baseline.set_run_count(baseline.run_count() + one.runs());
  }
  baseline.set_case_count(baseline.cases_size());
  ASSAY_RETURN_IF_ERROR(environment_.analysis.PutBaseline(baseline));
  return baseline;
}

}  // namespace assay::coordinator
