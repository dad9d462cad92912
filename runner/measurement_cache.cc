#include "runner/measurement_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

#include "common/subprocess.h"
#include "common/text.h"
#include "runner/frame_io.h"

namespace assay {
namespace {

// A file has this line, the owner, and one line per value: BYTES, VALUE and the time in Unix
// seconds, then the series, separated by tabs.
constexpr char kFormat[] = "assay measurements 1";
constexpr double kMostValue = 1e18;
constexpr int64_t kMostUnixSeconds = int64_t{1} << 33;  // The year 2242.

// A file name, not a signature: the file itself names its owner. FNV-1a (Fowler, Noll, Vo).
std::string HashOf(const std::string& owner) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : owner) hash = (hash ^ c) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, hash);
  return text;
}

// The text with spaces for characters that would end a field or a line.
std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

int64_t UnixSeconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

// Replaces the file at once, so that readers see the old text or the new one.
Status WriteFile(const std::string& path, const std::string& text) {
  std::string temporary = path + ".XXXXXX";
  const FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  Status status = file.valid() ? WriteAll(file.get(), text) : Unavailable("cannot create a file");
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = Unavailable("cannot replace the file");
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status.ok() ? status : status.WithContext(path);
}

}  // namespace

MeasurementCache::MeasurementCache(std::string folder, Duration max_age, size_t most, Clock* clock)
    : folder_(std::move(folder)), max_age_(max_age), most_(most), clock_(clock) {}

std::map<MeasurementCache::Key, double> MeasurementCache::Find(const std::string& owner) {
  std::map<Key, double> values;
  for (const auto& [key, entry] : Load(OneLine(owner))) values[key] = entry.value;
  return values;
}

void MeasurementCache::Add(const std::string& owner, const Key& key, double value) {
  if (!(value > 0 && value <= kMostValue && key.second >= 0 && key.second <= kMostValue)) return;
  const std::string line = OneLine(owner);
  Load(line)[{OneLine(key.first), key.second}] = {value, clock_->WallNow()};
  std::string text = std::string(kFormat) + "\n" + line + "\n";
  for (const auto& [stored, entry] : Load(line)) {
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "%.17g\t%.17g\t%" PRId64 "\t", stored.second,
                  entry.value, UnixSeconds(entry.measured_at));
    text += numbers + stored.first + "\n";
  }
  if (folder_.empty()) return;
  if (const Status written = WriteFile(PathOf(line), text); !written.ok()) {
    std::fprintf(stderr, "assay-runner: %s\n", written.ToString().c_str());
  }
}

MeasurementCache::Entries& MeasurementCache::Load(const std::string& owner) {
  Entries& entries = known_[owner];
  std::ifstream file(PathOf(owner));
  std::string line;
  const bool ours =
      std::getline(file, line) && line == kFormat && std::getline(file, line) && line == owner;
  // Lines that were changed by hand are ignored.
  while (ours && std::getline(file, line)) {
    const auto fields = Split(line, '\t', 4);
    if (fields.size() != 4 || fields[3].empty()) continue;
    const auto bytes = ParseNumber<double>(fields[0]);
    const auto value = ParseNumber<double>(fields[1]);
    const auto seconds = ParseNumber<int64_t>(fields[2]);
    if (!bytes || !value || !(*value > 0 && *value <= kMostValue)) continue;
    if (!seconds || *seconds < 0 || *seconds > kMostUnixSeconds) continue;
    const WallTime measured_at{std::chrono::seconds(*seconds)};
    Entry& entry = entries[{std::string(fields[3]), *bytes}];
    if (entry.measured_at < measured_at) entry = {*value, measured_at};
  }
  const WallTime now = clock_->WallNow();
  for (auto entry = entries.begin(); entry != entries.end();) {
    const Duration age = now - entry->second.measured_at;
    // A clock that was set back leaves values of the future.
    const bool keep = age >= -std::chrono::seconds(1) && age <= max_age_;
    entry = keep ? std::next(entry) : entries.erase(entry);
  }
  while (entries.size() > most_) {
    entries.erase(std::min_element(
        entries.begin(), entries.end(),
        [](const auto& a, const auto& b) { return a.second.measured_at < b.second.measured_at; }));
  }
  return entries;
}

std::string MeasurementCache::PathOf(const std::string& owner) const {
  return folder_.empty() ? "" : folder_ + "/measured-" + HashOf(owner) + ".tsv";
}

std::string CacheFolder() {
  const char* const folder = std::getenv("ASSAY_CACHE_DIR");
  return folder == nullptr ? "" : folder;
}

}  // namespace assay
