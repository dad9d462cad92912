// Lists every field that a campaign file may contain. The parser, the reference documentation and
// the JSON Schema are all based on this list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

struct CampaignField {
  enum class Kind { kText, kChoice, kInteger, kBoolean, kDuration, kNccl, kBenchmarks, kRules };

  std::string_view name;
  Kind kind;
  // The default value. "required" if there is none and the field must be given.
  std::string_view default_text;
  std::string_view description;
  // True if entries of `benchmarks` may also have this field, which then overrides the campaign's.
  bool in_entry = false;
  std::vector<std::string> choices = {};  // kChoice.
  int64_t minimum = 0;                    // kInteger, inclusive.
  int64_t maximum = 0;
};

// Returns all fields in the order of the reference documentation.
const std::vector<CampaignField>& CampaignFields();

// Returns the allowed words of a field of kind kChoice.
const std::vector<std::string>& ChoicesOf(std::string_view field);

}  // namespace assay::cli
