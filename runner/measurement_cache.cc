#include "runner/measurement_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string_view>
#include <vector>

#include "common/subprocess.h"
#include "common/text.h"
#include "gang/peers.h"
#include "runner/frame_io.h"

namespace assay {
namespace {

constexpr Duration kMaxCeilingAge = std::chrono::hours(24);
constexpr int64_t kMaxUnixSeconds = int64_t{1} << 33;  // The year 2242.

// Replaces the file atomically, so that readers see either the old or the new text.
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

std::string CeilingOwner(const LocalGpu& gpu, GpuPlatform& platform) {
  LinkedSoftware software;
  platform.FillVersions(&software);
  return "ceilings of " + (gpu.uuid.empty() ? gpu.pci_bus_id : gpu.uuid) + " driver " +
         gpu.driver_version + " power limit " + std::to_string(gpu.power_limit_watts.value_or(0)) +
         " runner " ASSAY_VERSION " cuda " + software.cuda_runtime.value_or("") + " cublas " +
         software.cublas.value_or("");
}

// Returns NCCL's environment variables, except those that only affect its log.
std::string NcclSettings() {
  std::vector<std::string> settings;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.rfind("NCCL_", 0) == 0 && text.rfind("NCCL_DEBUG", 0) != 0) {
      settings.emplace_back(text);
    }
  }
  std::sort(settings.begin(), settings.end());
  return Join(settings, " ");
}

std::string RankName(const LocalGpu* gpu, const RunContext& context) {
  if (gpu != nullptr && !gpu->uuid.empty()) return gpu->uuid + " driver " + gpu->driver_version;
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return std::string(host) + " " + context.advertise_address;
}

// Returns the ceilings (the highest rates measured on a GPU) that limit `work`, measuring any that
// are not cached. If `raise` is true, measures all of them and returns the greater of the old and
// new values.
Ceilings FindCeilings(const LocalGpu& gpu, const Work& work, GpuPlatform& platform,
                      MeasurementCache& cache, bool raise) {
  const std::string owner = CeilingOwner(gpu, platform);
  const auto find = [&](std::string_view name) -> std::optional<double> {
    const std::string kind(name);
    const MeasurementCache::Key key = {kind, 0};
    const auto known = cache.Find(owner, kMaxCeilingAge);
    const auto found = known.find(key);
    const std::optional<double> old =
        found != known.end() ? std::optional(found->second) : std::nullopt;
    if (old && !raise) return old;
    const Result<double> measured = platform.MeasureCeiling(gpu.ordinal, kind);
    if (!measured.ok()) {
      if (!IsUnsupported(measured.status())) {
        std::fprintf(stderr, "assay-runner: the measured ceiling \"%s\": %s\n", kind.c_str(),
                     measured.status().ToString().c_str());
      }
      return old;
    }
    if (old && *old >= *measured) return old;
    cache.Add(owner, key, *measured);
    return *measured;
  };
  Ceilings ceilings;
  if (work.bytes > 0) ceilings.bytes = find(ToText(work.traffic));
  if (work.flops > 0 && work.peak != Peak::kNone) ceilings.flops = find(ToText(work.peak));
  return ceilings;
}

}  // namespace

MeasurementCache::MeasurementCache(std::string folder, Clock* clock)
    : folder_(std::move(folder)), clock_(clock) {}

std::map<MeasurementCache::Key, double> MeasurementCache::Find(const std::string& owner,
                                                               Duration max_age) {
  std::map<Key, double> values;
  for (const auto& [key, entry] : Load(owner)) {
    if (clock_->WallNow() - entry.measured_at <= max_age) values[key] = entry.value;
  }
  return values;
}

// Adds the value to the file of its owner (the hardware and software on which it was measured).
// Each line of the file has a size in bytes, a value, its time in Unix seconds, and the name of its
// series.
void MeasurementCache::Add(const std::string& owner, const Key& key, double value) {
  if (!std::isfinite(value) || value <= 0) return;
  Load(owner)[key] = {value, clock_->WallNow()};
  if (folder_.empty()) return;
  std::string text;
  for (const auto& [stored, entry] : Load(owner)) {
    const auto age =
        std::chrono::duration_cast<std::chrono::seconds>(entry.measured_at.time_since_epoch());
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "%.17g %.17g %" PRId64 " ", stored.second, entry.value,
                  static_cast<int64_t>(age.count()));
    text += numbers + stored.first + "\n";
  }
  if (const Status written = WriteFile(PathOf(owner), text); !written.ok()) {
    std::fprintf(stderr, "assay-runner: %s\n", written.ToString().c_str());
  }
}

MeasurementCache::Entries& MeasurementCache::Load(const std::string& owner) {
  Entries& entries = known_[owner];
  std::ifstream file(PathOf(owner));
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    Key key;
    Entry read;
    int64_t seconds = 0;
    fields >> key.second >> read.value >> seconds;
    // Lines that someone changed by hand to something invalid are ignored.
    if (!std::getline(fields >> std::ws, key.first) || !(read.value > 0) || seconds < 0 ||
        seconds > kMaxUnixSeconds) {
      continue;
    }
    read.measured_at = WallTime(std::chrono::seconds(seconds));
    Entry& entry = entries[key];
    if (entry.measured_at < read.measured_at) entry = read;
  }
  const WallTime now = clock_->WallNow();
  for (auto entry = entries.begin(); entry != entries.end();) {
    const Duration age = now - entry->second.measured_at;
    // Also remove values from the future, which the file may contain if the system clock was set
    // back.
    const bool keep = age >= -std::chrono::seconds(1) && age <= kMaxAge;
    entry = keep ? std::next(entry) : entries.erase(entry);
  }
  while (entries.size() > kMaxValues) {
    entries.erase(std::min_element(
        entries.begin(), entries.end(),
        [](const auto& a, const auto& b) { return a.second.measured_at < b.second.measured_at; }));
  }
  return entries;
}

std::string MeasurementCache::PathOf(const std::string& owner) const {
  if (folder_.empty()) return "";
  char hash[17];  // If it changes with the compiler, only the measurements are lost.
  std::snprintf(hash, sizeof hash, "%016zx", std::hash<std::string>()(owner));
  return folder_ + "/measured-" + hash + ".txt";
}

MeasurementCache& ProcessCache() {
  const char* const folder = std::getenv("ASSAY_CACHE_DIR");
  static MeasurementCache cache(folder == nullptr ? "" : folder);
  return cache;
}

Ceilings CeilingsFor(const LocalGpu& gpu, const Work& work, GpuPlatform& platform,
                     MeasurementCache& cache) {
  return FindCeilings(gpu, work, platform, cache, /*raise=*/false);
}

Ceilings RaiseCeilings(const LocalGpu& gpu, const Work& work, GpuPlatform& platform,
                       MeasurementCache& cache) {
  return FindCeilings(gpu, work, platform, cache, /*raise=*/true);
}

std::optional<AlphaBeta> LinkSeries::Fit(double bytes, MeasurementCache& cache) const {
  std::vector<SizedTime> times;
  for (const auto& [key, seconds] : cache.Find(machine)) {
    if (key.first == name && key.second != bytes) times.push_back({key.second, seconds});
  }
  return FitAlphaBeta(times);
}

void LinkSeries::Add(const SizedTime& measured, MeasurementCache& cache) const {
  cache.Add(machine, {name, measured.bytes}, measured.seconds);
}

Result<LinkSeries> LinkSeriesOf(const BenchmarkInfo& info, const RunContext& context,
                                const LocalGpu* gpu) {
  LinkSeries series;
  series.machine = RankName(gpu, context);
  if (context.peers != nullptr) {
    ASSAY_ASSIGN_OR_RETURN(const auto all, AllGather(*context.peers, series.machine, kPeerTimeout));
    series.machine = Join(all, "; ");
  }
  series.machine += " NCCL " + Software().nccl.value_or("none") + " " + NcclSettings();
  series.name = info.name + " v" + std::to_string(info.version);
  for (const auto& [name, value] : context.parameters) {
    if (name != "bytes") series.name += " " + name + "=" + value;
  }
  return series;
}

double LinkBytes(const Work& work) {
  if (work.link_bytes <= 0) return 0;
  return work.payload_bytes > 0 ? work.payload_bytes : work.link_bytes;
}

}  // namespace assay
