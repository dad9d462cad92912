// The state that the fake stores share. Time comes from an injected clock.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/mutex.h"
#include "storage/types.h"

namespace assay::storage {

// Thread-safe: every store holds `mutex` during a call. Must outlive the stores; `clock` must
// outlive it.
struct FakeDatabase {
  struct JobRow {
    NewJob job;
    std::string campaign_id;
    int64_t sequence = 0;  // Order of creation.
    int64_t revision = 0;  // Increases with every change.
    v1::JobState state = v1::JOB_STATE_QUEUED;
    int64_t epoch = 0;
    int attempts = 0;
    std::string owner;
    MonotonicTime lease_until{};
    MonotonicTime queued_at{};
    MonotonicTime not_before{};
    std::vector<std::string> node_ids;  // The latest placement, in rank order.
    std::vector<std::string> avoid_node_ids;
    bool same_nodes = false;
    std::vector<AttemptFailure> failures;
    std::optional<v1::Failure> failure;
    bool cancel_requested = false;
    WallTime create_time{};
    std::optional<WallTime> start_time;
    std::optional<WallTime> end_time;
  };

  struct CampaignRow {
    std::string request_id;
    int64_t sequence = 0;
    v1::CampaignSpec spec;
    std::vector<std::string> job_ids;  // In order of creation.
    v1::CampaignState state = v1::CAMPAIGN_STATE_ACTIVE;
    bool cancel_requested = false;
    v1::Verdict verdict = v1::VERDICT_UNSPECIFIED;
    std::vector<v1::RuleVerdict> rules;
    WallTime create_time{};
    std::optional<WallTime> end_time;
  };

  struct NodeRow {
    v1::NodeDescription description;
    std::string owner;  // Empty: no session.
    std::string dial_address;
    WallTime first_seen{};
    WallTime last_heartbeat{};
    MonotonicTime heard_at{};
  };

  struct CaseRow {
    std::string payload_hash;
  };

  struct ResultRow {
    int64_t sequence = 0;
    v1::StoredResult stored;  // With samples.
  };

  explicit FakeDatabase(Clock& the_clock) : clock(the_clock) {}

  Clock& clock;
  Mutex mutex;
  int64_t next_sequence ASSAY_GUARDED_BY(mutex) = 1;
  std::map<std::string, JobRow> jobs ASSAY_GUARDED_BY(mutex);
  std::map<std::string, CampaignRow> campaigns ASSAY_GUARDED_BY(mutex);
  std::map<std::string, NodeRow> nodes ASSAY_GUARDED_BY(mutex);
  std::set<std::string> dial_addresses ASSAY_GUARDED_BY(mutex);
  // By job and case index.
  std::map<std::pair<std::string, int>, CaseRow> cases ASSAY_GUARDED_BY(mutex);
  std::vector<ResultRow> results ASSAY_GUARDED_BY(mutex);  // Oldest first.
};

}  // namespace assay::storage
