// The words of Conditions.flags: doubts about a result from the runner, the agent or an importer.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace assay::schema {

// All words that this program uses; tests/style/source_test.py compares the code with this list.
// Readers accept any word, because a newer agent may know more.
inline constexpr std::array<std::string_view, 14> kResultFlags = {
    "above_ceiling", "below_model",      "busy_host",  "disk_free",  "gpu_processes",
    "memory_free",   "pcie_generation",  "pcie_width", "row_remap",  "shared_gpu",
    "throttled",     "throttled_before", "unsettled",  "unverified",
};

// Doubts that tables show next to the flags and that follow from other fields, with the filter that
// finds them.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOtherDoubts = {{
    {"graph", "parameters.launch = graph"},
    {"hot_cache", "cache = hot"},
    {"imported", "imported = true"},
    {"noisy", "uncertainty > 0.025"},
    {"simulated", "simulated = true"},
    {"zeros", "fill = zeros"},
}};

}  // namespace assay::schema
