// The fields of a campaign file: the one list for its reader, the reference and the JSON Schema.
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
  // The value if the field is not given; "required" if it must be given.
  std::string_view default_text;
  std::string_view description;
  // An entry of `benchmarks` may have the field too, which then overrides the campaign's.
  bool in_entry = false;
  std::vector<std::string> choices = {};  // kChoice.
  int64_t minimum = 0;                    // kInteger, inclusive.
  int64_t maximum = 0;
};

// In the order of the reference.
const std::vector<CampaignField>& CampaignFields();

// The words of a field of kind kChoice.
const std::vector<std::string>& ChoicesOf(std::string_view field);

}  // namespace assay::cli
