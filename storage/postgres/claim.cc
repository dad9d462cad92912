#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "storage/placement.h"
#include "storage/postgres/job_rows.h"
#include "storage/postgres/sql.h"

namespace assay::storage {
namespace {

// The number of unpinned jobs (jobs that can run on several sets of nodes) to read from a
// campaign's queue at a time.
constexpr int kUnpinnedDepth = 32;
// Number of times that the next jobs are read if those before leave nodes free.
constexpr int kMoreReads = 8;
// Larger lists of candidates are stored outside the row of their job.
constexpr int kShortListBytes = 2000;
constexpr int kWholeNode = -1;

struct Candidate {
  std::string campaign_id;
  int64_t sequence = 0;
  NewJob job;  // Only the members that placement needs.
  Preference preference;
  bool aged = false;  // Has waited for the request's patience.
};

struct Queue {
  int priority = 0;
  int64_t running = 0;
  std::deque<Candidate> jobs;  // Oldest first.
  // The unpinned jobs of the last read: their number, and the sequence of the last one.
  int unpinned = 0;
  int64_t last_unpinned = 0;
};

struct Choice {
  Candidate candidate;
  std::vector<std::string> nodes;
};

// Selects the campaigns "active". Append a condition on campaigns "c" and ")". Materialized,
// because PostgreSQL would otherwise count the running jobs again for every row of PerNodeSql.
constexpr const char* kActive =
    "active AS MATERIALIZED (SELECT c.campaign_id, c.priority,"
    "  (SELECT count(*) FROM job r WHERE r.state = 'running' AND r.campaign_id = c.campaign_id) AS "
    "running"
    "  FROM campaign c WHERE c.state = 'active' AND NOT c.cancel_requested"
    "    AND c.pause_time IS NULL";

constexpr const char* kColumns =
    "a.campaign_id, a.priority, a.running, q.sequence, q.job_id, q.node_count,"
    " q.candidate_set, q.candidate_node_ids, q.gpu_indices, q.exclusive_node, q.avoid_node_ids,"
    " q.pinned_node_id IS NULL AS unpinned,"
    " CASE WHEN q.same_nodes THEN q.node_ids ELSE '{}' END AS last_node_ids,"
    " greatest(q.create_time, q.not_before) + $3::interval <= now() AS aged ";

// The candidate sets of the campaigns "active", with the number of their reachable nodes ($4).
constexpr const char* kChoice =
    "choice AS MATERIALIZED ("
    "  SELECT s.campaign_id, s.candidate_set,"
    "    (SELECT count(*) FROM unnest(s.node_ids) AS c(id) WHERE c.id = ANY($4::text[])) AS there"
    "  FROM candidate_set s JOIN active USING (campaign_id)) ";

// Selects queued jobs "u" of campaign "a" that can run on several sets of nodes. $4 lists the
// reachable nodes. Skips jobs that cannot start because too few of their candidates are reachable.
// Queries read only a limited number of jobs, and might otherwise read only such jobs.
// For speed, counts the reachable candidates only once for jobs that share a list of candidates,
// and does not check a job's own list if it is larger than $5 bytes.
constexpr const char* kUnpinned =
    "SELECT * FROM job u WHERE u.state = 'queued' AND u.pinned_node_id IS NULL"
    "  AND u.campaign_id = a.campaign_id AND u.not_before <= now()"
    "  AND CASE WHEN u.candidate_set IS NOT NULL"
    "           THEN (SELECT there FROM choice c WHERE c.campaign_id = u.campaign_id"
    "                 AND c.candidate_set = u.candidate_set) >= u.node_count"
    "           WHEN pg_column_size(u.candidate_node_ids) > $5 THEN true"
    "           ELSE (SELECT count(*) FROM unnest(u.candidate_node_ids) AS c(id)"
    "                 WHERE c.id = ANY($4::text[])) >= u.node_count END ";

// Returns the SQL that selects the first jobs of each campaign's queue.
const std::string& HeadsSql() {
  static const std::string sql =
      std::string("WITH ") + kActive + "), " + kChoice + "SELECT " + kColumns +
      "FROM active a CROSS JOIN LATERAL ("
      "  (SELECT * FROM job p WHERE p.state = 'queued' AND p.pinned_node_id IS NOT NULL"
      "     AND p.campaign_id = a.campaign_id AND p.not_before <= now()"
      "   ORDER BY p.sequence LIMIT $1)"
      "  UNION ALL"
      "  (" +
      kUnpinned +
      "   ORDER BY u.sequence LIMIT $2)) q "
      "ORDER BY q.sequence";
  return sql;
}

// Returns the SQL that selects the next unpinned jobs of the campaigns $1, after the sequences $6.
const std::string& MoreUnpinnedSql() {
  static const std::string sql =
      std::string(
          "WITH more AS (SELECT * FROM unnest($1::text[], $6::bigint[])"
          "              AS m(campaign_id, last_sequence)),") +
      kActive + " AND c.campaign_id = ANY($1::text[])), " + kChoice + "SELECT " + kColumns +
      "FROM more JOIN active a USING (campaign_id) CROSS JOIN LATERAL ("
      "  " +
      kUnpinned +
      "    AND u.sequence > more.last_sequence ORDER BY u.sequence LIMIT $2) q "
      "ORDER BY q.sequence";
  return sql;
}

// Selects the oldest pinned jobs of each node in $1.
const std::string& PerNodeSql() {
  static const std::string sql =
      std::string("WITH ") + kActive + ") SELECT " + kColumns +
      "FROM unnest($1::text[]) AS reach(node_id) CROSS JOIN active a CROSS JOIN LATERAL ("
      "  SELECT * FROM job p WHERE p.state = 'queued' AND p.pinned_node_id = reach.node_id"
      "    AND p.campaign_id = a.campaign_id AND p.not_before <= now()"
      "  ORDER BY p.sequence LIMIT $2) q "
      "ORDER BY q.sequence";
  return sql;
}

// The GPUs and nodes that jobs hold.
class Holdings {
 public:
  void Load(const pqxx::result& rows) {
    for (const auto& row : rows) held_[row[0].as<std::string>()].insert(row[1].as<int>());
  }

  bool IsFree(const std::string& node, const NewJob& job) const {
    const auto it = held_.find(node);
    if (it == held_.end()) return true;
    if (HoldsWholeNodes(job) || it->second.contains(kWholeNode)) return false;
    return std::none_of(job.gpu_indices.begin(), job.gpu_indices.end(),
                        [&](int gpu) { return it->second.contains(gpu); });
  }

  void Take(const std::vector<std::string>& nodes, const NewJob& job) {
    for (const std::string& node : nodes) {
      if (HoldsWholeNodes(job)) {
        held_[node].insert(kWholeNode);
      } else {
        held_[node].insert(job.gpu_indices.begin(), job.gpu_indices.end());
      }
    }
  }

  bool HasWholeHold(const std::string& node) const {
    const auto it = held_.find(node);
    return it != held_.end() && it->second.contains(kWholeNode);
  }

 private:
  std::unordered_map<std::string, std::set<int>> held_;
};

class Claim {
 public:
  Claim(Transaction& transaction, const JobStore::ClaimRequest& request, CandidateSets& sets)
      : transaction_(transaction), request_(request), sets_(sets) {}

  std::vector<LeasedJob> Run() {
    node_ids_ = NodesForJobs();
    nodes_ = ArrayOf(node_ids_);
    holdings_.Load(transaction_.exec_params(
        "SELECT node_id, gpu_index FROM allocation WHERE node_id = ANY($1::text[])", nodes_));
    reachable_.insert(node_ids_.begin(), node_ids_.end());
    const int depth = 4 * request_.limit;
    AddToQueues(transaction_.exec_params(HeadsSql(), depth, kUnpinnedDepth,
                                         Interval(request_.patience), nodes_, kShortListBytes));
    bool more = false;  // There may be pinned jobs beyond the heads.
    for (const auto& [id, queue] : queues_) {
      more = more || static_cast<int>(queue.jobs.size()) >= depth;
    }
    Choose();
    if (more && Wanted() > 0) {
      LookBehindHeads();
      Choose();
    }
    for (int read = 0; read < kMoreReads && Wanted() > 0 && ReadMoreUnpinned(); ++read) Choose();
    return Commit();
  }

 private:
  // Returns the nodes of the request that are neither quarantined nor cordoned.
  std::vector<std::string> NodesForJobs() {
    std::unordered_set<std::string> barred;
    for (const auto& row : transaction_.exec(
             "SELECT node_id FROM node WHERE quarantine IS NOT NULL OR cordon_time IS NOT NULL")) {
      barred.insert(row[0].as<std::string>());
    }
    std::vector<std::string> node_ids = request_.node_ids;
    std::erase_if(node_ids, [&](const std::string& id) { return barred.contains(id); });
    return node_ids;
  }

  int Wanted() const { return request_.limit - static_cast<int>(choices_.size()); }

  void AddToQueues(const pqxx::result& rows) {
    const std::vector<NodeIds> candidates = sets_.Of(transaction_, rows);
    for (size_t i = 0; i < candidates.size(); ++i) {
      const pqxx::row row = rows[static_cast<pqxx::result::size_type>(i)];
      Candidate candidate;
      candidate.job.job_id = row["job_id"].as<std::string>();
      if (!seen_.insert(candidate.job.job_id).second) continue;
      candidate.campaign_id = row["campaign_id"].as<std::string>();
      candidate.sequence = row["sequence"].as<int64_t>();
      candidate.job.node_count = row["node_count"].as<int>();
      candidate.job.candidate_node_ids = candidates[i];
      candidate.job.gpu_indices = IntegersOf(row["gpu_indices"]);
      candidate.job.exclusive_node = row["exclusive_node"].as<bool>();
      candidate.preference = {TextsOf(row["avoid_node_ids"]), TextsOf(row["last_node_ids"])};
      candidate.aged = row["aged"].as<bool>();
      const auto [it, fresh] = queues_.try_emplace(candidate.campaign_id);
      if (fresh) {
        it->second.priority = row["priority"].as<int>();
        it->second.running = row["running"].as<int64_t>();
      }
      if (row["unpinned"].as<bool>()) {
        ++it->second.unpinned;
        it->second.last_unpinned = candidate.sequence;
      }
      it->second.jobs.push_back(std::move(candidate));
    }
  }

  // Returns the nodes that are at least partly free.
  std::vector<std::string> OpenNodes() const {
    std::vector<std::string> open;
    for (const std::string& node : node_ids_) {
      if (!holdings_.HasWholeHold(node)) open.push_back(node);
    }
    return open;
  }

  // Reads more unpinned jobs, which can run on several sets of nodes, from every queue that may
  // have more. Otherwise jobs waiting for busy nodes would block the jobs behind them. Returns
  // false if there are no more such jobs or if no node is free.
  bool ReadMoreUnpinned() {
    ArrayLiteral campaigns, last;
    bool any = false;
    for (const auto& [id, queue] : queues_) {
      if (queue.unpinned < kUnpinnedDepth) continue;
      campaigns.Add(id);
      last.Add(queue.last_unpinned);
      any = true;
    }
    if (!any || OpenNodes().empty()) return false;
    for (auto& [id, queue] : queues_) queue.unpinned = 0;
    AddToQueues(transaction_.exec_params(MoreUnpinnedSql(), campaigns.Finish(), kUnpinnedDepth,
                                         Interval(request_.patience), nodes_, kShortListBytes,
                                         last.Finish()));
    return true;
  }

  // Reads more pinned jobs, which must run on specific nodes, for all nodes that are at least
  // partly free. Otherwise these nodes would stay idle if all jobs read so far are pinned to busy
  // ones.
  void LookBehindHeads() {
    const std::vector<std::string> open = OpenNodes();
    constexpr int kPerNode = 16;
    if (!open.empty()) {
      AddToQueues(transaction_.exec_params(PerNodeSql(), ArrayOf(open), kPerNode,
                                           Interval(request_.patience)));
    }
  }

  // Removes and returns the next job to assign to nodes. Campaigns with higher priority come first,
  // then those with fewer running jobs, then those with the oldest job. Returns nullopt if all
  // queues are empty.
  std::optional<Candidate> Next() {
    Queue* first = nullptr;
    const auto rank = [](const Queue& queue) {
      return std::tuple(-queue.priority, queue.running, queue.jobs.front().sequence);
    };
    for (auto& [id, queue] : queues_) {
      if (queue.jobs.empty()) continue;
      if (first == nullptr || rank(queue) < rank(*first)) first = &queue;
    }
    if (first == nullptr) return std::nullopt;
    Candidate candidate = std::move(first->jobs.front());
    first->jobs.pop_front();
    return candidate;
  }

  // Chooses nodes for queued jobs, in order of priority. Skips a job if too few nodes are currently
  // free for it. If the job has waited long enough, also reserves nodes for it, so that later jobs
  // cannot take them.
  void Choose() {
    while (Wanted() > 0) {
      std::optional<Candidate> next = Next();
      if (!next) return;
      const NewJob& job = next->job;
      const auto reachable = [&](const std::string& node) { return reachable_.contains(node); };
      const auto is_free = [&](const std::string& node) { return holdings_.IsFree(node, job); };
      auto nodes = ChooseNodes(job, next->preference, reachable, is_free);
      if (nodes) {
        holdings_.Take(*nodes, job);
        ++queues_[next->campaign_id].running;
        choices_.push_back({*std::move(next), *std::move(nodes)});
      } else if (next->aged) {
        const auto reserved = NodesToReserve(job, next->preference, reachable, is_free);
        if (reserved) holdings_.Take(*reserved, job);
      }
    }
  }

  // Locks the nodes. Drops choices whose nodes are locked by others or not free any more.
  void LockNodes() {
    std::set<std::string> wanted;
    for (const Choice& choice : choices_) wanted.insert(choice.nodes.begin(), choice.nodes.end());
    std::unordered_set<std::string> locked;
    const std::string nodes = ArrayOf(wanted);
    for (const auto& row : transaction_.exec_params(
             "SELECT node_id FROM node WHERE node_id = ANY($1::text[]) AND quarantine IS NULL"
             "  AND cordon_time IS NULL ORDER BY node_id FOR UPDATE SKIP LOCKED",
             nodes)) {
      locked.insert(row[0].as<std::string>());
    }
    Holdings now;
    now.Load(transaction_.exec_params(
        "SELECT node_id, gpu_index FROM allocation WHERE node_id = ANY($1::text[])", nodes));
    std::erase_if(choices_, [&](const Choice& choice) {
      const NewJob& job = choice.candidate.job;
      const bool free = std::all_of(
          choice.nodes.begin(), choice.nodes.end(),
          [&](const std::string& node) { return locked.contains(node) && now.IsFree(node, job); });
      if (free) now.Take(choice.nodes, job);
      return !free;
    });
  }

  std::vector<LeasedJob> Commit() {
    if (choices_.empty()) return {};
    LockNodes();
    ArrayLiteral ids;
    ArrayLiteral placements;
    std::unordered_map<std::string, size_t> order;
    for (const Choice& choice : choices_) {
      order[choice.candidate.job.job_id] = order.size();
      ids.Add(choice.candidate.job.job_id);
      placements.Add(ArrayOf(choice.nodes));
    }
    // Lock the jobs in a separate statement, so that the snapshot of the next statement is taken
    // after the lock. That snapshot includes all results stored for these jobs, even late ones of
    // the previous attempt.
    const std::string picked = ArrayOf(FirstTexts(transaction_.exec_params(
        "SELECT job_id FROM job WHERE job_id = ANY($1::text[]) AND state = 'queued'"
        "  AND " +
            IsTerm("$2::bigint") + " ORDER BY job_id FOR UPDATE SKIP LOCKED",
        ids.Finish(), request_.term)));
    const pqxx::result rows = transaction_.exec_params(
        "WITH wanted AS (SELECT * FROM unnest($1::text[], $2::text[]) AS w(job_id, nodes)"
        "                WHERE w.job_id = ANY($5::text[])),"
        "j AS ("
        "  UPDATE job SET state = 'running', epoch = epoch + 1, attempts = attempts + 1, owner = "
        "$3,"
        "    lease_until = now() + $4::interval, node_ids = w.nodes::text[], start_time = now(),"
        "    revision = pg_current_xact_id()::text::bigint"
        "  FROM wanted w WHERE job.job_id = w.job_id RETURNING job.*),"
        "held AS ("
        "  INSERT INTO allocation SELECT place, gpu, j.job_id FROM j, unnest(j.node_ids) place,"
        "    unnest(CASE WHEN j.exclusive_node OR cardinality(j.gpu_indices) = 0"
        "                THEN '{-1}'::int[] ELSE j.gpu_indices END) gpu)"
        "SELECT " +
            LeasedColumns() + " FROM j",
        ids.Finish(), placements.Finish(), request_.owner, Interval(request_.lease), picked);
    std::vector<LeasedJob> leased = LeasedJobsOf(transaction_, rows, sets_);
    std::sort(leased.begin(), leased.end(), [&](const LeasedJob& a, const LeasedJob& b) {
      return order[a.job.job_id] < order[b.job.job_id];
    });
    return leased;
  }

  Transaction& transaction_;
  const JobStore::ClaimRequest& request_;
  CandidateSets& sets_;
  std::vector<std::string> node_ids_;  // As NodesForJobs returns them.
  std::string nodes_;                  // The same as an array literal.
  std::unordered_set<std::string> reachable_;
  std::unordered_set<std::string> seen_;
  std::map<std::string, Queue> queues_;
  Holdings holdings_;
  std::vector<Choice> choices_;
};

}  // namespace

std::vector<LeasedJob> ClaimJobs(Transaction& transaction, const JobStore::ClaimRequest& request,
                                 CandidateSets& sets) {
  if (request.node_ids.empty() || request.limit < 1) return {};
  return Claim(transaction, request, sets).Run();
}

}  // namespace assay::storage
