// JSON from anywhere, in bounds, and its members with errors that say where they stand.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/status.h"

namespace assay::imports {

using Json = nlohmann::json;

// Of an object: at most 20 levels and a million values, from `text` that LinesOf takes.
// The error names the line where it stops to be JSON: a file that was cut short stops at
// its last one.
Result<Json> ParseJson(std::string_view text);

// The member `name` of `object`; `where` completes "WHERE has no `name`". Valid as long as
// `object`.
Result<const Json*> MemberOf(const Json& object, const std::string& name, const std::string& where);

// Its value. Numbers are finite, from 0 to 1e15, and may be spelled as text; integers are
// from `least` to 2^53; texts have at most 1,000 bytes
// and no control characters.
Result<double> JsonNumber(const Json& object, const std::string& name, const std::string& where);
Result<int64_t> JsonInteger(const Json& object, const std::string& name, const std::string& where,
                            int64_t least = 0);
Result<std::string> JsonText(const Json& object, const std::string& name, const std::string& where);
Result<const Json*> JsonArray(const Json& object, const std::string& name,
                              const std::string& where);

// `value` as a number in those bounds; `what` completes "WHAT is ...".
Result<double> ToNumber(const Json& value, const std::string& what);

}  // namespace assay::imports
