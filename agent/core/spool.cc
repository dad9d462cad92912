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
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "common/file.h"
#include "common/log.h"
#include "common/mutex.h"
#include "common/subprocess.h"
#include "common/units.h"

namespace assay::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "ASSAYRS2";
// The size of a file's header, which consists of a magic number and three little-endian 32-bit
// numbers: the length of the fleet id, the length of the result, and the CRC of both.
constexpr size_t kHeaderBytes = 20;
constexpr char kExtension[] = ".result";
constexpr int64_t kMaxRejectedBytes = int64_t{16} << 20;

struct SpooledResult {
  std::string fleet_id;
  v1::CaseResult result;
};

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

std::string Encode(const v1::CaseResult& result, const std::string& fleet_id) {
  const std::string payload = fleet_id + result.SerializeAsString();
  std::string file(kMagic);
  AppendU32(static_cast<uint32_t>(fleet_id.size()), &file);
  AppendU32(static_cast<uint32_t>(payload.size() - fleet_id.size()), &file);
  AppendU32(Crc(payload), &file);
  return file + payload;
}

Status Damaged(const std::string& what) {
  return Status(Code::kDataLoss, Reason::kSpoolCorrupt, what);
}

Result<SpooledResult> Decode(std::string_view file) {
  if (file.size() < kHeaderBytes || file.substr(0, kMagic.size()) != kMagic) {
    return Damaged("it does not begin as a spooled result does");
  }
  const std::string_view payload = file.substr(kHeaderBytes);
  const uint64_t fleet_bytes = ReadU32(file.substr(8));
  if (fleet_bytes + ReadU32(file.substr(12)) != payload.size()) {
    return Damaged("its length is not what it says");
  }
  if (ReadU32(file.substr(16)) != Crc(payload)) return Damaged("its checksum does not match");
  SpooledResult spooled;
  spooled.fleet_id = payload.substr(0, fleet_bytes);
  const std::string_view result = payload.substr(fleet_bytes);
  if (!spooled.result.ParseFromArray(result.data(), static_cast<int>(result.size()))) {
    return Damaged("it holds no result");
  }
  return spooled;
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

Status FolderError(const Status& status) {
  return Internal(status.message(), Reason::kSpoolFailed);
}

// Returns the folder that contains `folder`.
std::string ParentOf(const std::string& folder) {
  const fs::path path = fs::absolute(folder + "/").lexically_normal();
  return path.parent_path().parent_path().string();  // The first step removes the slash.
}

// Returns the names of the results in a folder, the oldest first.
std::vector<std::string> ResultNames(const std::string& folder, std::error_code* error) {
  std::vector<std::string> names;
  for (auto entry = fs::directory_iterator(folder, *error);
       !*error && entry != fs::directory_iterator(); entry.increment(*error)) {
    if (entry->path().extension() == kExtension) names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<uint64_t> FileNumber(const std::string& name) {
  unsigned long long number = 0;
  if (std::sscanf(name.c_str(), "%16llx.result", &number) != 1) return std::nullopt;
  return number;
}

// Deletes the oldest results of a folder until the rest has at most `most` bytes.
void DeleteOldest(const std::string& folder, int64_t most) {
  std::error_code error;
  std::vector<std::string> names = ResultNames(folder, &error);
  int64_t bytes = 0;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    const std::string path = folder + "/" + *name;
    const auto size = fs::file_size(path, error);
    if (!error) bytes += static_cast<int64_t>(size);
    if (bytes > most) fs::remove(path, error);
  }
}

ResultKey KeyOf(const v1::CaseResult& result) {
  return {result.job_id(), result.epoch(), result.case_index()};
}

// See Spool::Open.
class FileSpool : public Spool {
 public:
  FileSpool(std::string folder, int64_t limit_bytes);
  ~FileSpool() override;
  Status Load();

  Status Append(const v1::CaseResult& result, const std::string& fleet_id, OnLost on_lost) override;
  void Flush() override;
  Result<v1::CaseResult> Read(const ResultKey& key) override;
  void Remove(const ResultKey& key) override;
  void Reject(const ResultKey& key) override;
  std::vector<ResultKey> Keys(const std::string& fleet_id) const override;
  bool Has(const ResultKey& key, const std::string& fleet_id) const override;
  bool IsOlderThan(const ResultKey& key, Duration age) const override;
  size_t CountOf(const std::string& job_id, int64_t epoch) const override;
  size_t depth() const override;
  bool Full() const override;

 private:
  struct Entry {
    uint64_t number = 0;  // Names the file; increases, so it orders by age.
    int64_t bytes = 0;
    std::string fleet_id;
    std::shared_ptr<const std::string> unwritten;  // The file's content until it is on disk.
  };
  using Entries = std::map<ResultKey, Entry>;
  // A file to be written.
  struct Unwritten {
    ResultKey key;
    uint64_t number = 0;
    std::shared_ptr<const std::string> content;
    OnLost on_lost;
    Status written;
  };

  void WriteLoop();
  // Writes the files and returns when they are safe on disk, with the outcome in `written`.
  void Write(std::vector<Unwritten>& files) const;
  // Updates the entries of these files and returns those that are lost.
  std::vector<Unwritten> Settle(std::vector<Unwritten> files) ASSAY_REQUIRES(mutex_);

  void LoadFile(const std::string& name) ASSAY_REQUIRES(mutex_);
  std::string PathOf(uint64_t number) const;
  void SetAside(const std::string& path, const Status& why) const;
  void Forget(Entries::iterator entry) ASSAY_REQUIRES(mutex_);

  const std::string folder_;
  const std::string rejected_folder_;
  const int64_t limit_bytes_;

  mutable Mutex mutex_;
  Entries entries_ ASSAY_GUARDED_BY(mutex_);
  int64_t bytes_ ASSAY_GUARDED_BY(mutex_) = 0;
  uint64_t next_number_ ASSAY_GUARDED_BY(mutex_) = 1;
  std::vector<Unwritten> queue_ ASSAY_GUARDED_BY(mutex_);  // Oldest first.
  bool writing_ ASSAY_GUARDED_BY(mutex_) = false;
  bool stopping_ ASSAY_GUARDED_BY(mutex_) = false;
  CondVar changed_;
  std::thread writer_;  // Declared last, because it uses all of the above.
};

}  // namespace

FileSpool::FileSpool(std::string folder, int64_t limit_bytes)
    : folder_(std::move(folder)),
      rejected_folder_(ParentOf(folder_) + "/rejected"),
      limit_bytes_(limit_bytes),
      writer_([this] { WriteLoop(); }) {}

FileSpool::~FileSpool() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  writer_.join();
}

Result<std::unique_ptr<Spool>> Spool::Open(std::string folder, int64_t limit_bytes) {
  auto spool = std::make_unique<FileSpool>(std::move(folder), limit_bytes);
  ASSAY_RETURN_IF_ERROR(spool->Load());
  return std::unique_ptr<Spool>(std::move(spool));
}

std::string FileSpool::PathOf(uint64_t number) const {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%016llx", static_cast<unsigned long long>(number));
  return folder_ + "/" + name.data() + kExtension;
}

void FileSpool::SetAside(const std::string& path, const Status& why) const {
  std::error_code error;
  fs::rename(path, path + ".corrupt", error);
  Log().error("spooled result {} is damaged ({}); {}", path, why.message(),
              error ? "and cannot be renamed: " + error.message() : "renamed to .corrupt");
}

Status FileSpool::Load() {
  if (const Status made = MakePrivateFolder(folder_); !made.ok()) return FolderError(made);
  if (const Status synced = SyncFolder(ParentOf(folder_)); !synced.ok()) return FolderError(synced);
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder_, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    // An agent ended while it wrote this file, before it counted the result as stored.
    if (entry->path().extension() == ".tmp") fs::remove(entry->path(), error);
  }
  const std::vector<std::string> names = ResultNames(folder_, &error);
  if (error) {
    return Internal("cannot list the spool folder " + folder_ + ": " + error.message(),
                    Reason::kSpoolFailed);
  }
  MutexLock lock(mutex_);
  for (const std::string& name : names) LoadFile(name);
  // A number is used once, so that no rejected result replaces another.
  for (const std::string& name : ResultNames(rejected_folder_, &error)) {
    next_number_ = std::max(next_number_, FileNumber(name).value_or(0) + 1);
  }
  if (!entries_.empty()) {
    Log().info("{} results from an earlier run wait for acknowledgement", entries_.size());
  }
  return Status::Ok();
}

void FileSpool::LoadFile(const std::string& name) {
  const std::string path = folder_ + "/" + name;
  const auto file = ReadFile(path);
  const Result<SpooledResult> spooled = file.ok() ? Decode(*file) : file.status();
  if (!spooled.ok()) return SetAside(path, spooled.status());
  const std::optional<uint64_t> number = FileNumber(name);
  if (!number || PathOf(*number) != path) {
    return SetAside(path, Damaged("its name is not one that a spool gives"));
  }
  next_number_ = std::max(next_number_, *number + 1);
  const auto bytes = static_cast<int64_t>(file->size());
  const bool added =
      entries_.emplace(KeyOf(spooled->result), Entry{*number, bytes, spooled->fleet_id, nullptr})
          .second;
  if (!added) return SetAside(path, Damaged("another file holds the same result"));
  bytes_ += bytes;
}

Status FileSpool::Append(const v1::CaseResult& result, const std::string& fleet_id,
                         OnLost on_lost) {
  auto file = std::make_shared<const std::string>(Encode(result, fleet_id));
  {
    MutexLock lock(mutex_);
    const ResultKey key = KeyOf(result);
    if (entries_.count(key) != 0) return Status::Ok();
    const auto bytes = static_cast<int64_t>(file->size());
    if (bytes_ + bytes > limit_bytes_) {
      return Status(Code::kResourceExhausted, Reason::kSpoolFull,
                    "the result spool " + folder_ + " holds " + FormatBytes(bytes_) +
                        " without acknowledgement; its limit is " + FormatBytes(limit_bytes_));
    }
    const uint64_t number = next_number_++;
    entries_.emplace(key, Entry{number, bytes, fleet_id, file});
    bytes_ += bytes;
    queue_.push_back({key, number, std::move(file), std::move(on_lost), Status::Ok()});
  }
  changed_.NotifyAll();
  return Status::Ok();
}

void FileSpool::Flush() {
  MutexLock lock(mutex_);
  while (writing_ || !queue_.empty()) changed_.Wait(mutex_);
}

void FileSpool::WriteLoop() {
  for (;;) {
    std::vector<Unwritten> files;
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !stopping_) changed_.Wait(mutex_);
      if (queue_.empty()) return;
      files = std::exchange(queue_, {});
      // Some results may have been acknowledged in the meantime.
      std::erase_if(files, [this](const Unwritten& file) ASSAY_REQUIRES(mutex_) {
        const auto entry = entries_.find(file.key);
        return entry == entries_.end() || entry->second.number != file.number;
      });
      writing_ = true;
    }
    Write(files);
    std::vector<Unwritten> lost;
    {
      MutexLock lock(mutex_);
      lost = Settle(std::move(files));
    }
    for (const Unwritten& file : lost) file.on_lost(file.written);
    {
      MutexLock lock(mutex_);
      writing_ = false;
    }
    changed_.NotifyAll();
  }
}

void FileSpool::Write(std::vector<Unwritten>& files) const {
  for (Unwritten& file : files) {
    const std::string path = PathOf(file.number);
    const std::string unfinished = path + ".tmp";
    file.written = WriteDurably(unfinished, *file.content);
    if (file.written.ok() && ::rename(unfinished.c_str(), path.c_str()) != 0) {
      file.written = FileError("rename", unfinished);
    }
  }
  if (files.empty()) return;
  const Status synced = SyncFolder(folder_);
  for (Unwritten& file : files) {
    if (file.written.ok() && !synced.ok()) file.written = FolderError(synced);
  }
}

std::vector<FileSpool::Unwritten> FileSpool::Settle(std::vector<Unwritten> files) {
  std::vector<Unwritten> lost;
  for (Unwritten& file : files) {
    const auto entry = entries_.find(file.key);
    const bool wanted = entry != entries_.end() && entry->second.number == file.number;
    if (wanted && file.written.ok()) {
      entry->second.unwritten = nullptr;
      continue;
    }
    const std::string path = PathOf(file.number);
    ::unlink((path + ".tmp").c_str());
    ::unlink(path.c_str());
    if (!wanted) continue;
    Forget(entry);
    lost.push_back(std::move(file));
  }
  return lost;
}

Result<v1::CaseResult> FileSpool::Read(const ResultKey& key) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return NotFound("no such result is spooled");
  const std::string path = PathOf(found->second.number);
  const auto& unwritten = found->second.unwritten;
  const auto file = unwritten ? Result<std::string>(*unwritten) : ReadFile(path);
  Result<SpooledResult> spooled = file.ok() ? Decode(*file) : file.status();
  if (!spooled.ok()) {
    SetAside(path, spooled.status());
    Forget(found);
    return Damaged(spooled.status().message());
  }
  return std::move(spooled->result);
}

void FileSpool::Forget(Entries::iterator entry) {
  bytes_ -= entry->second.bytes;
  entries_.erase(entry);
}

void FileSpool::Remove(const ResultKey& key) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  // Do not sync the folder: if a power failure restores the file, the result is only sent again.
  ::unlink(PathOf(found->second.number).c_str());
  Forget(found);
}

void FileSpool::Reject(const ResultKey& key) {
  Flush();
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  const fs::path path = PathOf(found->second.number);
  const std::string target = rejected_folder_ + "/" + path.filename().string();
  Status moved = MakePrivateFolder(rejected_folder_);
  if (moved.ok() && ::rename(path.c_str(), target.c_str()) != 0) {
    moved = FileError("rename", path.string());
  }
  if (moved.ok()) {
    Log().warn("the result is kept as {}", target);
  } else {
    Log().error("the rejected result cannot be set aside: {}", moved.message());
  }
  Forget(found);
  DeleteOldest(rejected_folder_, kMaxRejectedBytes);
}

std::vector<ResultKey> FileSpool::Keys(const std::string& fleet_id) const {
  MutexLock lock(mutex_);
  std::vector<std::pair<uint64_t, ResultKey>> ordered;
  for (const auto& [key, entry] : entries_) {
    if (entry.fleet_id == fleet_id) ordered.emplace_back(entry.number, key);
  }
  std::sort(ordered.begin(), ordered.end());
  std::vector<ResultKey> keys;
  for (auto& [number, key] : ordered) keys.push_back(std::move(key));
  return keys;
}

bool FileSpool::Has(const ResultKey& key, const std::string& fleet_id) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  return found != entries_.end() && found->second.fleet_id == fleet_id;
}

bool FileSpool::IsOlderThan(const ResultKey& key, Duration age) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return false;
  std::error_code error;
  const auto written = fs::last_write_time(PathOf(found->second.number), error);
  return !error && fs::file_time_type::clock::now() - written > age;
}

size_t FileSpool::CountOf(const std::string& job_id, int64_t epoch) const {
  MutexLock lock(mutex_);
  size_t count = 0;
  for (auto entry = entries_.lower_bound({job_id, epoch, INT32_MIN});
       entry != entries_.end() && entry->first.job_id == job_id && entry->first.epoch == epoch;
       ++entry) {
    ++count;
  }
  return count;
}

size_t FileSpool::depth() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

bool FileSpool::Full() const {
  constexpr int64_t kSmallResult = 4 << 10;
  MutexLock lock(mutex_);
  return bytes_ + kSmallResult > limit_bytes_;
}

}  // namespace assay::agent
