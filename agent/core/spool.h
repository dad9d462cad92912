// Results on disk from before they are sent until they are acknowledged, so that
// neither a lost coordinator nor a killed agent loses one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "assay/v1/result.pb.h"
#include "common/mutex.h"
#include "common/status.h"

namespace assay::agent {

// Which result: at most one is kept for each.
struct ResultKey {
  std::string job_id;
  int64_t epoch = 0;
  int32_t case_index = 0;

  auto operator<=>(const ResultKey&) const = default;
};

// One file a result: a header with the payload's length and CRC-32, then the
// serialised CaseResult. A file is complete under its final name or not there; one
// that is damaged is renamed to NAME.corrupt and left for people. Thread-safe.
class Spool {
 public:
  // Opens `folder`, making it if need be, and takes in what an earlier agent left.
  // Accepts no more results once their files take `limit_bytes`.
  static Result<std::unique_ptr<Spool>> Open(std::string folder, int64_t limit_bytes);

  // On return the result is on disk to stay (fsync). A result with the same key is
  // kept as it is, and this one dropped. RESOURCE_EXHAUSTED with reason SPOOL_FULL
  // beyond the limit; other errors say what the file system said.
  Status Append(const v1::CaseResult& result);

  // NOT_FOUND if there is none with this key (any more), DATA_LOSS if its file was
  // damaged since (it is set aside).
  Result<v1::CaseResult> Read(const ResultKey& key);

  // No effect if there is none.
  void Remove(const ResultKey& key);

  // Oldest first.
  std::vector<ResultKey> Keys() const;
  // How many of this job and epoch.
  size_t CountOf(const std::string& job_id, int64_t epoch) const;
  size_t depth() const;
  // True if Append would refuse a small result: the time to refuse jobs.
  bool Full() const;

 private:
  struct Entry {
    uint64_t number = 0;  // Names the file; grows, so it orders by age.
    int64_t bytes = 0;
  };

  Spool(std::string folder, int64_t limit_bytes);
  Status Load();
  void LoadFile(const std::string& name) ASSAY_REQUIRES(mutex_);
  std::string PathOf(uint64_t number) const;
  void SetAside(const std::string& path, const Status& why) const;

  const std::string folder_;
  const int64_t limit_bytes_;

  mutable Mutex mutex_;
  std::map<ResultKey, Entry> entries_ ASSAY_GUARDED_BY(mutex_);
  int64_t bytes_ ASSAY_GUARDED_BY(mutex_) = 0;
  uint64_t next_number_ ASSAY_GUARDED_BY(mutex_) = 1;
};

}  // namespace assay::agent
