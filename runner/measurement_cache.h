// Measurements of this machine that later cases need: measured ceilings, and times of collectives.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "common/clock.h"

namespace assay {

// Keeps measurements in the process and, given a folder, between processes. Losing them costs
// time but no result, so errors of the folder are printed to stderr and otherwise ignored.
// Used by one thread; several processes may share the folder.
class MeasurementCache {
 public:
  // A series, and a size in bytes for series that have several; otherwise 0.
  using Key = std::pair<std::string, double>;

  // Forgets values older than `max_age`, and the oldest ones beyond `most` per owner. An empty
  // folder keeps values in the process only.
  MeasurementCache(std::string folder, Duration max_age, size_t most, Clock* clock);

  // The values of one owner, which is a line of text that identifies hardware and software.
  std::map<Key, double> Find(const std::string& owner);

  // Stores a positive value; replaces an older one of the same key.
  void Add(const std::string& owner, const Key& key, double value);

 private:
  struct Entry {
    double value = 0;
    WallTime measured_at{};
  };
  using Entries = std::map<Key, Entry>;

  // The entries in memory and in the owner's file, without those to forget.
  Entries& Load(const std::string& owner);
  std::string PathOf(const std::string& owner) const;

  const std::string folder_;
  const Duration max_age_;
  const size_t most_;
  Clock* const clock_;
  std::map<std::string, Entries> known_;  // By owner.
};

// The folder that ASSAY_CACHE_DIR names; empty if it is not set.
std::string CacheFolder();

}  // namespace assay
