#include "runner/ceiling_store.h"

#include <cstdio>
#include <limits>
#include <utility>

namespace assay {

CeilingStore::CeilingStore(GpuPlatform* platform, std::string folder, Clock* clock)
    : platform_(platform),
      cache_(std::move(folder), kMaxAge, std::numeric_limits<size_t>::max(), clock) {}

Ceilings CeilingStore::For(const LocalGpu& gpu, const Work& work) {
  Ceilings ceilings;
  if (work.bytes > 0) ceilings.bytes = Find(gpu, std::string(ToText(work.traffic)));
  if (work.flops > 0 && work.peak != Peak::kNone) {
    ceilings.flops = Find(gpu, std::string(ToText(work.peak)));
  }
  return ceilings;
}

std::string CeilingStore::OwnerOf(const LocalGpu& gpu) const {
  LinkedSoftware software;
  platform_->FillVersions(&software);
  return "ceilings of " + (gpu.uuid.empty() ? gpu.pci_bus_id : gpu.uuid) + " driver " +
         gpu.driver_version + " power limit " + std::to_string(gpu.power_limit_watts.value_or(0)) +
         " runner " ASSAY_VERSION " cuda " + software.cuda_runtime.value_or("") + " cublas " +
         software.cublas.value_or("");
}

std::optional<double> CeilingStore::Find(const LocalGpu& gpu, const std::string& kind) {
  const std::string owner = OwnerOf(gpu);
  const MeasurementCache::Key key = {kind, 0};
  if (absent_.count(owner + "\n" + kind) > 0) return std::nullopt;
  const auto known = cache_.Find(owner);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const Result<double> measured = platform_->MeasureCeiling(gpu.ordinal, kind);
  if (measured.ok()) {
    cache_.Add(owner, key, *measured);
    return *measured;
  }
  if (IsUnsupported(measured.status())) {
    absent_.insert(owner + "\n" + kind);
  } else {
    std::fprintf(stderr, "assay-runner: the measured ceiling \"%s\": %s\n", kind.c_str(),
                 measured.status().ToString().c_str());
  }
  return std::nullopt;
}

CeilingStore* ProcessCeilings() {
  if (Gpu() == nullptr) return nullptr;
  static CeilingStore store(Gpu(), CacheFolder());
  return &store;
}

}  // namespace assay
