// The text in which measured ceilings of one GPU outlive the process, in a cache file.
#pragma once

#include <map>
#include <string>

#include "common/clock.h"

namespace assay {

// One measured ceiling: FLOP/s or B/s.
struct MeasuredCeiling {
  double per_second = 0;
  WallTime measured_at{};
};

// By kind: "copy", "bf16"; see GpuPlatform::MeasureCeiling.
using CeilingMap = std::map<std::string, MeasuredCeiling>;

// What the ceilings of a file hold for. All of it is written into the file, and a file
// of anything else is as good as none.
struct CeilingOwner {
  std::string uuid;
  std::string driver;
  std::string power_limit_watts;
  std::string software;  // Versions of the runner and of what it probes with.
};

// JSON of one line. `owner` holds no character that JSON escapes.
std::string CeilingFileText(const CeilingOwner& owner, const CeilingMap& ceilings);

// What CeilingFileText wrote for the same owner. Empty for every other text: of another
// owner, cut off, changed by hand.
CeilingMap ParseCeilingFile(const CeilingOwner& owner, const std::string& text);

}  // namespace assay
