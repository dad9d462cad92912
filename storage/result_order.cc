#include "storage/result_order.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "common/text.h"
#include "model/filter.h"
#include "model/page.h"
#include "wire/result_filter.h"

namespace assay::storage {
namespace {

constexpr size_t kMaxFields = 4;
constexpr int kMaxGroups = 10'000;
constexpr int kDefaultGroups = 1000;
constexpr size_t kShownBytes = 80;

int CompareParameters(const v1::CaseResult& a, const v1::CaseResult& b) {
  const std::map<std::string, std::string> left(a.parameters().begin(), a.parameters().end());
  const std::map<std::string, std::string> right(b.parameters().begin(), b.parameters().end());
  auto i = left.begin();
  auto j = right.begin();
  for (; i != left.end() && j != right.end(); ++i, ++j) {
    if (i->first != j->first) return i->first < j->first ? -1 : 1;
    if (const int order = CompareValues(i->second, j->second); order != 0) return order;
  }
  return i != left.end() ? 1 : j != right.end() ? -1 : 0;
}

// Returns the key by which groups with the same benchmark and parameters are sorted.
std::vector<std::string> MetricKey(const v1::CaseResult& result) {
  if (result.measurements().empty()) return {};
  const v1::Measurement& measurement = result.measurements(0);
  return {measurement.metric(), measurement.unit(), measurement.method().cache(),
          measurement.method().fill()};
}

bool Before(const v1::ResultGroup& a, const v1::ResultGroup& b) {
  const v1::CaseResult& left = a.best().case_result();
  const v1::CaseResult& right = b.best().case_result();
  if (left.benchmark() != right.benchmark()) return left.benchmark() < right.benchmark();
  if (const int order = CompareParameters(left, right); order != 0) return order < 0;
  const std::vector<std::string> metric = MetricKey(left);
  const std::vector<std::string> other = MetricKey(right);
  if (metric != other) return metric < other;
  for (int i = 0; i < std::min(a.values_size(), b.values_size()); ++i) {
    const int order = CompareValues(a.values(i), b.values(i));
    if (order != 0) return order < 0;
  }
  return false;
}

Status TooManyFields(const std::string& where) {
  return InvalidArgument(where + ": at most 4 fields are allowed", Reason::kBadFilter);
}

}  // namespace

Result<std::vector<OrderField>> ParseResultOrder(const std::string& text) {
  std::vector<OrderField> fields;
  if (text.empty()) return fields;
  for (const std::string_view part : Split(text, ',')) {
    std::istringstream words{std::string(part)};
    std::string name, direction, more;
    words >> name >> direction >> more;
    const bool known = direction.empty() || direction == "desc" || direction == "asc";
    if (name.empty() || !known || !more.empty()) {
      return InvalidArgument("order_by: " + Quote(part.substr(0, kShownBytes)) +
                                 " is not a field with an optional \"desc\"",
                             Reason::kBadFilter)
          .WithHint("write for example \"median desc, node\"");
    }
    ASSAY_RETURN_IF_ERROR(schema::FindFilterableField("order_by", name).status());
    fields.push_back({name, direction == "desc"});
  }
  if (fields.size() > kMaxFields) return TooManyFields("order_by");
  return fields;
}

std::string MakeResultToken(const std::string& order, const ResultPosition& position) {
  return "r" + nlohmann::json({order, position.ts, position.sequence, position.keys}).dump();
}

Result<ResultPosition> ParseResultToken(const std::string& order, const std::string& token) {
  const Status bad =
      InvalidArgument("the page token was not returned by this list", Reason::kBadPageToken);
  if (!token.starts_with('r')) return bad;
  const nlohmann::json json = nlohmann::json::parse(token.substr(1), nullptr, false);
  const bool valid = json.is_array() && json.size() == 4 && json[0] == order &&
                     json[1].is_string() && json[2].is_number_integer() && json[3].is_array();
  if (!valid) return bad;
  return ResultPosition{json[1], json[2], json[3]};
}

Status CheckGroups(const v1::GroupResultsRequest& request) {
  if (request.limit() < 0 || request.limit() > kMaxGroups) {
    return InvalidArgument("limit is " + std::to_string(request.limit()) +
                           "; it must be 0 or from 1 to 10000");
  }
  if (request.group_by_size() > static_cast<int>(kMaxFields)) return TooManyFields("group_by");
  for (const std::string& name : request.group_by()) {
    ASSAY_ASSIGN_OR_RETURN(const schema::NamedField named,
                           schema::FindFilterableField("group_by", name));
    if (named.field->type != schema::FieldType::kTime) continue;
    return InvalidArgument("group_by: `" + name + "` is a time, which makes no groups",
                           Reason::kBadFilter)
        .WithHint("restrict the time by the filter");
  }
  return Status::Ok();
}

bool HasListedValues(const schema::NamedField& named) {
  using enum schema::FieldType;
  using enum schema::StoredIn;
  if (named.field->name == "campaign" || !named.key.empty()) return true;
  const schema::FieldType type = named.field->type;
  const schema::StoredIn table = named.field->stored_in;
  return (type == kText || type == kTexts || type == kVersion || type == kNameWithVersion) &&
         (table == kSeries || table == kEnvironment || table == kOrigin);
}

Status CheckListedField(const std::string& name) {
  ASSAY_ASSIGN_OR_RETURN(const schema::NamedField named,
                         schema::FindFilterableField("fields", name));
  if (HasListedValues(named)) return Status::Ok();
  return InvalidArgument("fields: the values of `" + name + "` are not listed", Reason::kBadFilter);
}

int GroupLimit(const v1::GroupResultsRequest& request) {
  return request.limit() == 0 ? kDefaultGroups : request.limit();
}

v1::GroupResultsResponse MakeGroupResponse(const v1::GroupResultsRequest& request,
                                           std::vector<v1::ResultGroup> groups) {
  std::stable_sort(groups.begin(), groups.end(), Before);
  v1::GroupResultsResponse response;
  size_t bytes = 0;
  for (v1::ResultGroup& group : groups) {
    if (response.groups_size() == GroupLimit(request) || bytes >= kMaxPageBytes) {
      response.set_truncated(true);
      break;
    }
    bytes += group.ByteSizeLong();
    *response.add_groups() = std::move(group);
  }
  return response;
}

}  // namespace assay::storage
