#include "runner/link_model_store.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "runner/cache_file.h"

namespace assay {
namespace {

// First line of a file; the machine stands on the second. Then a line a point:
//   BYTES <tab> SECONDS <tab> MEASURED_AT, in Unix seconds <tab> SERIES
constexpr char kFormat[] = "assay link times 1";
constexpr double kMostBytes = 1e15;
constexpr double kMostSeconds = 1e6;
constexpr int64_t kMostUnixSeconds = int64_t{1} << 33;  // The year 2242.

// FNV-1a (Fowler, Noll, Vo), 64 bits, as hex: a file name, not a signature. The file
// itself says whose it is.
std::string NameOf(const std::string& machine) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : machine) hash = (hash ^ c) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, hash);
  return text;
}

// Without what ends a field or a line.
std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

template <typename Number>
bool TakeNumber(std::string_view* rest, Number* number) {
  const auto [end, error] = std::from_chars(rest->data(), rest->data() + rest->size(), *number);
  const auto used = static_cast<size_t>(end - rest->data());
  if (error != std::errc() || used == rest->size() || (*rest)[used] != '\t') return false;
  rest->remove_prefix(used + 1);
  return true;
}

bool Within(double value, double most) {
  return std::isfinite(value) && value > 0 && value <= most;
}

}  // namespace

LinkModelStore::LinkModelStore(std::string folder, Clock* clock)
    : folder_(std::move(folder)), clock_(clock) {}

std::optional<AlphaBeta> LinkModelStore::Fit(const std::string& machine, const std::string& series,
                                             double bytes) {
  const std::string wanted = OneLine(series);
  std::vector<SizedTime> times;
  for (const auto& [key, point] : Known(OneLine(machine))) {
    if (key.first == wanted && key.second != bytes) times.push_back({key.second, point.seconds});
  }
  return FitAlphaBeta(times);
}

void LinkModelStore::Add(const std::string& machine, const std::string& series,
                         const SizedTime& measured) {
  if (!Within(measured.bytes, kMostBytes) || !Within(measured.seconds, kMostSeconds)) return;
  const std::string owner = OneLine(machine);
  Points& points = Known(owner);
  points[{OneLine(series), measured.bytes}] = {measured.seconds, clock_->WallNow()};
  Forget(&points);
  const std::string path = PathOf(owner);
  if (path.empty()) return;
  if (const Status status = WriteCacheFile(path, FileText(owner, points)); !status.ok()) {
    std::fprintf(stderr, "assay-runner: %s\n", status.ToString().c_str());
  }
}

LinkModelStore::Points& LinkModelStore::Known(const std::string& machine) {
  const auto [entry, added] = known_.try_emplace(machine);
  if (added && !PathOf(machine).empty()) {
    entry->second = ParseFile(machine, ReadCacheFile(PathOf(machine)));
  }
  Forget(&entry->second);
  return entry->second;
}

std::string LinkModelStore::PathOf(const std::string& machine) const {
  return folder_.empty() ? "" : folder_ + "/links-" + NameOf(machine) + ".tsv";
}

std::string LinkModelStore::FileText(const std::string& machine, const Points& points) {
  std::string text = std::string(kFormat) + "\n" + machine + "\n";
  char numbers[96];
  for (const auto& [key, point] : points) {
    const auto at =
        std::chrono::duration_cast<std::chrono::seconds>(point.measured_at.time_since_epoch());
    std::snprintf(numbers, sizeof numbers, "%.17g\t%.17g\t%lld\t", key.second, point.seconds,
                  static_cast<long long>(at.count()));
    text += numbers + key.first + "\n";
  }
  return text;
}

// Empty for another machine's file, and for one that is cut off or was changed by hand.
LinkModelStore::Points LinkModelStore::ParseFile(const std::string& machine,
                                                 const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (text.empty() || text.back() != '\n') return {};
  if (!std::getline(lines, line) || line != kFormat) return {};
  if (!std::getline(lines, line) || line != machine) return {};
  Points points;
  while (std::getline(lines, line)) {
    std::string_view rest = line;
    double bytes = 0;
    double seconds = 0;
    int64_t at = 0;
    const bool read =
        TakeNumber(&rest, &bytes) && TakeNumber(&rest, &seconds) && TakeNumber(&rest, &at);
    const bool possible = Within(bytes, kMostBytes) && Within(seconds, kMostSeconds) && at >= 0 &&
                          at <= kMostUnixSeconds && !rest.empty();
    if (!read || !possible) return {};
    points[{std::string(rest), bytes}] = {seconds, WallTime(std::chrono::seconds(at))};
  }
  return points;
}

void LinkModelStore::Forget(Points* points) const {
  const WallTime now = clock_->WallNow();
  for (auto entry = points->begin(); entry != points->end();) {
    const Duration age = now - entry->second.measured_at;
    // A clock that was set back leaves entries of the future.
    const bool counts = age >= -std::chrono::seconds(1) && age <= kMaxAge;
    entry = counts ? std::next(entry) : points->erase(entry);
  }
  while (points->size() > kMaxPoints) {
    points->erase(std::min_element(
        points->begin(), points->end(),
        [](const auto& a, const auto& b) { return a.second.measured_at < b.second.measured_at; }));
  }
}

LinkModelStore& ProcessLinkModels() {
  const char* const folder = std::getenv("ASSAY_CACHE_DIR");
  static LinkModelStore store(folder == nullptr ? "" : folder);
  return store;
}

}  // namespace assay
