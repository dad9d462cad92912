// A temporary folder for a test.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace assay {

// Creates a folder under the system's temporary folder. Its mode is 0755, so that a server that
// runs as another user can enter it. The destructor removes it with its content.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "assay-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    ::chmod(name.c_str(), 0755);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace assay
