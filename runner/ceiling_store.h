// Measured ceilings of GPUs, found once and reused: in the process, and between
// processes in a folder.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/clock.h"
#include "host/platform.h"
#include "kernels/benchmark.h"
#include "runner/ceiling_file.h"

namespace assay {

// Used by one thread.
class CeilingStore {
 public:
  // What was measured longer ago than this is measured again.
  static constexpr Duration kMaxAge = std::chrono::hours(24);

  // `folder`: where ceilings outlive the process, one file a GPU; empty for nowhere.
  // All pointers outlive the store.
  CeilingStore(GpuPlatform* platform, std::string folder, Clock* clock = &Clock::Real());

  // The ceilings that bound `work` on `gpu`: its memory's for Work::traffic, its
  // arithmetic's for Work::peak, each if the work has any of it. Measures what is not
  // known of this GPU under its present driver and power limit, which needs up to 2 GiB
  // of its memory and takes up to a second each. Absent what cannot be measured.
  Ceilings For(const LocalGpu& gpu, const Work& work);

 private:
  std::optional<double> Find(const LocalGpu& gpu, const std::string& kind);
  std::optional<double> Measure(const LocalGpu& gpu, const std::string& kind);
  CeilingOwner OwnerOf(const LocalGpu& gpu) const;
  std::string PathOf(const LocalGpu& gpu) const;  // Empty: not kept on disk.
  // Of those that `gpu` has in memory, the ones that are not too old.
  CeilingMap& Fresh(const LocalGpu& gpu);

  GpuPlatform* const platform_;
  const std::string folder_;
  Clock* const clock_;
  std::map<std::string, CeilingMap> known_;              // By CeilingFileText(owner, {}).
  std::map<std::string, std::set<std::string>> absent_;  // Kinds without a probe, likewise.
};

// The store of this process, over the GPUs of this build and the folder that
// ASSAY_CACHE_DIR names; null if built without CUDA.
CeilingStore* ProcessCeilings();

}  // namespace assay
