// Stores results on disk until the coordinator has acknowledged them. No result is lost if the
// coordinator is unreachable or the agent is killed.
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

// Identifies a result; at most one is kept per key.
struct ResultKey {
  std::string job_id;
  int64_t epoch = 0;
  int32_t case_index = 0;

  auto operator<=>(const ResultKey&) const = default;
};

// A folder with one file per result. A file has a header with the payload's length and CRC-32,
// followed by the serialized CaseResult. Files get their final name only when they are complete. A
// damaged file is renamed to NAME.corrupt and kept. Thread-safe.
class Spool {
 public:
  // Opens `folder`, which is created if necessary, and loads the results that an earlier agent left
  // there. Append refuses results that would make the files exceed `limit_bytes` in total.
  static Result<std::unique_ptr<Spool>> Open(std::string folder, int64_t limit_bytes);

  // Stores a result and returns after it is on disk (fsync). Does nothing if a result with the same
  // key is stored already. Returns RESOURCE_EXHAUSTED (SPOOL_FULL) if the limit is exceeded, or an
  // error of the file system.
  Status Append(const v1::CaseResult& result);

  // Returns the stored result. Returns NOT_FOUND if there is none with this key, or DATA_LOSS if
  // its file is damaged; the file is then renamed and the result forgotten.
  Result<v1::CaseResult> Read(const ResultKey& key);

  // Removes the result, if it is stored.
  void Remove(const ResultKey& key);

  // Returns the keys of all stored results, the oldest first.
  std::vector<ResultKey> Keys() const;
  // Returns the number of results of this job and epoch.
  size_t CountOf(const std::string& job_id, int64_t epoch) const;
  size_t depth() const;
  // Returns true if Append would refuse a small result, which means that jobs must be refused.
  bool Full() const;

 private:
  struct Entry {
    uint64_t number = 0;  // Names the file; increases, so it orders by age.
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
