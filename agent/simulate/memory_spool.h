// The spool of a simulated node.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/spool.h"
#include "common/mutex.h"

namespace assay::agent {

// Keeps results in memory: thousands of simulated nodes would otherwise share one disk.
class MemorySpool : public Spool {
 public:
  Status Append(const v1::CaseResult& result, const std::string& fleet_id, OnLost on_lost) override;
  void Flush() override {}
  Result<v1::CaseResult> Read(const ResultKey& key) override;
  void Remove(const ResultKey& key) override;
  void Reject(const ResultKey& key) override { Remove(key); }
  std::vector<ResultKey> Keys(const std::string& fleet_id) const override;
  bool Has(const ResultKey& key, const std::string& fleet_id) const override;
  bool IsOlderThan(const ResultKey& /*key*/, Duration /*age*/) const override { return false; }
  size_t CountOf(const std::string& job_id, int64_t epoch) const override;
  size_t depth() const override;
  bool Full() const override;

 private:
  struct Entry {
    std::string fleet_id;
    std::string result;  // Serialized, which takes less memory.
  };
  mutable Mutex mutex_;
  std::map<ResultKey, Entry> entries_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::agent
