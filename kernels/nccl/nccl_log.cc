#include "kernels/nccl/nccl_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace assay {
namespace {

// The file descriptor of NCCL's log, an in-memory file that disappears with the process, or -1 if
// there is no log.
std::atomic<int> log_fd{-1};
std::atomic<off_t> log_begin{0};

constexpr const char* kLevel = "INFO";
constexpr const char* kSubsystems = "INIT,ENV,NET";
constexpr const char* kDescriptors = "/proc/self/fd/";

// The maximum number of bytes to read from the end of the log. Earlier warnings are not found.
constexpr off_t kMaxRead = 4 << 20;

std::string ReadFrom(int fd, off_t begin) {
  const off_t end = lseek(fd, 0, SEEK_END);
  begin = std::max(begin, end - kMaxRead);
  std::string text(static_cast<size_t>(std::max<off_t>(end - begin, 0)), '\0');
  const ssize_t got = pread(fd, text.data(), text.size(), begin);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  // Replaces all bytes that are not printable ASCII, because protobuf messages must be valid UTF-8.
  for (char& c : text) c = (c >= ' ' && c <= '~') || c == '\n' ? c : '?';
  return text;
}

// Returns the last `max_bytes` of `text`, in whole lines.
std::string Tail(const std::string& text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  const size_t line = text.find('\n', text.size() - max_bytes);
  return line == std::string::npos ? "" : text.substr(line + 1);
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Returns true if NCCL_DEBUG was set by a parent process for its own log, rather than by the user.
// This process then needs a new log, because the parent's file descriptor is not open here.
bool Inherited() {
  return Variable("NCCL_DEBUG") == kLevel && Variable("NCCL_DEBUG_SUBSYS") == kSubsystems &&
         Variable("NCCL_DEBUG_FILE").rfind(kDescriptors, 0) == 0;
}

}  // namespace

void KeepNcclLog() {
  if (log_fd >= 0 || (std::getenv("NCCL_DEBUG") != nullptr && !Inherited())) return;
  const int fd = memfd_create("nccl.log", MFD_CLOEXEC);
  if (fd < 0) return;  // Runs without a log.
  const std::string path = kDescriptors + std::to_string(fd);
  setenv("NCCL_DEBUG", kLevel, 1);
  setenv("NCCL_DEBUG_SUBSYS", kSubsystems, 1);
  setenv("NCCL_DEBUG_FILE", path.c_str(), 1);
  log_fd = fd;
}

void BeginNcclLog() {
  const int fd = log_fd;
  if (fd < 0) return;
  const off_t end = lseek(fd, 0, SEEK_END);
  // Frees the memory of the lines written so far. The file keeps its size because NCCL continues
  // writing at its current position.
  if (end > 0) fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end);
  log_begin = end;
}

std::string NcclLogTail(size_t max_bytes) {
  const int fd = log_fd;
  if (fd < 0) return "";
  const std::string text = ReadFrom(fd, log_begin);
  std::string warnings;
  std::string rest;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    (line.find(" WARN ") != std::string::npos ? warnings : rest) += line + "\n";
  }
  // Keeps the first warnings, because the first failure is the most informative.
  if (warnings.size() > max_bytes) warnings.resize(max_bytes);
  return warnings + Tail(rest, max_bytes - warnings.size());
}

}  // namespace assay
