// FakeJobStore's leases: which queued jobs run next and where, and who holds them.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "storage/fakes/fake_job_store.h"
#include "storage/placement.h"

namespace assay::storage {
namespace {

// True if the two jobs may not run on one node at once.
bool Conflict(const NewJob& a, const NewJob& b) {
  if (HoldsWholeNodes(a) || HoldsWholeNodes(b)) return true;
  return std::find_first_of(a.gpu_indices.begin(), a.gpu_indices.end(), b.gpu_indices.begin(),
                            b.gpu_indices.end()) != a.gpu_indices.end();
}

Preference PreferenceOf(const FakeDatabase::JobRow& row) {
  return {row.avoid_node_ids, row.same_nodes ? row.node_ids : std::vector<std::string>()};
}

}  // namespace

Result<std::vector<LeasedJob>> FakeJobStore::ClaimJobs(const ClaimRequest& request) {
  MutexLock lock(database_.mutex);
  const MonotonicTime now = database_.clock.Now();
  struct Candidate {
    JobRow* row;
    int priority;
  };
  std::map<std::string, int> running;  // Jobs by campaign.
  std::vector<Candidate> queued;
  for (auto& [id, row] : database_.jobs) {
    if (row.state == v1::JOB_STATE_RUNNING) ++running[row.campaign_id];
    if (row.state == v1::JOB_STATE_QUEUED && row.not_before <= now) {
      queued.push_back({&row, database_.campaigns.at(row.campaign_id).spec.priority()});
    }
  }
  std::vector<LeasedJob> leased;
  const auto rank = [&running](const Candidate& job) {
    return std::tuple(-job.priority, running[job.row->campaign_id], job.row->sequence);
  };
  std::vector<Reservation> reserved;
  while (!queued.empty() && static_cast<int>(leased.size()) < request.limit) {
    const auto best = std::min_element(
        queued.begin(), queued.end(),
        [&rank](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
    JobRow& row = *best->row;
    queued.erase(best);
    const auto nodes = Place(row, request, reserved);
    if (!nodes) {
      Reserve(row, request, reserved);
      continue;
    }
    row.state = v1::JOB_STATE_RUNNING;
    row.node_ids = *nodes;
    row.owner = request.owner;
    row.lease_until = now + request.lease;
    row.start_time = database_.clock.WallNow();
    ++row.epoch;
    ++row.attempts;
    ++running[row.campaign_id];
    Touch(row);
    leased.push_back(Leased(row));
  }
  return leased;
}

Result<std::vector<LeasedJob>> FakeJobStore::RenewLeases(const std::string& owner, Duration lease,
                                                         const std::vector<JobEpoch>& jobs) {
  MutexLock lock(database_.mutex);
  std::vector<LeasedJob> held;
  for (const JobEpoch& job : jobs) {
    const auto it = database_.jobs.find(job.job_id);
    if (it == database_.jobs.end()) continue;
    JobRow& row = it->second;
    if (row.state != v1::JOB_STATE_RUNNING || row.epoch != job.epoch) continue;
    row.owner = owner;
    row.lease_until = database_.clock.Now() + lease;
    held.push_back(Leased(row));
  }
  return held;
}

Result<std::vector<LeasedJob>> FakeJobStore::ListExpired(Duration ago, int limit) {
  MutexLock lock(database_.mutex);
  std::vector<const JobRow*> expired;
  for (const auto& [id, row] : database_.jobs) {
    if (row.state == v1::JOB_STATE_RUNNING && row.lease_until + ago <= database_.clock.Now()) {
      expired.push_back(&row);
    }
  }
  std::sort(expired.begin(), expired.end(), [](const JobRow* a, const JobRow* b) {
    return std::tuple(a->lease_until, a->sequence) < std::tuple(b->lease_until, b->sequence);
  });
  std::vector<LeasedJob> leased;
  for (const JobRow* row : expired) {
    if (static_cast<int>(leased.size()) == limit) break;
    leased.push_back(Leased(*row));
  }
  return leased;
}

LeasedJob FakeJobStore::Leased(const JobRow& row) const {
  LeasedJob leased;
  leased.campaign_id = row.campaign_id;
  leased.job = row.job;
  leased.epoch = row.epoch;
  leased.node_ids = row.node_ids;
  leased.done_cases = DoneCases(row);
  leased.failures = row.failures;
  leased.retries = database_.campaigns.at(row.campaign_id).spec.retries();
  leased.cancel_requested = row.cancel_requested;
  return leased;
}

std::optional<std::vector<std::string>> FakeJobStore::Place(
    const JobRow& row, const ClaimRequest& request,
    const std::vector<Reservation>& reserved) const {
  const std::set<std::string> known = KnownNodes(request);
  const std::set<std::string> held = HeldNodes(row, reserved);
  return ChooseNodes(
      row.job, PreferenceOf(row),
      [&known](const std::string& node) { return known.contains(node); },
      [&held](const std::string& node) { return !held.contains(node); });
}

void FakeJobStore::Reserve(const JobRow& row, const ClaimRequest& request,
                           std::vector<Reservation>& reserved) const {
  const MonotonicTime since = std::max(row.queued_at, row.not_before);
  if (since + request.patience > database_.clock.Now()) return;
  const std::set<std::string> known = KnownNodes(request);
  const std::set<std::string> held = HeldNodes(row, reserved);
  auto nodes = NodesToReserve(
      row.job, PreferenceOf(row),
      [&known](const std::string& node) { return known.contains(node); },
      [&held](const std::string& node) { return !held.contains(node); });
  if (nodes) reserved.push_back({&row.job, *std::move(nodes)});
}

std::set<std::string> FakeJobStore::KnownNodes(const ClaimRequest& request) const {
  std::set<std::string> known;
  for (const std::string& node : request.node_ids) {
    if (database_.nodes.contains(node)) known.insert(node);
  }
  return known;
}

std::set<std::string> FakeJobStore::HeldNodes(const JobRow& row,
                                              const std::vector<Reservation>& reserved) const {
  std::set<std::string> held;
  for (const auto& [id, other] : database_.jobs) {
    if (other.state != v1::JOB_STATE_RUNNING || !Conflict(row.job, other.job)) continue;
    held.insert(other.node_ids.begin(), other.node_ids.end());
  }
  for (const Reservation& other : reserved) {
    if (Conflict(row.job, *other.job)) held.insert(other.node_ids.begin(), other.node_ids.end());
  }
  return held;
}

}  // namespace assay::storage
