#include "agent/simulate/memory_spool.h"

#include <climits>
#include <iterator>

namespace assay::agent {
namespace {

constexpr size_t kMostResults = 20'000;

}  // namespace

Status MemorySpool::Append(const v1::CaseResult& result, const std::string& fleet_id,
                           OnLost /*on_lost*/) {
  MutexLock lock(mutex_);
  entries_.try_emplace({result.job_id(), result.epoch(), result.case_index()},
                       Entry{fleet_id, result.SerializeAsString()});
  return Status::Ok();
}

Result<v1::CaseResult> MemorySpool::Read(const ResultKey& key) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  v1::CaseResult result;
  if (found == entries_.end() || !result.ParseFromString(found->second.result)) {
    return NotFound("no such result is spooled");
  }
  return result;
}

void MemorySpool::Remove(const ResultKey& key) {
  MutexLock lock(mutex_);
  entries_.erase(key);
}

std::vector<ResultKey> MemorySpool::Keys(const std::string& fleet_id) const {
  MutexLock lock(mutex_);
  std::vector<ResultKey> keys;
  for (const auto& [key, entry] : entries_) {
    if (entry.fleet_id == fleet_id) keys.push_back(key);
  }
  return keys;
}

bool MemorySpool::Has(const ResultKey& key, const std::string& fleet_id) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  return found != entries_.end() && found->second.fleet_id == fleet_id;
}

size_t MemorySpool::CountOf(const std::string& job_id, int64_t epoch) const {
  MutexLock lock(mutex_);
  return static_cast<size_t>(std::distance(entries_.lower_bound({job_id, epoch, INT32_MIN}),
                                           entries_.upper_bound({job_id, epoch, INT32_MAX})));
}

size_t MemorySpool::depth() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

bool MemorySpool::Full() const { return depth() >= kMostResults; }

}  // namespace assay::agent
