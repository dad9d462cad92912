#include <map>
#include <set>
#include <tuple>

#include "storage/fakes/fake_stores.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

Work::Kind KindOf(const NewJob& job) {
  return {job.benchmark_index.value_or(0), job.world_size, job.node_count};
}

}  // namespace

Result<std::vector<std::optional<double>>> FakeWorkStore::CaseSeconds(
    const std::vector<CaseOfBenchmark>& cases, const std::string& effort) {
  MutexLock lock(database_.mutex);
  std::vector<std::optional<double>> times;
  for (const CaseOfBenchmark& one : cases) {
    double sum = 0;
    int count = 0;
    for (const FakeDatabase::ResultRow& row : database_.results) {
      const v1::CaseResult& result = row.stored.case_result();
      const double seconds =
          std::chrono::duration<double>(schema::FromTimestamp(result.end_time()) -
                                        schema::FromTimestamp(result.start_time()))
              .count();
      const bool same = result.benchmark() == one.benchmark && result.measurements_size() > 0 &&
                        result.measurements(0).method().effort() == effort &&
                        std::map(result.parameters().begin(), result.parameters().end()) ==
                            std::map(one.one.parameters().begin(), one.one.parameters().end());
      if (!same || seconds <= 0) continue;
      sum += seconds;
      ++count;
    }
    times.push_back(count == 0 ? std::optional<double>() : sum / count);
  }
  return times;
}

Result<std::vector<Work>> FakeWorkStore::ListOpenWork(const std::string& campaign_id) {
  MutexLock lock(database_.mutex);
  std::map<std::tuple<Work::Kind, NodeIds, std::vector<int>, bool>, Work> groups;
  for (const auto& [id, row] : database_.jobs) {
    const bool running = row.shown.state() == v1::JOB_STATE_RUNNING;
    if (row.campaign_id != campaign_id || !row.job.benchmark_index ||
        (!running && row.shown.state() != v1::JOB_STATE_QUEUED)) {
      continue;
    }
    const NodeIds nodes = running ? NodeIds(row.node_ids) : row.job.candidate_node_ids;
    Work& work = groups[{KindOf(row.job), nodes, row.job.gpu_indices, row.job.exclusive_node}];
    work.kind = KindOf(row.job);
    work.node_ids = nodes;
    work.gpu_indices = row.job.gpu_indices;
    work.exclusive_node = row.job.exclusive_node;
    ++work.jobs;
    work.cases += static_cast<int64_t>(row.job.cases.size() - row.done_cases.size());
  }
  std::vector<Work> work;
  for (auto& [key, one] : groups) work.push_back(std::move(one));
  return work;
}

Result<std::vector<KindOfWork>> FakeWorkStore::ListKindsOfWork(const std::string& campaign_id) {
  MutexLock lock(database_.mutex);
  std::map<Work::Kind, KindOfWork> kinds;
  for (const auto& [id, row] : database_.jobs) {
    if (row.campaign_id != campaign_id || !row.job.benchmark_index) continue;
    kinds[KindOf(row.job)] = {KindOf(row.job), row.job.benchmark, row.job.cases};
  }
  std::vector<KindOfWork> list;
  for (auto& [key, kind] : kinds) list.push_back(std::move(kind));
  return list;
}

}  // namespace assay::storage
