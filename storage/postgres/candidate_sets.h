// The lists of nodes that jobs with a choice of nodes share.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "storage/node_ids.h"
#include "storage/postgres/pqxx.h"

namespace assay::storage {

// Caches rows of candidate_set, which never change, while a job in memory refers to them.
// Thread-safe.
class CandidateSets {
 public:
  // Returns the candidates of each of `rows`, which need the columns campaign_id, candidate_set and
  // candidate_node_ids of table job. Throws exceptions of pqxx.
  std::vector<NodeIds> Of(pqxx::transaction_base& transaction, const pqxx::result& rows);

 private:
  using Key = std::pair<std::string, int>;  // Campaign and number.
  using Sets = std::map<Key, NodeIds>;

  Sets KeptOf(const std::vector<Key>& keys);
  void Keep(const Sets& sets);

  Mutex mutex_;
  Sets kept_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::storage
