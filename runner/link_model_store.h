// What collectives of each size took on this machine, kept so that later results have a
// prediction: in the process, and between processes in a folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "roofline/alpha_beta.h"

namespace assay {

// Used by one thread.
class LinkModelStore {
 public:
  // Times older than this no longer count.
  static constexpr Duration kMaxAge = std::chrono::hours(24 * 30);
  // More are not kept of one machine; the oldest go first.
  static constexpr size_t kMaxPoints = 400;

  // `folder`: where times outlive the process, one file a machine; empty for nowhere.
  explicit LinkModelStore(std::string folder, Clock* clock = &Clock::Real());

  // The model of `series` on `machine`, from all sizes that were added but `bytes`, which
  // it is to predict. `machine` is whatever the ranks' hardware and software is told apart by;
  // `series` is the case without its size. Absent as long as FitAlphaBeta has too little.
  std::optional<AlphaBeta> Fit(const std::string& machine, const std::string& series, double bytes);

  // Keeps a measured time; of the same machine, series and size the newest one counts.
  void Add(const std::string& machine, const std::string& series, const SizedTime& measured);

 private:
  struct Point {
    double seconds = 0;
    WallTime measured_at{};
  };
  // By series and bytes.
  using Points = std::map<std::pair<std::string, double>, Point>;

  Points& Known(const std::string& machine);
  std::string PathOf(const std::string& machine) const;  // Empty: not kept on disk.
  static std::string FileText(const std::string& machine, const Points& points);
  static Points ParseFile(const std::string& machine, const std::string& text);
  void Forget(Points* points) const;

  const std::string folder_;
  Clock* const clock_;
  std::map<std::string, Points> known_;  // By machine.
};

// The store of this process, over the folder that ASSAY_CACHE_DIR names.
LinkModelStore& ProcessLinkModels();

}  // namespace assay
