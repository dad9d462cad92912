// Stores results on disk before they are sent and until they are acknowledged, so that neither a
// lost coordinator nor a killed agent loses a result.
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

// Keeps one file per result: a header with the payload's length and CRC-32, then the serialised
// CaseResult. A file under its final name is complete. A damaged file is renamed to NAME.corrupt
// and kept. Thread-safe.
class Spool {
 public:
  // Opens `folder`, creates it if necessary, and reads the results that an earlier agent left.
  // Refuses new results once the files exceed `limit_bytes`.
  static Result<std::unique_ptr<Spool>> Open(std::string folder, int64_t limit_bytes);

  // Stores a result durably (fsync) before it returns. If the key exists already, the stored result
  // is kept and this one is dropped. RESOURCE_EXHAUSTED with reason SPOOL_FULL beyond the limit;
  // other errors are those of the file system.
  Status Append(const v1::CaseResult& result);

  // NOT_FOUND if there is no result with this key, DATA_LOSS if its file has been damaged (it is
  // set aside).
  Result<v1::CaseResult> Read(const ResultKey& key);

  // Does nothing if there is none.
  void Remove(const ResultKey& key);

  // Oldest first.
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
