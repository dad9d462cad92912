// The words of Conditions.flags: doubts that runners, agents and importers put on results.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace assay::schema {

// All of them; tests/style/source_test.py holds the code to this list. Newer agents and other
// importers may have more, so readers take any word.
inline constexpr std::array<std::string_view, 14> kResultFlags = {
    "above_ceiling", "below_model",      "busy_host",  "disk_free",  "gpu_processes",
    "memory_free",   "pcie_generation",  "pcie_width", "row_remap",  "shared_gpu",
    "throttled",     "throttled_before", "unsettled",  "unverified",
};

// Doubts that tables tell beside the flags, which the rest of a result says, and the filter
// that finds them.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOtherDoubts = {{
    {"graph", "parameters.launch = graph"},
    {"hot_cache", "cache = hot"},
    {"imported", "imported = true"},
    {"noisy", "uncertainty > 0.025"},
    {"simulated", "simulated = true"},
    {"zeros", "fill = zeros"},
}};

}  // namespace assay::schema
