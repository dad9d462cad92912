#include "agent/data_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/file.h"
#include "common/uuid.h"

namespace assay::agent {
namespace {

Status FileError(const std::string& what, const std::string& path) {
  return Internal("cannot " + what + " " + path + ": " + std::strerror(errno), Reason::kDataFolder);
}

// Written under another name first: a truncated id would be a new node.
Result<std::string> MakeNodeId(const std::string& path) {
  const std::string id = NewUuid();
  const std::string text = id + "\n";
  const std::string unfinished = path + ".tmp";
  const FileDescriptor file(
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid() ||
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.get()) != 0) {
    return FileError("write", unfinished);
  }
  if (::rename(unfinished.c_str(), path.c_str()) != 0) return FileError("rename", unfinished);
  return id;
}

}  // namespace

DataFolder::DataFolder(std::string path, FileDescriptor lock, std::string node_id)
    : path_(std::move(path)), lock_(std::move(lock)), node_id_(std::move(node_id)) {}

Result<DataFolder> DataFolder::Open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return Internal("cannot make the data folder " + path + ": " + error.message(),
                    Reason::kDataFolder);
  }
  const std::string lock_path = path + "/lock";
  FileDescriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) return FileError("open", lock_path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return FailedPrecondition("another agent runs on the data folder " + path,
                              Reason::kDataFolderInUse)
        .WithHint("stop it, or give this one a folder of its own with --data");
  }
  const std::string id_path = path + "/node_id";
  if (!std::filesystem::exists(id_path, error)) {
    ASSAY_ASSIGN_OR_RETURN(std::string id, MakeNodeId(id_path));
    return DataFolder(path, std::move(lock), std::move(id));
  }
  ASSAY_ASSIGN_OR_RETURN(std::string id, ReadFile(id_path));
  while (!id.empty() && (id.back() == '\n' || id.back() == ' ')) id.pop_back();
  if (!IsUuid(id)) {
    return FailedPrecondition(id_path + " holds no node id (a UUID)", Reason::kDataFolder)
        .WithHint("restore it, or remove the file to make this a new node");
  }
  return DataFolder(path, std::move(lock), std::move(id));
}

}  // namespace assay::agent
