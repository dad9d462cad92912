// Sorts and groups results, and makes page tokens for lists of results. Shared by all
// implementations of ResultStore.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"
#include "common/status.h"
#include "wire/result_filter.h"

namespace assay::storage {

// A field by which results are sorted. Results without a value come last in both directions.
struct OrderField {
  std::string name;  // As in a filter.
  bool descending = false;
};

// Parses a sort order in AIP-132 syntax, such as "median desc, node". Allows up to four fields, all
// of which must be supported by filters. Returns INVALID_ARGUMENT with reason UNKNOWN_FIELD or
// BAD_FILTER if the order is invalid.
Result<std::vector<OrderField>> ParseResultOrder(const std::string& text);

// The position of a result in a sorted list. It stays valid after the result is deleted.
struct ResultPosition {
  // The time when the result was stored, in the format of the store.
  std::string ts;
  // Results of the same `ts` are sorted by this number.
  int64_t sequence = 0;
  // The values of this result's sort fields, with null for missing values. Each store decides how
  // many values a field has, and in which format.
  nlohmann::json keys = nlohmann::json::array();
};

// Returns the token of the page after `position`, in a list sorted by `order`.
std::string MakeResultToken(const std::string& order, const ResultPosition& position);

// Returns INVALID_ARGUMENT if the token was not made for the same order.
Result<ResultPosition> ParseResultToken(const std::string& order, const std::string& token);

// Returns INVALID_ARGUMENT if a field cannot make groups, or if the limit is not allowed.
Status CheckGroups(const v1::GroupResultsRequest& request);

// Returns whether ResultStore::ListValues can list the values of a field. Such fields are texts
// that many results share and that describe the case, its hardware or where it ran.
bool HasListedValues(const schema::NamedField& named);
// Returns INVALID_ARGUMENT if HasListedValues is false for the field.
Status CheckListedField(const std::string& name);

// Returns the maximum number of groups in a response.
int GroupLimit(const v1::GroupResultsRequest& request);

// Sorts groups in the order documented in GroupResultsResponse and puts them into a response. Caps
// the response at GroupLimit groups and at a size not much larger than kMaxPageBytes.
v1::GroupResultsResponse MakeGroupResponse(const v1::GroupResultsRequest& request,
                                           std::vector<v1::ResultGroup> groups);

}  // namespace assay::storage
