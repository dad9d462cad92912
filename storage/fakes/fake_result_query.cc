#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "storage/fakes/fake_stores.h"
#include "storage/result_order.h"
#include "wire/result_filter.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

using nlohmann::json;
using schema::FieldType;
using schema::FieldValue;

// Returns the value of a field of ParseResultOrder or CheckGroups.
FieldValue ValueOf(const std::string& name, const v1::StoredResult& stored) {
  const schema::NamedField named = *schema::FilterableField(name);
  FieldValue value = named.field->Value(stored);
  if (named.field->type != FieldType::kMap) return value;
  return value.is_null() || !value.contains(named.key) ? FieldValue() : value[named.key];
}

std::string TextOf(const FieldValue& value) {
  return value.is_null() ? "" : schema::FieldText(value);
}

json NumberOf(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? json(number) : json();
}

// Returns the parts of a dotted version, or null.
json VersionOf(const std::string& text) {
  json parts = json::array();
  for (const char* at = text.data();; ++at) {
    int64_t part = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), part);
    if (error != std::errc() || part < 0) return {};
    parts.push_back(part);
    at = end;
    if (at == text.data() + text.size()) return parts;
    if (*at != '.') return {};
  }
}

// Returns what a field adds to the keys of a ResultPosition.
std::vector<json> KeysOf(const std::string& name, const v1::StoredResult& stored) {
  const FieldType type = schema::FilterableField(name)->field->type;
  const FieldValue value = ValueOf(name, stored);
  const bool two = type == FieldType::kVersion || type == FieldType::kMap;
  if (value.is_null()) return std::vector<json>(two ? 2 : 1);
  const std::string text = TextOf(value);
  switch (type) {
    case FieldType::kNumber:
      return {value.get<double>()};
    case FieldType::kBoolean:
      return {value.get<bool>() ? 1 : 0};
    case FieldType::kTime:
      return {schema::SecondsSince1970(*schema::ParseTime(value.get<std::string>()))};
    case FieldType::kVersion:
      return {VersionOf(text), text};
    case FieldType::kMap:
      return {NumberOf(text), text};
    default:
      return {text};
  }
}

// The order of a list: a direction for each key of a ResultPosition.
struct Order {
  std::vector<bool> descending;

  // Returns whether `a` comes before `b`.
  bool operator()(const ResultPosition& a, const ResultPosition& b) const {
    for (size_t i = 0; i < descending.size(); ++i) {
      const json& left = a.keys[i];
      const json& right = b.keys[i];
      if (left.is_null() != right.is_null()) return right.is_null();
      if (left != right) return descending[i] ? right < left : left < right;
    }
    return a.sequence > b.sequence;
  }
};

int CountOf(const std::set<std::string>& texts) { return static_cast<int>(texts.size()); }

// Returns whether `a` is better than `b` by the direction of their metric.
bool Better(const v1::StoredResult& a, const v1::StoredResult& b) {
  const v1::Measurement& left = a.case_result().measurements(0);
  const v1::Measurement& right = b.case_result().measurements(0);
  return left.direction() == v1::DIRECTION_LOWER_IS_BETTER ? left.median() < right.median()
                                                           : left.median() > right.median();
}

void SetMedians(std::vector<double> medians, v1::ResultGroup& group) {
  if (medians.empty()) return;
  std::sort(medians.begin(), medians.end());
  // Interpolates as PostgreSQL's percentile_cont does.
  const auto percentile = [&](double fraction) {
    const double at = fraction * static_cast<double>(medians.size() - 1);
    const auto below = static_cast<size_t>(at);
    const double above = medians[std::min(below + 1, medians.size() - 1)];
    return medians[below] + (at - static_cast<double>(below)) * (above - medians[below]);
  };
  group.set_p05(percentile(0.05));
  group.set_median(percentile(0.5));
  group.set_p95(percentile(0.95));
  group.set_low(medians.front());
  group.set_high(medians.back());
}

// Summarizes results, which are sorted newest first.
v1::ResultGroup GroupOf(const std::vector<const v1::StoredResult*>& results) {
  v1::ResultGroup group;
  std::set<std::string> nodes, gpus;
  std::vector<double> medians;
  const v1::StoredResult* best = nullptr;
  WallTime newest{};
  for (const v1::StoredResult* stored : results) {
    const v1::CaseResult& result = stored->case_result();
    nodes.insert(result.provenance().node_ids().begin(), result.provenance().node_ids().end());
    gpus.insert(result.provenance().gpu_uuids().begin(), result.provenance().gpu_uuids().end());
    newest = std::max(newest, schema::FromTimestamp(result.end_time()));
    if (result.outcome() != v1::CASE_OUTCOME_OK) {
      group.set_failed_count(group.failed_count() + 1);
    } else if (!result.measurements().empty()) {
      medians.push_back(result.measurements(0).median());
      if (best == nullptr || Better(*stored, *best)) best = stored;
    }
  }
  group.set_result_count(static_cast<int>(results.size()));
  group.set_node_count(CountOf(nodes));
  group.set_gpu_count(CountOf(gpus));
  *group.mutable_best() = WithoutSamples(best == nullptr ? *results.front() : *best);
  if (newest != WallTime{}) *group.mutable_newest_time() = schema::ToTimestamp(newest);
  SetMedians(std::move(medians), group);
  return group;
}

}  // namespace

Result<std::vector<const FakeDatabase::ResultRow*>> FakeResultStore::Find(const std::string& text) {
  ASSAY_ASSIGN_OR_RETURN(const Filter filter, schema::ParseResultFilter(text));
  std::vector<const FakeDatabase::ResultRow*> found;
  for (auto it = database_.results.rbegin(); it != database_.results.rend(); ++it) {
    ASSAY_ASSIGN_OR_RETURN(const bool matches, schema::MatchesResult(filter, it->stored));
    if (matches) found.push_back(&*it);
  }
  return found;
}

Result<ResultPage> FakeResultStore::List(const std::string& filter, const PageRequest& request,
                                         const std::string& order_text) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(const std::vector<const FakeDatabase::ResultRow*> found, Find(filter));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<OrderField> fields, ParseResultOrder(order_text));
  std::optional<ResultPosition> after;
  if (!request.token.empty()) {
    ASSAY_ASSIGN_OR_RETURN(after, ParseResultToken(order_text, request.token));
  }
  Order order;
  std::vector<std::pair<ResultPosition, const v1::StoredResult*>> sorted;
  for (const FakeDatabase::ResultRow* row : found) {
    ResultPosition position{"", row->sequence, json::array()};
    order.descending.clear();
    for (const OrderField& field : fields) {
      for (json& key : KeysOf(field.name, row->stored)) {
        position.keys.push_back(std::move(key));
        order.descending.push_back(field.descending);
      }
    }
    sorted.emplace_back(std::move(position), &row->stored);
  }
  if (after && !sorted.empty() && after->keys.size() != order.descending.size()) {
    return ParseResultToken("", "").status();
  }
  if (after) {
    std::erase_if(sorted, [&](const auto& one) { return !order(*after, one.first); });
  }
  std::sort(sorted.begin(), sorted.end(),
            [&](const auto& a, const auto& b) { return order(a.first, b.first); });
  PageFiller<v1::StoredResult> filler('r', request);
  size_t taken = 0;
  while (taken < sorted.size() && filler.Add(WithoutSamples(*sorted[taken].second), 0)) ++taken;
  ResultPage page{std::move(filler).Take(), 0};
  if (page.next_token.empty()) return page;
  page.next_token = MakeResultToken(order_text, sorted[taken - 1].first);
  page.remaining = std::min(static_cast<int>(sorted.size() - taken), kMaxCountedResults);
  return page;
}

Result<v1::GroupResultsResponse> FakeResultStore::Group(const v1::GroupResultsRequest& request) {
  MutexLock lock(database_.mutex);
  ASSAY_RETURN_IF_ERROR(CheckGroups(request));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<const FakeDatabase::ResultRow*> found,
                         Find(request.filter()));
  std::map<std::vector<std::string>, std::vector<const v1::StoredResult*>> members;
  for (const FakeDatabase::ResultRow* row : found) {
    std::vector<std::string> key;
    for (const char* field : {"benchmark", "parameters", "metric", "unit", "cache", "fill"}) {
      key.push_back(schema::FindResultField(field)->Value(row->stored).dump());
    }
    for (const std::string& name : request.group_by()) {
      key.push_back(TextOf(ValueOf(name, row->stored)));
    }
    members[std::move(key)].push_back(&row->stored);
  }
  std::vector<v1::ResultGroup> groups;
  for (const auto& [key, results] : members) {
    groups.push_back(GroupOf(results));
    for (auto value = key.end() - request.group_by_size(); value != key.end(); ++value) {
      groups.back().add_values(*value);
    }
  }
  return MakeGroupResponse(request, std::move(groups));
}

Result<FieldValues> FakeResultStore::ListValues(const std::string& field, int limit,
                                                bool simulated) {
  constexpr size_t kMostCharacters = 200;
  ASSAY_RETURN_IF_ERROR(CheckListedField(field));
  MutexLock lock(database_.mutex);
  std::set<std::string> values;
  for (const FakeDatabase::ResultRow& row : database_.results) {
    if (row.stored.case_result().provenance().simulated() != simulated) continue;
    for (const std::string& value : schema::FilterValues(ValueOf(field, row.stored))) {
      values.insert(value.substr(0, kMostCharacters));
    }
  }
  FieldValues found;
  found.truncated = values.size() > static_cast<size_t>(limit);
  for (const std::string& value : values) {
    if (found.values.size() == static_cast<size_t>(limit)) break;
    found.values.push_back(value);
  }
  return found;
}

}  // namespace assay::storage
