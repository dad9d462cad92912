// Measures storage on a private PostgreSQL with fsync on: jobs claimed and completed per second,
// rows stored per second and bytes per row, the end of a retried job in a large campaign, and the
// queries of watchers. Prints the figures. Exits with 1 if a figure misses its limit.
//   storage_bench [results]    with "results" only those of storing results
#include <malloc.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <thread>

#include "cli/up/private_postgres.h"
#include "storage/postgres/postgres.h"
#include "storage/postgres/pqxx.h"
#include "tests/storage_records.h"
#include "tests/temporary_folder.h"

namespace assay::storage {
namespace {

constexpr int kThreads = 8;
constexpr int kNodes = 1024;
constexpr int kJobs = 16'384;
constexpr int kWaitingJobs = 10'000;
constexpr int kResultJobs = 100;
constexpr int kCases = 1000;
constexpr int kBatch = 250;
constexpr double kGoalRowsPerSecond = 20'000;
constexpr int kWriters = 2;  // As many batches are in flight.

// Limits of the end of a retried job, whatever its campaign has stored.
constexpr double kMostRetryMillis = 50;
constexpr int kMostRetryKibibytes = 1024;

using std::chrono::steady_clock;

double SecondsSince(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

std::string NodeId(int number) { return "node" + std::to_string(number); }

const std::string kRetryNode = NodeId(kResultJobs);

Status ConnectNodes(Database& database) {
  for (int i = 0; i < kNodes; ++i) {
    ASSAY_RETURN_IF_ERROR(database.nodes().Connect("bench", MakeNode(NodeId(i), NodeId(i)), "",
                                                   std::chrono::minutes(1)));
  }
  return Status::Ok();
}

// Claims and completes jobs until none is left for this thread's share of the nodes.
int ClaimAndComplete(JobStore& jobs, int thread) {
  std::vector<std::string> nodes;
  for (int i = thread; i < kNodes; i += kThreads) nodes.push_back(NodeId(i));
  int completed = 0;
  while (true) {
    const auto leased = jobs.ClaimJobs({"bench", std::chrono::minutes(1), nodes, 128});
    if (!leased.ok()) std::fprintf(stderr, "%s\n", leased.status().ToString().c_str());
    if (!leased.ok() || leased->empty()) return completed;
    for (const LeasedJob& job : *leased) {
      FinishedAttempt attempt;
      attempt.job = {job.job.job_id, job.epoch};
      const auto outcome = jobs.FinishAttempt(attempt);
      completed += outcome.ok() && outcome->held ? 1 : 0;
    }
  }
}

// Measures the query of every watcher of a campaign, and a claim, with jobs that may run on any
// node.
Status BenchWaiting(Database& database) {
  std::vector<std::string> nodes;
  for (int i = 0; i < kNodes; ++i) nodes.push_back(NodeId(i));
  std::vector<NewJob> list;
  for (int i = 1; i <= kWaitingJobs; ++i) {
    list.push_back(MakeJob(nodes));
    list.back().repetition = i;
  }
  ASSAY_ASSIGN_OR_RETURN(const v1::Campaign campaign,
                         database.jobs().CreateCampaign(MakeCampaign(std::move(list))));
  auto begin = steady_clock::now();
  ASSAY_RETURN_IF_ERROR(database.jobs().ListWaiting(campaign.campaign_id(), {}).status());
  std::printf("list what jobs wait for: %.1f ms (%d jobs, %d candidates each)\n",
              1e3 * SecondsSince(begin), kWaitingJobs, kNodes);
  begin = steady_clock::now();
  ASSAY_ASSIGN_OR_RETURN(const auto leased,
                         database.jobs().ClaimJobs({"bench", std::chrono::hours(1), nodes, 16}));
  std::printf("claim %zu of them: %.1f ms\n", leased.size(), 1e3 * SecondsSince(begin));
  return database.jobs().CancelCampaign(campaign.campaign_id()).status();
}

Status BenchJobs(Database& database) {
  std::vector<NewJob> list;
  for (int i = 0; i < kJobs; ++i) list.push_back(MakeJob({NodeId(i % kNodes)}));
  auto begin = steady_clock::now();
  ASSAY_RETURN_IF_ERROR(database.jobs().CreateCampaign(MakeCampaign(std::move(list))).status());
  std::printf("create a campaign: %.0f jobs/s (%d jobs)\n", kJobs / SecondsSince(begin), kJobs);

  begin = steady_clock::now();
  std::vector<int> completed(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back(
        [&, t] { completed[static_cast<size_t>(t)] = ClaimAndComplete(database.jobs(), t); });
  }
  for (std::thread& thread : threads) thread.join();
  int total = 0;
  for (int one : completed) total += one;
  std::printf("claim and complete: %.0f jobs/s (%d jobs, %d threads, %d nodes)\n",
              total / SecondsSince(begin), total, kThreads, kNodes);
  return Status::Ok();
}

// Also leaves a job with two cases in the campaign, for BenchRetriedJob.
Status BenchResults(Database& database) {
  std::vector<NewJob> list;
  std::vector<std::string> nodes;
  for (int i = 0; i < kResultJobs; ++i) {
    list.push_back(MakeJob({NodeId(i)}));
    for (int c = 1; c < kCases; ++c) {
      v1::BenchmarkCase one = list.back().cases[0];
      one.set_case_index(c);
      list.back().cases.push_back(one);
    }
    nodes.push_back(NodeId(i));
  }
  list.push_back(MakeJob({kRetryNode}, 2));
  ASSAY_RETURN_IF_ERROR(database.jobs().CreateCampaign(MakeCampaign(std::move(list))).status());
  ASSAY_ASSIGN_OR_RETURN(const auto leased,
                         database.jobs().ClaimJobs({"bench", std::chrono::hours(1), nodes, 128}));
  std::vector<std::vector<SentResult>> batches;
  for (const LeasedJob& job : leased) {
    for (int c = 0; c < kCases; ++c) {
      if (c % kBatch == 0) batches.emplace_back();
      batches.back().push_back(AsSent({MakeResult(job, c)})[0]);
    }
  }
  const auto begin = steady_clock::now();
  std::atomic<size_t> next{0};
  std::vector<Status> statuses(kWriters);
  std::vector<std::thread> writers;
  for (Status& status : statuses) {
    writers.emplace_back([&] {
      for (size_t i = next++; i < batches.size() && status.ok(); i = next++) {
        status = database.results().Commit(batches[i]).status();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (const Status& status : statuses) ASSAY_RETURN_IF_ERROR(status);
  const double rows = static_cast<double>(batches.size()) * kBatch * 2;
  std::printf(
      "store results: %.0f rows/s, goal %.0f (batches of %d cases, two rows each, %d in flight)\n",
      rows / SecondsSince(begin), kGoalRowsPerSecond, kBatch, kWriters);
  return Status::Ok();
}

// Returns a size in KiB from /proc/self/status, for example VmRSS.
int MemoryKibibytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == name + ":" && status >> word) return std::stoi(word);
  }
  return 0;
}

// Makes VmHWM the present VmRSS, without memory that has been freed.
void ResetPeakMemory() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
}

// Measures the end of a job whose results come from two attempts: the coordinator reads the
// outcomes of its cases and ends it.
Status BenchRetriedJob(Database& database) {
  const JobStore::ClaimRequest claim{"bench", std::chrono::hours(1), {kRetryNode}, 1};
  ASSAY_ASSIGN_OR_RETURN(const auto first, database.jobs().ClaimJobs(claim));
  FinishedAttempt attempt;
  attempt.job = {first.at(0).job.job_id, first.at(0).epoch};
  attempt.disposition = Disposition::kRequeue;
  attempt.failure.emplace().set_reason(v1::REASON_AGENT_STOPPED);
  ASSAY_RETURN_IF_ERROR(database.results().Commit(AsSent({MakeResult(first.at(0), 0)})).status());
  ASSAY_RETURN_IF_ERROR(database.jobs().FinishAttempt(attempt).status());
  ASSAY_ASSIGN_OR_RETURN(const auto second, database.jobs().ClaimJobs(claim));
  ASSAY_RETURN_IF_ERROR(database.results().Commit(AsSent({MakeResult(second.at(0), 1)})).status());

  attempt = {};
  attempt.job = {second.at(0).job.job_id, second.at(0).epoch};
  ResetPeakMemory();
  const int before = MemoryKibibytes("VmRSS");
  const auto begin = steady_clock::now();
  ASSAY_ASSIGN_OR_RETURN(const auto results, database.results().ListOfJob(attempt.job.job_id));
  ASSAY_ASSIGN_OR_RETURN(const FinishOutcome outcome, database.jobs().FinishAttempt(attempt));
  const double millis = 1e3 * SecondsSince(begin);
  const int grown = MemoryKibibytes("VmHWM") - before;
  std::printf("end of a retried job: %.1f ms, %d KiB more at the peak (campaign of %d results)\n",
              millis, grown, kResultJobs * kCases * 2);
  if (!outcome.held || results.size() != 2) return Internal("the retried job did not end");
  if (millis < kMostRetryMillis && grown < kMostRetryKibibytes) return Status::Ok();
  return Internal("the end of a retried job depends on its campaign's results");
}

// Prints the size of what BenchResults stored.
void PrintBytes(const std::string& conninfo) {
  pqxx::connection connection(conninfo);
  pqxx::nontransaction work(connection);
  const pqxx::row sizes = work.exec(
      "WITH part AS (SELECT inhrelid AS oid FROM pg_inherits WHERE inhparent = 'result'::regclass)"
      "SELECT sum(pg_table_size(oid)), sum(pg_indexes_size(oid)), (SELECT count(*) FROM result),"
      "  pg_total_relation_size('case_result'), (SELECT count(*) FROM case_result),"
      "  pg_total_relation_size('sample'), (SELECT count(*) FROM sample) FROM part")[0];
  const auto per_row = [&](int bytes, int rows) {
    return sizes[bytes].as<double>() / sizes[rows].as<double>();
  };
  std::printf("bytes per row: result %.0f heap + %.0f indexes; case_result %.0f; sample %.0f\n",
              per_row(0, 2), per_row(1, 2), per_row(3, 4), per_row(5, 6));
}

Status BenchAll(bool only_results) {
  const TemporaryFolder folder;
  PrivatePostgresOptions options;
  options.die_with_parent = true;
  ASSAY_ASSIGN_OR_RETURN(const PrivatePostgres server,
                         PrivatePostgres::Start(folder.path() + "/db", options));
  ASSAY_ASSIGN_OR_RETURN(const auto database, OpenDatabase(server.ConnectionString()));
  ASSAY_RETURN_IF_ERROR(database->Migrate());
  ASSAY_RETURN_IF_ERROR(ConnectNodes(*database));
  ASSAY_RETURN_IF_ERROR(BenchResults(*database));
  PrintBytes(server.ConnectionString());
  ASSAY_RETURN_IF_ERROR(BenchRetriedJob(*database));
  if (only_results) return Status::Ok();
  ASSAY_RETURN_IF_ERROR(BenchJobs(*database));
  return BenchWaiting(*database);
}

}  // namespace
}  // namespace assay::storage

int main(int argc, char** argv) {
  const bool only_results = argc > 1 && std::string_view(argv[1]) == "results";
  const assay::Status status = assay::storage::BenchAll(only_results);
  if (!status.ok()) std::fprintf(stderr, "storage_bench: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
