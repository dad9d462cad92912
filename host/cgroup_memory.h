// What the control groups of this process let it take of the host's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Of the process's own group and of all groups around it that it sees, the least. Absent
// where no group has a limit, or the kernel does not tell.
struct CgroupMemory {
  std::optional<int64_t> limit_bytes;
  // What is left of a limit, page cache that gives way not counted as used.
  std::optional<int64_t> left_bytes;
};

// Of versions 1 and 2; `root` as of CgroupFolders.
CgroupMemory ReadCgroupMemory(const std::string& root = "");

}  // namespace assay
