#include "agent/core/spool.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/file.h"
#include "common/log.h"
#include "common/subprocess.h"
#include "common/units.h"

namespace assay::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "ASSAYRS1";
constexpr size_t kHeaderBytes = 16;  // Magic, then length and CRC as little-endian u32.
constexpr char kExtension[] = ".result";

uint32_t Crc(std::string_view bytes) {
  return static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

void AppendU32(uint32_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

uint32_t ReadU32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

std::string Encode(const v1::CaseResult& result) {
  const std::string payload = result.SerializeAsString();
  std::string file(kMagic);
  AppendU32(static_cast<uint32_t>(payload.size()), &file);
  AppendU32(Crc(payload), &file);
  return file + payload;
}

Status Damaged(const std::string& what) {
  return Status(Code::kDataLoss, Reason::kSpoolCorrupt, what);
}

Result<v1::CaseResult> Decode(std::string_view file) {
  if (file.size() < kHeaderBytes || file.substr(0, kMagic.size()) != kMagic) {
    return Damaged("it does not begin as a spooled result does");
  }
  const std::string_view payload = file.substr(kHeaderBytes);
  if (ReadU32(file.substr(8)) != payload.size()) return Damaged("its length is not what it says");
  if (ReadU32(file.substr(12)) != Crc(payload)) return Damaged("its checksum does not match");
  v1::CaseResult result;
  if (!result.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return Damaged("it holds no result");
  }
  return result;
}

Status FileError(const std::string& what, const std::string& path) {
  return Internal("cannot " + what + " " + path + ": " + std::strerror(errno),
                  Reason::kSpoolFailed);
}

// Writes and syncs a complete new file.
Status WriteDurably(const std::string& path, std::string_view bytes) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid()) return FileError("create", path);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("write", path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (::fsync(file.get()) != 0) return FileError("sync", path);
  return Status::Ok();
}

Status SyncFolder(const std::string& path) {
  const FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || ::fsync(folder.get()) != 0) return FileError("sync", path);
  return Status::Ok();
}

ResultKey KeyOf(const v1::CaseResult& result) {
  return {result.job_id(), result.epoch(), result.case_index()};
}

}  // namespace

Spool::Spool(std::string folder, int64_t limit_bytes)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

Result<std::unique_ptr<Spool>> Spool::Open(std::string folder, int64_t limit_bytes) {
  std::unique_ptr<Spool> spool(new Spool(std::move(folder), limit_bytes));
  ASSAY_RETURN_IF_ERROR(spool->Load());
  return spool;
}

std::string Spool::PathOf(uint64_t number) const {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%016llx", static_cast<unsigned long long>(number));
  return folder_ + "/" + name.data() + kExtension;
}

void Spool::SetAside(const std::string& path, const Status& why) const {
  std::error_code error;
  fs::rename(path, path + ".corrupt", error);
  Log().error("spooled result {} is damaged ({}); {}", path, why.message(),
              error ? "and cannot be renamed: " + error.message() : "renamed to .corrupt");
}

Status Spool::Load() {
  if (const Status made = MakePrivateFolder(folder_); !made.ok()) {
    return Internal(made.message(), Reason::kSpoolFailed);
  }
  std::error_code error;
  std::vector<std::string> names;
  for (auto entry = fs::directory_iterator(folder_, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() == ".tmp") {
      fs::remove(path, error);  // An agent died while writing; the result had not been promised.
    } else if (path.extension() == kExtension) {
      names.push_back(path.filename().string());
    }
  }
  if (error) {
    return Internal("cannot list the spool folder " + folder_ + ": " + error.message(),
                    Reason::kSpoolFailed);
  }
  std::sort(names.begin(), names.end());
  MutexLock lock(mutex_);
  for (const std::string& name : names) LoadFile(name);
  if (!entries_.empty()) {
    Log().info("{} results from an earlier run wait for acknowledgement", entries_.size());
  }
  return Status::Ok();
}

void Spool::LoadFile(const std::string& name) {
  const std::string path = folder_ + "/" + name;
  const auto file = ReadFile(path);
  const Result<v1::CaseResult> result = file.ok() ? Decode(*file) : file.status();
  unsigned long long number = 0;
  if (!result.ok()) return SetAside(path, result.status());
  if (std::sscanf(name.c_str(), "%16llx.result", &number) != 1 || PathOf(number) != path) {
    return SetAside(path, Damaged("its name is not one that a spool gives"));
  }
  next_number_ = std::max<uint64_t>(next_number_, number + 1);
  const auto bytes = static_cast<int64_t>(file->size());
  const bool added = entries_.emplace(KeyOf(*result), Entry{number, bytes}).second;
  if (!added) return SetAside(path, Damaged("another file holds the same result"));
  bytes_ += bytes;
}

Status Spool::Append(const v1::CaseResult& result) {
  const std::string file = Encode(result);
  MutexLock lock(mutex_);
  const ResultKey key = KeyOf(result);
  if (entries_.count(key) != 0) return Status::Ok();
  const auto bytes = static_cast<int64_t>(file.size());
  if (bytes_ + bytes > limit_bytes_) {
    return Status(Code::kResourceExhausted, Reason::kSpoolFull,
                  "the result spool " + folder_ + " holds " + FormatBytes(bytes_) +
                      " without acknowledgement; its limit is " + FormatBytes(limit_bytes_));
  }
  const uint64_t number = next_number_++;
  const std::string path = PathOf(number);
  const std::string unfinished = path + ".tmp";
  Status status = WriteDurably(unfinished, file);
  if (status.ok() && ::rename(unfinished.c_str(), path.c_str()) != 0) {
    status = FileError("rename", unfinished);
  }
  if (status.ok()) status = SyncFolder(folder_);
  if (!status.ok()) {
    ::unlink(unfinished.c_str());
    ::unlink(path.c_str());
    return status;
  }
  entries_.emplace(key, Entry{number, bytes});
  bytes_ += bytes;
  return Status::Ok();
}

Result<v1::CaseResult> Spool::Read(const ResultKey& key) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return NotFound("no such result is spooled");
  const std::string path = PathOf(found->second.number);
  const auto file = ReadFile(path);
  Result<v1::CaseResult> result = file.ok() ? Decode(*file) : file.status();
  if (!result.ok()) {
    SetAside(path, result.status());
    bytes_ -= found->second.bytes;
    entries_.erase(found);
    return Damaged(result.status().message());
  }
  return result;
}

void Spool::Remove(const ResultKey& key) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  // Not synced: a result that reappears after a power failure is only sent again.
  ::unlink(PathOf(found->second.number).c_str());
  bytes_ -= found->second.bytes;
  entries_.erase(found);
}

std::vector<ResultKey> Spool::Keys() const {
  MutexLock lock(mutex_);
  std::vector<std::pair<uint64_t, ResultKey>> ordered;
  for (const auto& [key, entry] : entries_) ordered.emplace_back(entry.number, key);
  std::sort(ordered.begin(), ordered.end());
  std::vector<ResultKey> keys;
  for (auto& [number, key] : ordered) keys.push_back(std::move(key));
  return keys;
}

size_t Spool::CountOf(const std::string& job_id, int64_t epoch) const {
  MutexLock lock(mutex_);
  size_t count = 0;
  for (auto entry = entries_.lower_bound({job_id, epoch, INT32_MIN});
       entry != entries_.end() && entry->first.job_id == job_id && entry->first.epoch == epoch;
       ++entry) {
    ++count;
  }
  return count;
}

size_t Spool::depth() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

bool Spool::Full() const {
  constexpr int64_t kSmallResult = 4 << 10;
  MutexLock lock(mutex_);
  return bytes_ + kSmallResult > limit_bytes_;
}

}  // namespace assay::agent
