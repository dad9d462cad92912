// Stores results on disk until a coordinator has acknowledged them. No result is lost if the
// coordinator cannot be reached or the agent is killed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "assay/v1/result.pb.h"
#include "common/clock.h"
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

// A folder with one file per result. Each file consists of a header, with lengths and a CRC-32, the
// id of the fleet that assigned the job, and the serialized CaseResult. A file gets its final name
// only when it is complete. A damaged file is renamed to NAME.corrupt and kept. Thread-safe.
class Spool {
 public:
  // Opens `folder` and loads the results that an earlier agent process left there. Creates the
  // folder if it does not exist. Append later refuses a result if all files together would exceed
  // `limit_bytes`.
  static Result<std::unique_ptr<Spool>> Open(std::string folder, int64_t limit_bytes);

  // Stores a result of a job that this fleet assigned, and returns when it is safe on disk (fsync).
  // Does nothing if a result with the same key is already stored. Returns RESOURCE_EXHAUSTED
  // (SPOOL_FULL) if the spool would exceed its size limit, or the error of the file system.
  Status Append(const v1::CaseResult& result, const std::string& fleet_id);

  // Returns the stored result with this key, or NOT_FOUND if there is none. If its file is damaged,
  // renames the file, forgets the result and returns DATA_LOSS.
  Result<v1::CaseResult> Read(const ResultKey& key);

  // Removes the result, if it is stored.
  void Remove(const ResultKey& key);

  // Moves the result's file to the folder "rejected", next to the spool's folder. It is kept there
  // for a person, and no longer counts as stored. If that folder exceeds 16 MiB, its oldest files
  // are deleted.
  void Reject(const ResultKey& key);

  // Returns the keys of all results of this fleet, the oldest first.
  std::vector<ResultKey> Keys(const std::string& fleet_id) const;
  // Returns true if this result is stored and belongs to this fleet.
  bool Has(const ResultKey& key, const std::string& fleet_id) const;
  // Returns true if the result is stored, and its file was written longer ago than `age`.
  bool IsOlderThan(const ResultKey& key, Duration age) const;
  // Returns the number of results of this job and epoch.
  size_t CountOf(const std::string& job_id, int64_t epoch) const;
  size_t depth() const;
  // Returns true if Append would refuse a small result, which means that jobs must be refused.
  bool Full() const;

 private:
  struct Entry {
    uint64_t number = 0;  // Names the file; increases, so it orders by age.
    int64_t bytes = 0;
    std::string fleet_id;
  };
  using Entries = std::map<ResultKey, Entry>;

  Spool(std::string folder, int64_t limit_bytes);
  Status Load();
  void LoadFile(const std::string& name) ASSAY_REQUIRES(mutex_);
  std::string PathOf(uint64_t number) const;
  void SetAside(const std::string& path, const Status& why) const;
  void Forget(Entries::iterator entry) ASSAY_REQUIRES(mutex_);

  const std::string folder_;
  const std::string rejected_folder_;
  const int64_t limit_bytes_;

  mutable Mutex mutex_;
  Entries entries_ ASSAY_GUARDED_BY(mutex_);
  int64_t bytes_ ASSAY_GUARDED_BY(mutex_) = 0;
  uint64_t next_number_ ASSAY_GUARDED_BY(mutex_) = 1;
};

}  // namespace assay::agent
