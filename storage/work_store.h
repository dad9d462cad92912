// Reads the data for time estimates: how long cases took in the past, and the remaining work of a
// campaign. Implementations must pass tests/contract/work_store_contract.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// Jobs of one campaign that run equal cases at the same places.
struct Work {
  // The kind of cases that the jobs run: an entry of the campaign's spec, and the numbers of ranks
  // (processes) and nodes per case.
  struct Kind {
    int benchmark_index = 0;
    int ranks = 1;
    int nodes = 1;
    auto operator<=>(const Kind&) const = default;
  };
  Kind kind;
  // The nodes that run the jobs or, for queued jobs, all nodes that may be chosen.
  NodeIds node_ids;
  std::vector<int> gpu_indices;
  bool exclusive_node = true;
  int jobs = 0;
  int64_t cases = 0;  // Without a result, of all these jobs.
};

// The cases of jobs of one kind.
struct KindOfWork {
  Work::Kind kind;
  std::string benchmark;
  std::vector<v1::BenchmarkCase> cases;
};

// A source of data for time estimates. Thread-safe. Methods block on the database and may take
// seconds, so do not call them on threads that renew job leases.
class WorkStore {
 public:
  virtual ~WorkStore() = default;

  // A case for which CaseSeconds returns the expected time.
  struct CaseOfBenchmark {
    std::string benchmark;
    v1::BenchmarkCase one;
  };
  // Returns the expected time of each case in seconds: the mean over a few of its newest results,
  // on any hardware, that were measured with `effort`, such as "standard". Returns nullopt for a
  // case without such results.
  virtual Result<std::vector<std::optional<double>>> CaseSeconds(
      const std::vector<CaseOfBenchmark>& cases, const std::string& effort) = 0;

  // Returns the queued and running jobs of a campaign, or an empty list if it does not exist.
  virtual Result<std::vector<Work>> ListOpenWork(const std::string& campaign_id) = 0;
  // Returns the cases of each kind of the campaign's jobs.
  virtual Result<std::vector<KindOfWork>> ListKindsOfWork(const std::string& campaign_id) = 0;
};

}  // namespace assay::storage
