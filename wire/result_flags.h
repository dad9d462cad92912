// Warning flags of results (Conditions.flags), set by the runner, the agent or an importer.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace assay::schema {

// All warning flags that this version of Assay may attach to a result. tests/style/source_test.py
// checks that the list matches the code. Readers of results must accept unknown flags, because
// newer agents may attach flags that are not listed here.
inline constexpr std::array<std::string_view, 14> kResultFlags = {
    "above_ceiling", "below_model",      "busy_host",  "disk_free",  "gpu_processes",
    "memory_free",   "pcie_generation",  "pcie_width", "row_remap",  "shared_gpu",
    "throttled",     "throttled_before", "unsettled",  "unverified",
};

// Further warnings that tables show alongside a result's flags. They are not stored as flags,
// because they follow from other fields of the result. Each name is paired with a filter that finds
// the affected results.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOtherDoubts = {{
    {"graph", "parameters.launch = graph"},
    {"hot_cache", "cache = hot"},
    {"imported", "imported = true"},
    {"noisy", "uncertainty > 0.025"},
    {"simulated", "simulated = true"},
    {"zeros", "fill = zeros"},
}};

}  // namespace assay::schema
