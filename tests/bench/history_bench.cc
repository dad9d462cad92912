// Measures questions to a generated history (tests/generated_history.h) on a private PostgreSQL:
// the 50th and 95th percentile of each, warm, and lists of nodes while 16 readers ask for what no
// index finds. Prints a table. Ends with 1 if a goal is missed.
//   history_bench [--rows N] [--runs N] [--folder PATH]
// There are 1,000,000 rows and 100 runs of each question if not given. The database stays in the
// folder, if there is one, and is not filled again.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/up/private_postgres.h"
#include "storage/postgres/postgres.h"
#include "tests/generated_history.h"
#include "tests/temporary_folder.h"

namespace assay::storage {
namespace {

constexpr int64_t kDefaultRows = 1'000'000;
constexpr int kDefaultRuns = 100;
constexpr int kWarmUps = 3;
constexpr int kReaders = 16;
constexpr int kNodeLists = 1'000;
constexpr int kNodes = 300;
constexpr double kGoalMs = 50;
constexpr double kAnalysisGoalMs = 100;
constexpr int kRunsPerPlace = 60;

using std::chrono::steady_clock;

double MillisecondsSince(steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
}

double Percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

struct Question {
  std::string name;
  std::function<Status(Database&)> ask;
  double goal_ms = kGoalMs;
};

Question List(std::string name, std::string filter, std::string order = "") {
  return {std::move(name), [=](Database& database) {
            return database.results().List(filter, {50, ""}, order).status();
          }};
}

Question Group(std::string name, std::string filter, std::vector<std::string> by) {
  return {std::move(name), [=](Database& database) {
            v1::GroupResultsRequest request;
            request.set_filter(filter);
            for (const std::string& field : by) request.add_group_by(field);
            return database.results().Group(request).status();
          }};
}

Question Compare(std::string name, std::string filter) {
  return {std::move(name),
          [=](Database& database) { return database.analysis().ListRuns(filter).status(); },
          kAnalysisGoalMs};
}

Question Judge(std::string name, std::string lineage_id) {
  return {std::move(name),
          [=](Database& database) {
            return database.analysis().ListRunsOfLineage(lineage_id, kRunsPerPlace).status();
          },
          kAnalysisGoalMs};
}

// The first call, which is a warm-up, returns all lineages. Later calls return the changes.
Question FindChanged(std::string name) {
  const auto cursor = std::make_shared<std::string>();
  return {std::move(name),
          [cursor](Database& database) -> Status {
            ASSAY_ASSIGN_OR_RETURN(const ChangedLineages changed,
                                   database.analysis().ListChangedLineages(*cursor));
            *cursor = changed.cursor;
            return Status::Ok();
          },
          kAnalysisGoalMs};
}

// The questions of users. Ids are those of the first series.
Result<std::vector<Question>> Questions(Pool& pool) {
  ASSAY_ASSIGN_OR_RETURN(
      const pqxx::result ids,
      pool.Execute("ids", "SELECT series_id, lineage_id FROM series WHERE series_key = 1"));
  const std::string kind = "benchmark = benchmark3 AND gpu.model = H200";
  return std::vector<Question>{
      List("newest", ""),
      List("series = X", "series_id = " + ids[0][0].as<std::string>()),
      List("lineage = X", "lineage_id = " + ids[0][1].as<std::string>()),
      List("benchmark, model, driver < 550", kind + " AND driver < 550"),
      List("gpu.uuid = X", "gpu.uuid = GPU-17-3"),
      List("node = X", "node = n17"),
      List("campaign of the oldest", "campaign = night0"),
      List("failures since yesterday", "end_time >= -1d AND outcome != ok"),
      List("a typo", "benchmark = benchmak3"),
      List("sorted by median, one case", kind + " AND parameters.m = 4096", "median desc"),
      Group("medians by driver and parameter, one month", kind + " AND end_time >= -30d",
            {"driver", "parameters.m"}),
      Group("nodes at one case", kind + " AND parameters.m = 4096", {"node"}),
      Group("best by hardware, one case", "benchmark = benchmark3 AND parameters.m = 4096",
            {"gpu.model", "gpu.count"}),
      Compare("runs of two drivers, one benchmark", kind + " AND driver IN (570.86.10, 580.95.05)"),
      Compare("runs of two drivers, one case",
              kind + " AND parameters.m = 4096 AND driver IN (570.86.10, 580.95.05)"),
      Judge("runs of a lineage, newest of each GPU", ids[0][1].as<std::string>()),
      FindChanged("lineages that changed since the last look"),
  };
}

// Prints a row of the table. Returns whether the question meets the goal.
Result<bool> Measure(Database& database, const Question& question, int runs) {
  std::vector<double> times;
  for (int run = -kWarmUps; run < runs; ++run) {
    const auto begin = steady_clock::now();
    const Status status = question.ask(database);
    if (!status.ok()) return status.WithContext(question.name);
    if (run >= 0) times.push_back(MillisecondsSince(begin));
  }
  const double p95 = Percentile(times, 0.95);
  std::printf("| %s | %.1f | %.1f |%s\n", question.name.c_str(), Percentile(times, 0.5), p95,
              p95 < question.goal_ms ? "" : " over the goal");
  std::fflush(stdout);
  return p95 < question.goal_ms;
}

// Lists nodes while readers ask for what no index finds.
Result<bool> MeasureNodes(Database& database) {
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    ASSAY_RETURN_IF_ERROR(
        database.nodes().Connect("bench", MakeNode(name, name), "", std::chrono::minutes(1)));
  }
  std::atomic<bool> done{false};
  std::atomic<int> answered{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        answered += database.results().List("failure_reason = RUNNER_CRASHED", {}).ok() ? 0 : 1;
      }
    });
  }
  std::vector<double> times;
  Status status;
  for (int i = 0; i < kNodeLists && status.ok(); ++i) {
    const auto begin = steady_clock::now();
    status =
        database.nodes()
            .ListNodesAfter("", kNodes + 1, std::chrono::minutes(1), NodeStore::Benchmarks::kNo)
            .status();
    times.push_back(MillisecondsSince(begin));
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  ASSAY_RETURN_IF_ERROR(status);
  const double p99 = Percentile(times, 0.99);
  std::printf(
      "\n%d lists of %d nodes behind %d readers of an unindexed filter (%d refused): p50 "
      "%.1f ms, p99 %.1f ms%s\n",
      kNodeLists, kNodes, kReaders, answered.load(), Percentile(times, 0.5), p99,
      p99 < kGoalMs ? "" : ", over the goal");
  return p99 < kGoalMs;
}

struct Options {
  int64_t rows = kDefaultRows;
  int runs = kDefaultRuns;
  std::string folder;
};

// Fills the database, unless it is full.
Status Fill(Database& database, Pool& pool, int64_t rows) {
  ASSAY_RETURN_IF_ERROR(database.Migrate());
  ASSAY_ASSIGN_OR_RETURN(const pqxx::result last,
                         pool.Execute("last", "SELECT max(sequence) + 1 FROM result"));
  if (!last[0][0].is_null()) {
    if (last[0][0].as<int64_t>() == rows) return Status::Ok();
    return FailedPrecondition("the folder has a database with another number of rows");
  }
  const auto begin = steady_clock::now();
  ASSAY_RETURN_IF_ERROR(GeneratedHistory{rows}.Fill(pool));
  pqxx::connection connection(pool.conninfo());
  pqxx::nontransaction(connection).exec("VACUUM");
  std::printf("filled in %.0f s\n", MillisecondsSince(begin) / 1e3);
  return Status::Ok();
}

Result<bool> MeasureAll(const Options& options) {
  const TemporaryFolder temporary;
  PrivatePostgresOptions server_options;
  server_options.die_with_parent = true;
  server_options.fsync = false;  // Only reads are measured.
  ASSAY_ASSIGN_OR_RETURN(
      const PrivatePostgres server,
      PrivatePostgres::Start(options.folder.empty() ? temporary.path() + "/db" : options.folder,
                             server_options));
  ASSAY_ASSIGN_OR_RETURN(const auto database, OpenDatabase(server.ConnectionString()));
  ASSAY_ASSIGN_OR_RETURN(const auto pool, Pool::Create(server.ConnectionString(), {}));
  ASSAY_RETURN_IF_ERROR(Fill(*database, *pool, options.rows));
  ASSAY_ASSIGN_OR_RETURN(
      const pqxx::result size,
      pool->Execute("size", "SELECT pg_size_pretty(pg_database_size(current_database()))"));
  std::printf(
      "%lld results, %s, goal %.0f ms, of analyses %.0f ms\n\n| question | p50 ms | p95 ms "
      "|\n|---|---:|---:|\n",
      static_cast<long long>(options.rows), size[0][0].c_str(), kGoalMs, kAnalysisGoalMs);
  std::fflush(stdout);
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Question> questions, Questions(*pool));
  bool met = true;
  for (const Question& question : questions) {
    ASSAY_ASSIGN_OR_RETURN(const bool good, Measure(*database, question, options.runs));
    met = met && good;
  }
  ASSAY_ASSIGN_OR_RETURN(const bool good, MeasureNodes(*database));
  return met && good;
}

}  // namespace
}  // namespace assay::storage

int main(int argc, char** argv) {
  assay::storage::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--rows") options.rows = std::atoll(argv[i + 1]);
    if (std::string_view(argv[i]) == "--runs") options.runs = std::atoi(argv[i + 1]);
    if (std::string_view(argv[i]) == "--folder") options.folder = argv[i + 1];
  }
  const assay::Result<bool> met = assay::storage::MeasureAll(options);
  if (!met.ok()) std::fprintf(stderr, "history_bench: %s\n", met.status().ToString().c_str());
  return met.ok() && *met ? 0 : 1;
}
