#include "common/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "common/subprocess.h"

namespace assay {

Result<std::string> ReadFile(const std::string& path, size_t most) {
  const auto cannot = [&](const std::string& why) {
    return NotFound("cannot read " + path + ": " + why, Reason::kFileUnreadable);
  };
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "rbe"),
                                                                std::fclose);
  if (!file) return cannot(std::strerror(errno));
  std::string content;
  std::array<char, 65536> part;
  while (const size_t got = std::fread(part.data(), 1, part.size(), file.get())) {
    if (got > most - content.size()) {
      return cannot("it is larger than " + std::to_string(most) + " bytes");
    }
    content.append(part.data(), got);
  }
  // A folder can be opened, but not read.
  if (std::ferror(file.get()) != 0) return cannot(std::strerror(errno));
  return content;
}

Status MakePrivateFolder(const std::string& path, mode_t mode) {
  const std::filesystem::path folder = std::filesystem::path(path + "/").lexically_normal();
  std::error_code error;
  // The path ends with a slash, so its parent is itself without the slash.
  std::filesystem::create_directories(folder.parent_path().parent_path(), error);
  const int made = ::mkdir(folder.parent_path().c_str(), mode);
  const int why = errno;
  if (made == 0 || (why == EEXIST && std::filesystem::is_directory(folder, error))) {
    return Status::Ok();
  }
  return FailedPrecondition("cannot make the folder " + path + ": " + std::strerror(why));
}

Status SyncFolder(const std::string& path) {
  const FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid() && ::fsync(folder.get()) == 0) return Status::Ok();
  return FailedPrecondition("cannot sync the folder " + path + ": " + std::strerror(errno));
}

std::string FirstLineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

std::optional<int64_t> NumberOf(const std::string& name, const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    int64_t number = 0;
    if (words >> word >> number && word == name) return number;
  }
  return std::nullopt;
}

}  // namespace assay
