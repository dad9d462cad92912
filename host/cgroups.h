// Where the control groups of this process are.
#pragma once

#include <string>
#include <vector>

namespace assay {

// The folder of a group, with its files.
struct CgroupFolder {
  bool version_2 = false;
  std::string path;
};

// Of the hierarchies that have `controller` ("memory"), and of version 2: the process's own group
// and all groups around it that it sees, from the innermost on. Versions 1 and 2, both if both are
// mounted, with or without a namespace of their own. Reads `root`/proc/self and tells folders under
// `root` that are mounted according to it.
std::vector<CgroupFolder> CgroupFolders(const std::string& controller, const std::string& root);

}  // namespace assay
