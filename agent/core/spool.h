// Stores results on disk until a coordinator has acknowledged them, so that none are lost even if
// the coordinator is unreachable or the agent is killed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "assay/v1/result.pb.h"
#include "common/clock.h"
#include "common/status.h"

namespace assay::agent {

// Identifies a result; at most one is kept per key.
struct ResultKey {
  std::string job_id;
  int64_t epoch = 0;
  int32_t case_index = 0;

  auto operator<=>(const ResultKey&) const = default;
};

// A store of results that wait for an acknowledgement. Thread-safe.
class Spool {
 public:
  virtual ~Spool() = default;

  // Opens `folder` and loads the results left there by an earlier agent process. Creates the folder
  // if it does not exist. Append rejects results that would push the total file size above
  // `limit_bytes`. The destructor waits until all results are on disk.
  //
  // The folder has one file per result. Each consists of a header with a CRC-32, the id of the
  // fleet that assigned the job, and the result. A file gets its final name only once it is
  // complete. Damaged files are renamed to NAME.corrupt and kept.
  static Result<std::unique_ptr<Spool>> Open(std::string folder, int64_t limit_bytes);

  // A callback for results that could not be stored. Called on a thread of the spool.
  using OnLost = std::function<void(Status)>;

  // Stores a result of a job assigned by the fleet `fleet_id`. Returns immediately. The result
  // counts as stored at once, while a background thread writes it to disk (with fsync). If writing
  // fails, drops the result and passes the error to `on_lost`. Does nothing if a result with the
  // same key is already stored. Returns RESOURCE_EXHAUSTED (SPOOL_FULL) if the spool would exceed
  // its size limit.
  virtual Status Append(const v1::CaseResult& result, const std::string& fleet_id,
                        OnLost on_lost) = 0;

  // Blocks until all stored results are on disk and all calls of OnLost callbacks have returned.
  virtual void Flush() = 0;

  // Returns the stored result with this key, or NOT_FOUND if there is none. If the result's file is
  // damaged, renames the file, drops the result from the spool and returns DATA_LOSS.
  virtual Result<v1::CaseResult> Read(const ResultKey& key) = 0;

  // Removes the result, if it is stored.
  virtual void Remove(const ResultKey& key) = 0;

  // Removes the result from the spool, but keeps its file in the folder "rejected" next to the
  // spool's folder, so that the user can inspect it. When that folder exceeds 16 MiB, its oldest
  // files are deleted.
  virtual void Reject(const ResultKey& key) = 0;

  // Returns the keys of all results of this fleet, the oldest first.
  virtual std::vector<ResultKey> Keys(const std::string& fleet_id) const = 0;
  // Returns true if this result is stored and belongs to this fleet.
  virtual bool Has(const ResultKey& key, const std::string& fleet_id) const = 0;
  // Returns true if the result is stored, and its file was written longer ago than `age`.
  virtual bool IsOlderThan(const ResultKey& key, Duration age) const = 0;
  // Returns the number of results of this job and epoch.
  virtual size_t CountOf(const std::string& job_id, int64_t epoch) const = 0;
  virtual size_t depth() const = 0;
  // Returns true if Append would refuse a small result, which means that jobs must be refused.
  virtual bool Full() const = 0;
};

}  // namespace assay::agent
