#include "runner/cache_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/subprocess.h"

namespace assay {
namespace {

constexpr size_t kMaxBytes = 64 << 10;

}  // namespace

std::string ReadCacheFile(const std::string& path) {
  // Not blocking: opening a FIFO would wait for its writer.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts;
  if (!file.valid() || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
  std::string text(kMaxBytes + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return "";
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  text.resize(size);
  return size > kMaxBytes ? "" : text;
}

Status WriteCacheFile(const std::string& path, const std::string& text) {
  const auto failed = [&](const std::string& what) {
    return Internal("cannot " + what + " " + path + ": " + std::strerror(errno), "CACHE_FAILED");
  };
  std::string unfinished = path + ".XXXXXX";
  const FileDescriptor file(::mkostemp(unfinished.data(), O_CLOEXEC));
  if (!file.valid()) return failed("create a file beside");
  const bool written =
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (written && ::rename(unfinished.c_str(), path.c_str()) == 0) return Status::Ok();
  Status status = failed("write");
  ::unlink(unfinished.c_str());
  return status;
}

}  // namespace assay
