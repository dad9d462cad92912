#include "cli/up/data_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "common/file.h"

namespace assay::cli {

Result<DataFolder> OpenDataFolder(const std::string& path) {
  std::error_code error;
  DataFolder folder;
  folder.path = std::filesystem::absolute(path, error).lexically_normal().string();
  if (error) return InvalidArgument("cannot make the folder " + path + ": " + error.message());
  // PostgreSQL refuses to run as root. So if this process runs as root, PostgreSQL runs as another
  // user, who needs permission to traverse this folder to reach PostgreSQL's own.
  Status made = MakePrivateFolder(folder.path, ::geteuid() == 0 ? 0711 : 0700);
  if (made.ok()) made = MakePrivateFolder(folder.path + "/log");
  if (!made.ok()) return InvalidArgument(made.message());
  const std::string lock_path = folder.path + "/up.lock";
  folder.lock = FileDescriptor(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!folder.lock.valid()) {
    return InvalidArgument("cannot write " + lock_path + ": " + std::strerror(errno));
  }
  if (flock(folder.lock.get(), LOCK_EX | LOCK_NB) == 0) return folder;
  return FailedPrecondition("assay up runs on " + folder.path + " already", Reason::kAlreadyRunning)
      .WithHint(
          "use that one, stop it, or give another folder with --data and other ports with "
          "--listen and --http");
}

std::string DefaultDataDirectory() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data != nullptr && data[0] == '/') {
    return std::string(data) + "/assay";
  }
  if (geteuid() == 0) return "/var/lib/assay";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr && *home != '\0' ? home : "/var/tmp") + "/.local/share/assay";
}

}  // namespace assay::cli
