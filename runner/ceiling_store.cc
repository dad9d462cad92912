#include "runner/ceiling_store.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "runner/cache_file.h"

namespace assay {
namespace {

std::string Printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](unsigned char c) { return c < 0x20 || c >= 0x7f || c == '"' || c == '\\'; }, '?');
  return text;
}

// Of a UUID as CUDA gives it: no path leads out of the folder.
bool IsFileName(const std::string& uuid) {
  return !uuid.empty() && std::all_of(uuid.begin(), uuid.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-';
  });
}

}  // namespace

CeilingStore::CeilingStore(GpuPlatform* platform, std::string folder, Clock* clock)
    : platform_(platform), folder_(std::move(folder)), clock_(clock) {}

Ceilings CeilingStore::For(const LocalGpu& gpu, const Work& work) {
  Ceilings ceilings;
  if (work.bytes > 0) ceilings.bytes = Find(gpu, std::string(ToText(work.traffic)));
  if (work.flops > 0 && work.peak != Peak::kNone) {
    ceilings.flops = Find(gpu, std::string(ToText(work.peak)));
  }
  return ceilings;
}

CeilingOwner CeilingStore::OwnerOf(const LocalGpu& gpu) const {
  LinkedSoftware software;
  platform_->FillVersions(&software);
  CeilingOwner owner;
  owner.uuid = gpu.uuid.empty() ? "ordinal " + std::to_string(gpu.ordinal) : Printable(gpu.uuid);
  owner.driver = Printable(gpu.driver_version);
  if (gpu.power_limit_watts) owner.power_limit_watts = std::to_string(*gpu.power_limit_watts);
  owner.software =
      Printable(std::string(ASSAY_VERSION) + " cuda " + software.cuda_runtime.value_or("") +
                " cublas " + software.cublas.value_or(""));
  return owner;
}

std::string CeilingStore::PathOf(const LocalGpu& gpu) const {
  if (folder_.empty() || !IsFileName(gpu.uuid)) return "";
  return folder_ + "/ceilings-" + gpu.uuid + ".json";
}

CeilingMap& CeilingStore::Fresh(const LocalGpu& gpu) {
  CeilingMap& ceilings = known_[CeilingFileText(OwnerOf(gpu), {})];
  const WallTime now = clock_->WallNow();
  for (auto entry = ceilings.begin(); entry != ceilings.end();) {
    const Duration age = now - entry->second.measured_at;
    // A clock that was set back leaves entries of the future.
    const bool fresh = age >= -std::chrono::seconds(1) && age <= kMaxAge;
    entry = fresh ? std::next(entry) : ceilings.erase(entry);
  }
  return ceilings;
}

std::optional<double> CeilingStore::Find(const LocalGpu& gpu, const std::string& kind) {
  const CeilingOwner owner = OwnerOf(gpu);
  if (absent_[CeilingFileText(owner, {})].count(kind) > 0) return std::nullopt;
  const std::string path = PathOf(gpu);
  if (!path.empty() && Fresh(gpu).count(kind) == 0) {
    Fresh(gpu).merge(ParseCeilingFile(owner, ReadCacheFile(path)));
  }
  CeilingMap& ceilings = Fresh(gpu);
  if (const auto found = ceilings.find(kind); found != ceilings.end()) {
    return found->second.per_second;
  }
  const std::optional<double> measured = Measure(gpu, kind);
  if (!measured) return std::nullopt;
  ceilings[kind] = {*measured, clock_->WallNow()};
  if (path.empty()) return measured;
  if (const Status status = WriteCacheFile(path, CeilingFileText(owner, ceilings)); !status.ok()) {
    std::fprintf(stderr, "assay-runner: %s\n", status.ToString().c_str());
  }
  return measured;
}

std::optional<double> CeilingStore::Measure(const LocalGpu& gpu, const std::string& kind) {
  const Result<double> measured = platform_->MeasureCeiling(gpu.ordinal, kind);
  if (measured.ok()) return *measured;
  if (IsUnsupported(measured.status())) {
    absent_[CeilingFileText(OwnerOf(gpu), {})].insert(kind);
  } else {
    std::fprintf(stderr, "assay-runner: the measured ceiling \"%s\": %s\n", kind.c_str(),
                 measured.status().ToString().c_str());
  }
  return std::nullopt;
}

CeilingStore* ProcessCeilings() {
  if (Gpu() == nullptr) return nullptr;
  const char* const folder = std::getenv("ASSAY_CACHE_DIR");
  static CeilingStore store(Gpu(), folder == nullptr ? "" : folder);
  return &store;
}

}  // namespace assay
