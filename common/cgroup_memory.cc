#include "common/cgroup_memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "common/proc_file.h"

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

// One hierarchy of groups that counts memory.
struct Hierarchy {
  Names names;
  std::string own;  // The process's group, as /proc/self/cgroup names it.
};

// A mount of a hierarchy: its group `root` is what the folder `place` shows.
struct Mount {
  std::string root;
  std::string place;
};

bool HasWord(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// Lines "4:memory:/a/b" of version 1, "0::/a/b" of version 2.
std::vector<Hierarchy> ReadHierarchies(const std::string& proc) {
  std::vector<Hierarchy> hierarchies;
  std::ifstream file(proc + "/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string own = line.substr(second + 1);
    if (HasWord(controllers, "memory")) hierarchies.push_back({kVersion1, own});
    if (controllers.empty()) hierarchies.push_back({kVersion2, own});
  }
  return hierarchies;
}

// Lines "32 31 0:29 ROOT PLACE options... - cgroup2 SOURCE options", or "- cgroup SOURCE
// rw,memory" of version 1.
std::vector<Mount> ReadMounts(const std::string& proc, bool version_2) {
  std::vector<Mount> mounts;
  std::ifstream file(proc + "/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash));
    std::istringstream after(line.substr(dash + 3));
    std::string skipped;
    Mount mount;
    std::string type;
    std::string options;
    before >> skipped >> skipped >> skipped >> mount.root >> mount.place;
    after >> type >> skipped >> options;
    const bool wanted =
        version_2 ? type == "cgroup2" : type == "cgroup" && HasWord(options, "memory");
    if (wanted && !mount.place.empty()) mounts.push_back(std::move(mount));
  }
  return mounts;
}

// `group` as seen below `root`: "" for the same, "/b" for /a/b below /a; absent if it is not
// below it, as where a container shows only its own group and tells its name on the host.
std::optional<std::string> Below(const std::string& root, const std::string& group) {
  const std::string prefix = root == "/" ? "" : root;
  if (group.rfind(prefix, 0) != 0) return std::nullopt;
  std::string rest = group.substr(prefix.size());
  if (rest == "/") rest.clear();
  if (!rest.empty() && rest[0] != '/') return std::nullopt;
  if (rest.find("/..") != std::string::npos) return std::nullopt;
  return rest;
}

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

// From the process's own group up to the outermost that `mount` shows.
void WalkUp(const Names& names, const std::string& place, std::string below, CgroupMemory* memory) {
  for (;;) {
    Count(names, place + below, memory);
    if (below.empty()) return;
    below.erase(below.rfind('/'));
  }
}

}  // namespace

CgroupMemory ReadCgroupMemory(const std::string& root) {
  CgroupMemory memory;
  const std::string proc = root + "/proc/self";
  for (const Hierarchy& hierarchy : ReadHierarchies(proc)) {
    const bool version_2 = hierarchy.names.limit == kVersion2.limit;
    for (const Mount& mount : ReadMounts(proc, version_2)) {
      const std::string below = Below(mount.root, hierarchy.own).value_or("");
      WalkUp(hierarchy.names, root + mount.place, below, &memory);
    }
  }
  return memory;
}

}  // namespace assay
