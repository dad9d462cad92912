#include "host/cgroups.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "common/file.h"

namespace assay {
namespace {

// Returns the path of the process's group, from the line "0::/a/b" of /proc/self/cgroup.
std::optional<std::string> OwnGroup(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  }
  return std::nullopt;
}

// A mount of the hierarchy: `folder` shows the group `group`.
struct Mount {
  std::string group;
  std::string folder;
};

// Reads lines "32 31 0:29 GROUP FOLDER options... - cgroup2 SOURCE options".
std::optional<Mount> FindMount(const std::string& root) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string skipped;
    Mount mount;
    fields >> skipped >> skipped >> skipped >> mount.group >> mount.folder;
    if (fields) return mount;
  }
  return std::nullopt;
}

// Returns the path of `group` relative to `ancestor`: "/b" for group /a/b and ancestor /a, or "" if
// they are the same. Also returns "" if `group` is not below `ancestor`, as can happen in a
// container.
std::string Relative(const std::string& ancestor, const std::string& group) {
  const std::string prefix = ancestor == "/" ? "" : ancestor;
  if (group.rfind(prefix, 0) != 0) return "";
  const std::string rest = group.substr(prefix.size());
  const bool descends = rest.size() > 1 && rest[0] == '/' && rest.find("/..") == std::string::npos;
  return descends ? rest : "";
}

// Folders of the process's group and of its visible ancestors, innermost first.
std::vector<std::string> GroupFolders(const std::string& root) {
  const auto own = OwnGroup(root);
  const auto mount = FindMount(root);
  if (!own || !mount) return {};
  std::vector<std::string> folders;
  for (std::string path = Relative(mount->group, *own);; path.erase(path.rfind('/'))) {
    folders.push_back(root + mount->folder + path);
    if (path.empty()) return folders;
  }
}

void Tighten(std::optional<int64_t>* limit, int64_t value) {
  *limit = std::min(limit->value_or(value), value);
}

}  // namespace

std::vector<CpuQuota> ReadCpuQuotas(const std::string& root) {
  std::vector<CpuQuota> quotas;
  for (const std::string& folder : GroupFolders(root)) {
    std::ifstream file(folder + "/cpu.max");  // "150000 100000" or "max 100000".
    double quota = 0;
    double period = 0;
    // Identify the control group by its inode, because different containers may see different
    // groups at the same path.
    struct stat status {};
    if (!(file >> quota >> period) || quota <= 0 || period <= 0) continue;
    if (stat(folder.c_str(), &status) != 0) continue;
    quotas.push_back(
        {std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino), quota / period});
  }
  return quotas;
}

CgroupMemory ReadCgroupMemory(const std::string& root) {
  CgroupMemory memory;
  for (const std::string& folder : GroupFolders(root)) {
    const auto limit = NumberIn(folder + "/memory.max");  // Or "max".
    if (!limit) continue;
    Tighten(&memory.limit_bytes, *limit);
    const auto used = NumberIn(folder + "/memory.current");
    if (!used) continue;
    const int64_t cached = NumberOf("inactive_file", folder + "/memory.stat").value_or(0);
    Tighten(&memory.left_bytes, std::clamp<int64_t>(*limit - *used + cached, 0, *limit));
  }
  return memory;
}

}  // namespace assay
