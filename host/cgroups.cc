#include "host/cgroups.h"

#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace assay {
namespace {

// One hierarchy of groups.
struct Hierarchy {
  bool version_2 = false;
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
std::vector<Hierarchy> ReadHierarchies(const std::string& controller, const std::string& proc) {
  std::vector<Hierarchy> hierarchies;
  std::ifstream file(proc + "/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string own = line.substr(second + 1);
    if (HasWord(controllers, controller)) hierarchies.push_back({false, own});
    if (controllers.empty()) hierarchies.push_back({true, own});
  }
  return hierarchies;
}

// Lines "32 31 0:29 ROOT PLACE options... - cgroup2 SOURCE options", or "- cgroup SOURCE
// rw,memory" of version 1.
std::vector<Mount> ReadMounts(const std::string& controller, const std::string& proc,
                              bool version_2) {
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
        version_2 ? type == "cgroup2" : type == "cgroup" && HasWord(options, controller);
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

}  // namespace

std::vector<CgroupFolder> CgroupFolders(const std::string& controller, const std::string& root) {
  std::vector<CgroupFolder> folders;
  const std::string proc = root + "/proc/self";
  for (const Hierarchy& hierarchy : ReadHierarchies(controller, proc)) {
    for (const Mount& mount : ReadMounts(controller, proc, hierarchy.version_2)) {
      std::string below = Below(mount.root, hierarchy.own).value_or("");
      for (;;) {
        folders.push_back({hierarchy.version_2, root + mount.place + below});
        if (below.empty()) break;
        below.erase(below.rfind('/'));
      }
    }
  }
  return folders;
}

}  // namespace assay
