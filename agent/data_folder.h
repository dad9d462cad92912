// The agent's folder on disk: the node's identity and its spool.
#pragma once

#include <string>

#include "common/status.h"
#include "common/subprocess.h"

namespace assay::agent {

// An agent's folder, locked during the object's life; a second agent is refused.
class DataFolder {
 public:
  // Creates the folder, and the node's id in it, if they do not exist.
  static Result<DataFolder> Open(const std::string& path);

  const std::string& node_id() const { return node_id_; }
  const std::string& path() const { return path_; }
  std::string spool() const { return path_ + "/spool"; }

 private:
  DataFolder(std::string path, FileDescriptor lock, std::string node_id);

  std::string path_;
  FileDescriptor lock_;
  std::string node_id_;
};

}  // namespace assay::agent
