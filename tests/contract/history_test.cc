// Questions to a history of 220,000 results in PostgreSQL. Each must find its results by an index,
// and find the same ones as a query of result_view. PostgreSQL's own statistics tell which indexes
// were searched and which tables were read completely.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "storage/result_order.h"
#include "tests/contract/postgres_stores.h"
#include "tests/generated_history.h"

namespace assay::storage {
namespace {

constexpr int64_t kResults = 220'000;
constexpr int kPage = 50;

struct Statistics {
  // Rows that were read from `result` and `case_result`.
  int64_t rows = 0;
  int64_t rows_without_index = 0;
  std::map<std::string, int64_t> searches;  // By index of `result`.
};

// All tests share one database, because filling it takes seconds.
class HistoryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    stores_ = std::make_unique<PostgresStores>();
    const auto pool = Pool::Create(stores_->conninfo(), {});
    ASSERT_TRUE(pool.ok()) << pool.status();
    const Status filled = GeneratedHistory{kResults}.Fill(**pool);
    ASSERT_TRUE(filled.ok()) << filled;
    stores_->Execute("VACUUM");
  }
  static void TearDownTestSuite() { stores_.reset(); }

  static Statistics Read() {
    Statistics read;
    read.rows_without_index =
        std::stoll(stores_->Value("SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname "
                                  "~ '^(result_2|case_result)'"));
    read.rows = std::stoll(
        stores_->Value("SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_user_tables "
                       "WHERE relname ~ '^(result_2|case_result)'"));
    for (const char* index :
         {"result_newest", "result_of_series", "result_of_origin", "result_of_campaign"}) {
      read.searches[index] = std::stoll(
          stores_->Value("SELECT coalesce(sum(s.idx_scan), 0) FROM pg_stat_user_indexes s "
                         "JOIN pg_inherits i ON i.inhrelid = s.indexrelid "
                         "JOIN pg_class p ON p.oid = i.inhparent WHERE p.relname = '" +
                         std::string(index) + "'"));
    }
    return read;
  }

  // Waits until all other server processes of this database have ended, because each publishes its
  // statistics then.
  static void AwaitStatistics() {
    while (stores_->Value("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                          " AND backend_type IN ('client backend', 'parallel worker')"
                          " AND pid <> pg_backend_pid()") != "0") {
      std::this_thread::yield();
    }
  }

  // Returns what a question reads.
  static Statistics ReadBy(const std::function<void(ResultStore&)>& question) {
    return ReadByStores([&](Database& database) { question(database.results()); });
  }
  static Statistics ReadByStores(const std::function<void(Database&)>& question) {
    AwaitStatistics();
    const Statistics before = Read();
    question(**OpenDatabase(stores_->conninfo()));
    AwaitStatistics();
    Statistics read = Read();
    read.rows_without_index -= before.rows_without_index;
    read.rows -= before.rows;
    for (auto& [index, searches] : read.searches) searches -= before.searches.at(index);
    return read;
  }

  static std::string Listed(const Result<ResultPage>& page) {
    EXPECT_TRUE(page.ok()) << page.status();
    std::string ids;
    if (!page.ok()) return ids;
    for (const v1::StoredResult& item : page->items) ids += item.result_id() + "\n";
    return ids;
  }

  // Expects that a filter lists the results of a condition of result_view, in pages, by this index.
  static void ExpectFinds(const std::string& filter, const std::string& condition,
                          const std::string& index) {
    SCOPED_TRACE(filter);
    Result<ResultPage> first = ResultPage();
    ExpectReadsBy(index, [&](ResultStore& results) { first = results.List(filter, {kPage, ""}); });
    const std::string where = " FROM result_view WHERE \"primary\" AND " + condition;
    EXPECT_EQ(Listed(first), IdsOf(where, 0));
    const int matching = std::stoi(stores_->Value("SELECT count(*)" + where));
    ASSERT_GT(matching, 0);
    EXPECT_EQ(first->remaining, std::min(std::max(matching - kPage, 0), kMaxCountedResults));
    if (matching <= kPage) return;

    SCOPED_TRACE("second page");
    Result<ResultPage> second = ResultPage();
    ExpectReadsBy(index, [&](ResultStore& results) {
      second = results.List(filter, {kPage, first->next_token});
    });
    EXPECT_EQ(Listed(second), IdsOf(where, kPage));
  }

  static void ExpectReadsBy(const std::string& index,
                            const std::function<void(ResultStore&)>& question) {
    const Statistics read = ReadBy(question);
    EXPECT_EQ(read.rows_without_index, 0);
    EXPECT_GT(read.searches.at(index), 0) << index;
  }

  // Returns a page of the results after `where`, newest first, in the form of Listed.
  static std::string IdsOf(const std::string& where, int offset) {
    return stores_->Value(
        "SELECT string_agg(result_id || E'\\n', '' ORDER BY ts DESC, sequence DESC) FROM (SELECT "
        "result_id, ts, sequence" +
        where + " ORDER BY ts DESC, sequence DESC LIMIT " + std::to_string(kPage) + " OFFSET " +
        std::to_string(offset) + ") p");
  }

  static std::unique_ptr<PostgresStores> stores_;
};

std::unique_ptr<PostgresStores> HistoryTest::stores_;

TEST_F(HistoryTest, EveryQuestionIsAnsweredByItsIndex) {
  const std::string series = stores_->Value("SELECT series_id FROM series WHERE series_key = 1");
  const std::string lineage = stores_->Value("SELECT lineage_id FROM series WHERE series_key = 1");
  ExpectFinds("", "true", "result_newest");
  ExpectFinds("series_id = " + series, "series_id = '" + series + "'", "result_of_series");
  ExpectFinds("lineage_id = " + lineage, "lineage_id = '" + lineage + "'", "result_of_series");
  ExpectFinds("benchmark = benchmark3 AND gpu.model = H200 AND driver < 550",
              "benchmark = 'benchmark3' AND gpu_model = 'H200' AND driver = '535.104.12'",
              "result_of_series");
  ExpectFinds("gpu.uuid = GPU-17-3", "gpu_uuid = '{GPU-17-3}'", "result_of_origin");
  ExpectFinds("node = n17", "node = '{n17}'", "result_of_origin");
  ExpectFinds("node = n17 OR node = n18", "node IN ('{n17}', '{n18}')", "result_of_origin");
  ExpectFinds("node = n17 AND benchmark = benchmark3",
              "node = '{n17}' AND benchmark = 'benchmark3'", "result_of_origin");
  ExpectFinds("campaign = night0", "campaign = 'night0'", "result_of_campaign");
  ExpectFinds("campaign = night0 AND outcome != ok", "campaign = 'night0' AND outcome <> 'ok'",
              "result_of_campaign");
  const std::string job = stores_->Value("SELECT job_id FROM job LIMIT 1");
  ExpectFinds("job_id = " + job, "job_id = '" + job + "'", "result_of_campaign");
  ExpectFinds("end_time >= -1d AND outcome != ok",
              "end_time >= now() - interval '1 day' AND outcome <> 'ok'", "result_newest");
  // Many series, of which the newest results are read first.
  ExpectFinds("gpu.model = H200 AND driver >= 550", "gpu_model = 'H200' AND driver > '545'",
              "result_newest");
  // Many series without new results.
  ExpectFinds("driver < 550", "driver = '535.104.12'", "result_of_series");
}

TEST_F(HistoryTest, TypoReadsNoResult) {
  for (const char* filter :
       {"benchmark = benchmak3", "node = n999", "gpu.uuid = GPU-17", "campaign = nigt0",
        "job_id = jb7", "driver > 600", "series_id = x", "parameters.mm = 1"}) {
    const Statistics read = ReadBy([&](ResultStore& results) {
      EXPECT_EQ(Listed(results.List(filter, {kPage, ""})), "") << filter;
      v1::GroupResultsRequest request;
      request.set_filter(filter);
      EXPECT_EQ(results.Group(request)->groups_size(), 0) << filter;
    });
    EXPECT_EQ(read.rows, 0) << filter;
    for (const auto& [index, searches] : read.searches) EXPECT_EQ(searches, 0) << filter << index;
  }
}

TEST_F(HistoryTest, SortIsReadByTheIndexOfSeries) {
  const std::string filter = "benchmark = benchmark3 AND gpu.model = H200";
  Result<ResultPage> page = ResultPage();
  const Statistics sorted = ReadBy([&](ResultStore& results) {
    page = results.List(filter, {kPage, ""}, "median desc");
  });
  EXPECT_EQ(Listed(page),
            stores_->Value("SELECT string_agg(result_id || E'\\n', '' ORDER BY median DESC NULLS "
                           "LAST, ts DESC, sequence DESC) FROM (SELECT * FROM result_view WHERE "
                           "\"primary\" AND benchmark = 'benchmark3' AND gpu_model = 'H200' "
                           "ORDER BY median DESC NULLS LAST, ts DESC, sequence DESC LIMIT 50) p"));
  EXPECT_EQ(sorted.rows_without_index, 0);
  EXPECT_GT(sorted.searches.at("result_of_series"), 0);
}

TEST_F(HistoryTest, GroupsAreReadByTheirIndex) {
  const struct {
    const char* filter;
    const char* by;
    const char* condition;
    const char* index;
  } kGroups[] = {
      {"benchmark = benchmark3 AND gpu.model = H200 AND end_time >= -30d", "driver",
       "benchmark = 'benchmark3' AND gpu_model = 'H200' AND end_time >= now() - interval '30 days'",
       "result_of_series"},
      {"benchmark = benchmark3 AND parameters.m = 4096", "node",
       "benchmark = 'benchmark3' AND parameters ->> 'm' = '4096'", "result_of_series"},
      {"node = n17", "parameters.m", "node = '{n17}'", "result_of_origin"},
      {"gpu.uuid = GPU-17-3", "benchmark", "gpu_uuid = '{GPU-17-3}'", "result_of_origin"},
      {"campaign = night0", "gpu.model", "campaign = 'night0'", "result_of_campaign"},
      {"end_time >= -3d", "gpu.model", "end_time >= now() - interval '3 days'", "result_newest"},
  };
  for (const auto& [filter, by, condition, index] : kGroups) {
    SCOPED_TRACE(filter);
    v1::GroupResultsRequest request;
    request.set_filter(filter);
    request.add_group_by(by);
    Result<v1::GroupResultsResponse> groups = v1::GroupResultsResponse();
    ExpectReadsBy(index, [&](ResultStore& results) { groups = results.Group(request); });
    ASSERT_TRUE(groups.ok()) << groups.status();
    int64_t counted = 0;
    for (const v1::ResultGroup& group : groups->groups()) counted += group.result_count();
    EXPECT_GT(counted, 0);
    EXPECT_EQ(std::to_string(counted),
              stores_->Value("SELECT count(*) FROM result_view WHERE \"primary\" AND " +
                             std::string(condition)));
  }
}

TEST_F(HistoryTest, PageInTheMiddleReadsNoMoreThanTheFirst) {
  const Statistics first = ReadBy([](ResultStore& results) {
    EXPECT_EQ(results.List("", {kPage, ""})->remaining, kMaxCountedResults);
  });
  const std::string middle = std::to_string(kResults / 2);
  const std::string token = MakeResultToken(
      "", {stores_->Value("SELECT ts FROM result WHERE sequence = " + middle), kResults / 2});
  const Statistics later = ReadBy([&](ResultStore& results) {
    EXPECT_EQ(results.List("", {kPage, token})->remaining, kMaxCountedResults);
  });
  EXPECT_LE(later.rows, first.rows + kPage);
}

TEST_F(HistoryTest, QuestionsThatNoIndexServesAreRefused) {
  for (const char* filter : {"failure_reason = RUNNER_CRASHED", "flag = throttled",
                             "median > 1e9 AND provider = runpod", "driver >= 1 AND mad < 0"}) {
    const Statistics read = ReadBy([&](ResultStore& results) {
      const Status refused = results.List(filter, {kPage, ""}).status();
      EXPECT_EQ(refused.code(), Code::kInvalidArgument) << filter << refused;
      EXPECT_EQ(refused.reason(), Reason::kTooManyResults) << filter << refused;
      EXPECT_FALSE(refused.hint().empty());
    });
    EXPECT_LE(read.rows, 2 * kMaxExaminedResults) << filter;
  }
  const auto database = *OpenDatabase(stores_->conninfo());
  ResultStore& results = database->results();
  EXPECT_EQ(results.Group({}).status().reason(), Reason::kTooManyResults);
  EXPECT_EQ(results.List("", {kPage, ""}, "median").status().reason(), Reason::kTooManyResults);
  // Matches that are found among the newest results fill the page.
  EXPECT_EQ(results.List("outcome != ok", {kPage, ""})->items.size(), size_t{kPage});
}

TEST_F(HistoryTest, RunsOfALineageAreReadByTheIndexOfSeries) {
  const std::string lineage = stores_->Value("SELECT lineage_id FROM series WHERE series_key = 1");
  const std::string of_lineage =
      " FROM result_view WHERE \"primary\" AND lineage_id = '" + lineage + "' AND outcome = 'ok'";
  Result<Runs> runs = Runs();
  const Statistics read = ReadByStores(
      [&](Database& database) { runs = database.analysis().ListRunsOfLineage(lineage, 1); });
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(std::to_string(runs->runs.size()),
            stores_->Value("SELECT count(DISTINCT gpu_uuid)" + of_lineage));
  EXPECT_EQ(read.rows_without_index, 0);
  EXPECT_GT(read.searches.at("result_of_series"), 0);
  EXPECT_EQ(read.searches.at("result_newest"), 0);
}

TEST_F(HistoryTest, RunsOfAComparisonAreReadByTheIndexOfSeries) {
  Result<Runs> runs = Runs();
  const Statistics read = ReadByStores([&](Database& database) {
    runs = database.analysis().ListRuns("benchmark = benchmark3 AND gpu.model = H200");
  });
  ASSERT_TRUE(runs.ok()) << runs.status();
  const std::string matching = stores_->Value(
      "SELECT count(*) FROM result_view WHERE \"primary\" AND benchmark = 'benchmark3'"
      "  AND gpu_model = 'H200'");
  EXPECT_EQ(std::to_string(runs->runs.size() + static_cast<size_t>(runs->failed)), matching);
  EXPECT_EQ(read.rows_without_index, 0);
  EXPECT_GT(read.searches.at("result_of_series"), 0);
  const auto database = *OpenDatabase(stores_->conninfo());
  EXPECT_EQ(database->analysis().ListRuns("").status().reason(), Reason::kTooManyResults);
}

TEST_F(HistoryTest, LineagesThatChangedAreReadByAnIndex) {
  Result<ChangedLineages> changed = ChangedLineages();
  const Statistics all = ReadByStores(
      [&](Database& database) { changed = database.analysis().ListChangedLineages(""); });
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(std::to_string(changed->lineage_ids.size()),
            stores_->Value("SELECT count(DISTINCT lineage_id) FROM series JOIN result USING "
                           "(series_key) WHERE \"primary\" AND outcome = 'ok'"));
  EXPECT_EQ(all.rows_without_index, 0);
  const Statistics newest = ReadByStores([&](Database& database) {
    changed = database.analysis().ListChangedLineages(changed->cursor);
  });
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(newest.rows_without_index, 0);
  EXPECT_GT(newest.searches.at("result_newest"), 0);
}

}  // namespace
}  // namespace assay::storage
