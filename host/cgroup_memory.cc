#include "host/cgroup_memory.h"

#include <algorithm>

#include "host/cgroups.h"
#include "host/proc_file.h"

namespace assay {
namespace {

// The files of one version. Without a limit version 2 says "max", version 1 almost 2^63.
struct Names {
  const char* limit;
  const char* usage;
  const char* cached;  // In memory.stat: of the group and those in it.
};
constexpr Names kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                             "total_inactive_file"};
constexpr Names kVersion2 = {"memory.max", "memory.current", "inactive_file"};
constexpr int64_t kNoLimit = int64_t{1} << 62;

void Lower(std::optional<int64_t>* least, int64_t value) {
  *least = std::min(least->value_or(value), value);
}

void Count(const Names& names, const std::string& folder, CgroupMemory* memory) {
  auto limit = NumberIn(folder + "/" + names.limit);
  // Version 1 tells here what groups around the own allow, even those that are not seen.
  const auto around = NumberOf("hierarchical_memory_limit", folder + "/memory.stat");
  if (limit && around) limit = std::min(*limit, *around);
  if (!limit || *limit >= kNoLimit) return;
  Lower(&memory->limit_bytes, *limit);
  const auto used = NumberIn(folder + "/" + names.usage);
  if (!used) return;
  const int64_t cached = NumberOf(names.cached, folder + "/memory.stat").value_or(0);
  Lower(&memory->left_bytes, std::clamp<int64_t>(*limit - *used + cached, 0, *limit));
}

}  // namespace

CgroupMemory ReadCgroupMemory(const std::string& root) {
  CgroupMemory memory;
  for (const CgroupFolder& folder : CgroupFolders("memory", root)) {
    Count(folder.version_2 ? kVersion2 : kVersion1, folder.path, &memory);
  }
  return memory;
}

}  // namespace assay
