// Bounds on the rows that PostgreSQL reads for a request, which hold on a machine of any speed.
#include <gtest/gtest.h>

#include <thread>

#include "tests/contract/postgres_stores.h"

namespace assay::storage {
namespace {

constexpr int kJobs = 50;
constexpr int kCases = 100;

std::vector<std::string> NodesOf(int count) {
  std::vector<std::string> nodes;
  for (int i = 0; i < count; ++i) nodes.push_back("n" + std::to_string(i));
  return nodes;
}

// Stores the results of a campaign whose last job has two cases and one attempt for each. Returns
// the second attempt, which has not ended.
JobEpoch StoredCampaignWithRetriedJob(Stores& stores) {
  const std::vector<std::string> nodes = NodesOf(kJobs + 1);
  std::vector<NewJob> jobs;
  for (const std::string& node : nodes) {
    EXPECT_TRUE(stores.nodes().Connect("c", MakeNode(node, node), "", kStale).ok());
    jobs.push_back(MakeJob({node}, kCases));
  }
  jobs.back() = MakeJob({nodes.back()}, 2);
  const std::string retried = jobs.back().job_id;
  EXPECT_TRUE(stores.jobs().CreateCampaign(MakeCampaign(std::move(jobs))).ok());
  const auto leased = stores.jobs().ClaimJobs({"c", std::chrono::hours(1), nodes, kJobs + 1});
  EXPECT_TRUE(leased.ok() && leased->size() == nodes.size()) << leased.status();
  for (const LeasedJob& job : *leased) {
    std::vector<v1::CaseResult> results;
    const int cases = job.job.job_id == retried ? 1 : kCases;
    for (int i = 0; i < cases; ++i) results.push_back(MakeResult(job, i));
    EXPECT_TRUE(stores.results().Commit(AsSent(results)).ok());
  }
  FinishedAttempt first;
  first.job = {retried, 1};
  first.disposition = Disposition::kRequeue;
  first.failure.emplace().set_reason(v1::REASON_AGENT_STOPPED);
  EXPECT_TRUE(stores.jobs().FinishAttempt(first).ok());
  const auto again = stores.jobs().ClaimJobs({"c", std::chrono::hours(1), {nodes.back()}, 1});
  EXPECT_TRUE(again.ok() && again->size() == 1) << again.status();
  EXPECT_TRUE(stores.results().Commit(AsSent({MakeResult(again->front(), 1)})).ok());
  return {again->front().job.job_id, again->front().epoch};
}

// Returns how many rows of tables with such names have been read. A server process publishes its
// counts when it ends at the latest, so close all other connections before.
int RowsRead(PostgresStores& stores, const std::string& tables) {
  while (stores.Value("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                      "  AND backend_type = 'client backend' AND pid <> pg_backend_pid()") != "0") {
    std::this_thread::yield();
  }
  return std::stoi(
      stores.Value("SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) "
                   "FROM pg_stat_user_tables WHERE relname ~ '^(" +
                   tables + ")$'"));
}

TEST(Work, EndOfARetriedJob_ReadsNoOtherResultOfItsCampaign) {
  PostgresStores stores;
  const JobEpoch job = StoredCampaignWithRetriedJob(stores);
  stores.Execute("ANALYZE");
  stores.Close();
  const int cases = RowsRead(stores, "case_result");
  const int results = RowsRead(stores, "result_.*|sample");
  const int jobs = RowsRead(stores, "job");
  {
    const auto database = *OpenDatabase(stores.conninfo());
    const auto stored = database->results().ListOfJob(job.job_id);
    ASSERT_TRUE(stored.ok()) << stored.status();
    EXPECT_EQ(stored->size(), 2U);
    FinishedAttempt attempt;
    attempt.job = job;
    const auto outcome = database->jobs().FinishAttempt(attempt);
    ASSERT_TRUE(outcome.ok() && outcome->held) << outcome.status();
  }
  EXPECT_EQ(RowsRead(stores, "case_result") - cases, 2);
  EXPECT_EQ(RowsRead(stores, "result_.*|sample") - results, 0);
  EXPECT_LT(RowsRead(stores, "job") - jobs, kJobs);
}

}  // namespace
}  // namespace assay::storage
