#include "storage/postgres/candidate_sets.h"

#include "storage/postgres/sql.h"

namespace assay::storage {

std::vector<NodeIds> CandidateSets::Of(pqxx::transaction_base& transaction,
                                       const pqxx::result& rows) {
  std::vector<Key> keys;
  for (const auto& row : rows) {
    const pqxx::field number = row["candidate_set"];
    if (!number.is_null())
      keys.emplace_back(row["campaign_id"].as<std::string>(), number.as<int>());
  }
  Sets sets = KeptOf(keys);
  ArrayLiteral campaigns, numbers;
  bool all = true;
  for (const Key& key : keys) {
    if (!sets.try_emplace(key).second) continue;
    all = false;
    campaigns.Add(key.first);
    numbers.Add(static_cast<int64_t>(key.second));
  }
  if (!all) {
    for (const auto& row : transaction.exec_params(
             "SELECT campaign_id, candidate_set, node_ids FROM candidate_set "
             "JOIN unnest($1::text[], $2::int[]) AS wanted(campaign_id, candidate_set)"
             "  USING (campaign_id, candidate_set)",
             campaigns.Finish(), numbers.Finish())) {
      sets[{row[0].as<std::string>(), row[1].as<int>()}] = TextsOf(row[2]);
    }
    Keep(sets);
  }
  std::vector<NodeIds> candidates;
  auto key = keys.begin();
  for (const auto& row : rows) {
    const bool shared = !row["candidate_set"].is_null();
    candidates.push_back(shared ? sets[*key++] : NodeIds(TextsOf(row["candidate_node_ids"])));
  }
  return candidates;
}

CandidateSets::Sets CandidateSets::KeptOf(const std::vector<Key>& keys) {
  Sets sets;
  MutexLock lock(mutex_);
  for (const Key& key : keys) {
    const auto kept = kept_.find(key);
    if (kept != kept_.end()) sets.insert(*kept);
  }
  return sets;
}

void CandidateSets::Keep(const Sets& sets) {
  MutexLock lock(mutex_);
  std::erase_if(kept_, [](const auto& kept) { return kept.second.sharers() == 1; });
  kept_.insert(sets.begin(), sets.end());
}

}  // namespace assay::storage
