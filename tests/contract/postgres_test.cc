// The contracts on PostgreSQL: one private cluster for the program, one database per test.
#include "storage/postgres/postgres.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "storage/postgres/filter_to_sql.h"
#include "storage/postgres/pool.h"
#include "storage/postgres/sql.h"
#include "tests/contract/analysis_runs_contract.h"
#include "tests/contract/analysis_store_contract.h"
#include "tests/contract/attempts_contract.h"
#include "tests/contract/fleet_store_contract.h"
#include "tests/contract/import_contract.h"
#include "tests/contract/job_claim_contract.h"
#include "tests/contract/job_nodes_contract.h"
#include "tests/contract/job_rerun_contract.h"
#include "tests/contract/job_store_contract.h"
#include "tests/contract/node_operations_contract.h"
#include "tests/contract/node_store_contract.h"
#include "tests/contract/postgres_stores.h"
#include "tests/contract/result_query_contract.h"
#include "tests/contract/result_store_contract.h"
#include "tests/contract/schedule_store_contract.h"
#include "tests/contract/work_store_contract.h"
#include "wire/result_filter.h"

namespace assay::storage {
namespace {

const StoresFactory kPostgres = [] { return std::make_unique<PostgresStores>(); };

INSTANTIATE_TEST_SUITE_P(Postgres, AnalysisRunsContract, ::testing::Values(kPostgres),
                         NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, AnalysisStoreContract, ::testing::Values(kPostgres),
                         NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, AttemptsContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, FleetStoreContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, ImportContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, JobNodesContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, JobClaimContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, JobRerunContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, JobStoreContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, NodeOperationsContract, ::testing::Values(kPostgres),
                         NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, NodeStoreContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, ResultQueryContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, ResultStoreContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, ScheduleStoreContract, ::testing::Values(kPostgres),
                         NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, WorkStoreContract, ::testing::Values(kPostgres), NameOfStores);

TEST(Migrate, IsIdempotentAndRefusesNewerAndChangedDatabases) {
  PostgresStores stores;
  EXPECT_TRUE(stores.database().Migrate().ok());
  stores.Execute("INSERT INTO schema_migration VALUES (9999, 'future', 'x')");
  const Status newer = stores.database().Migrate();
  EXPECT_EQ(newer.reason(), Reason::kDatabaseTooNew);
  stores.Execute("DELETE FROM schema_migration WHERE version = 9999");
  stores.Execute("UPDATE schema_migration SET checksum = 'x' WHERE version = 1");
  EXPECT_EQ(stores.database().Migrate().reason(), Reason::kMigrationChanged);
}

TEST(Migrate, ProgramsThatStartTogetherWaitForEachOther) {
  const std::string conninfo = TheCluster().NewDatabase();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const Status status = (*OpenDatabase(conninfo))->Migrate();
      EXPECT_TRUE(status.ok()) << status;
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Migrate, ReplacesViewsWhoseScriptHasChanged) {
  PostgresStores stores;
  // The database is a copy of another, which counts as a restore.
  ASSERT_TRUE(stores.database().Migrate().ok());
  stores.Execute("DROP VIEW job_view");
  ASSERT_TRUE(stores.database().Migrate().ok());
  EXPECT_EQ(stores.Value("SELECT to_regclass('job_view') IS NULL"), "t");
  stores.Execute("UPDATE schema_migration SET checksum = 'older' WHERE version = 0");
  ASSERT_TRUE(stores.database().Migrate().ok());
  EXPECT_EQ(stores.Value("SELECT to_regclass('job_view') IS NULL"), "f");
  EXPECT_EQ(stores.Value("SELECT has_table_privilege('assay_reader', 'job_view', 'SELECT')"), "t");
}

TEST(Migrate, ReaderCanOnlyRead) {
  PostgresStores stores;
  EXPECT_EQ(stores.Value("SELECT has_table_privilege('assay_reader', 'result_view', 'SELECT')"),
            "t");
  EXPECT_EQ(stores.Value("SELECT has_table_privilege('assay_reader', 'job', 'UPDATE')"), "f");
}

TEST(Migrate, ReaderSeesEveryTableAndViewAlsoLaterPartitions) {
  PostgresStores stores;
  stores.Execute("SELECT assay_create_partitions(9)");
  stores.Execute("CREATE TABLE later (one int)");
  EXPECT_EQ(stores.Value("SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'p', 'v')"
                         "  AND relnamespace = 'public'::regnamespace"
                         "  AND NOT has_table_privilege('assay_reader', oid, 'SELECT')"),
            "0");
  pqxx::connection reader(stores.conninfo() + " user=assay_reader");
  pqxx::work work(reader);
  EXPECT_EQ(work.exec("SELECT count(*) FROM result_view").size(), 1U);
  EXPECT_THROW(work.exec("DELETE FROM sample"), pqxx::sql_error);
}

// Stores one result per case of a campaign of one job. Ends the campaign if `ended`.
std::string StoredCampaign(PostgresStores& stores, bool ended) {
  EXPECT_TRUE(stores.nodes().Connect("c1", MakeNode("a", "a"), "", std::chrono::minutes(1)).ok());
  const auto campaign = stores.jobs().CreateCampaign(MakeCampaign({MakeJob({"a"}, 2)}));
  EXPECT_TRUE(campaign.ok()) << campaign.status();
  const auto leased = stores.jobs().ClaimJobs({"c1", std::chrono::minutes(1), {"a"}, 1});
  EXPECT_TRUE(leased.ok() && leased->size() == 1);
  const auto& job = (*leased)[0];
  EXPECT_TRUE(stores.results().Commit(AsSent({MakeResult(job, 0), MakeResult(job, 1)})).ok());
  if (ended) {
    FinishedAttempt attempt;
    attempt.job = {job.job.job_id, job.epoch};
    EXPECT_TRUE(stores.jobs().FinishAttempt(attempt).ok());
    stores.Execute("UPDATE campaign SET verdict = 'passed', state = 'completed'");
  }
  // Moves everything a year into the past.
  stores.Execute(
      "DO $$ DECLARE month timestamptz := date_trunc('month', now() - interval '400 days', 'UTC');"
      "BEGIN EXECUTE format('CREATE TABLE %I PARTITION OF result FOR VALUES FROM (%L) TO (%L)',"
      "  'result_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM'), month,"
      "  month + interval '1 month'); END $$");
  stores.Execute("UPDATE result SET ts = ts - interval '400 days'");
  stores.Execute("UPDATE sample SET ts = ts - interval '400 days'");
  stores.Execute("UPDATE campaign SET end_time = end_time - interval '400 days'");
  return campaign->campaign_id();
}

constexpr Duration kYear = std::chrono::hours(24 * 365);

TEST(Retire, OldEndedCampaign_LeavesNothing) {
  PostgresStores stores;
  StoredCampaign(stores, /*ended=*/true);
  stores.Execute("UPDATE node SET schemas_hash = schemas_hash");
  const auto retired = stores.database().Retire({kYear, std::nullopt});
  ASSERT_TRUE(retired.ok()) << retired.status();
  EXPECT_EQ(retired->partitions, 1);
  EXPECT_EQ(retired->campaigns, 1);
  EXPECT_EQ(retired->samples, 2);
  for (const char* table : {"result", "sample", "case_result", "job", "campaign"}) {
    EXPECT_EQ(stores.Value(std::string("SELECT count(*) FROM ") + table), "0") << table;
  }
  EXPECT_EQ(stores.Value("SELECT count(*) FROM schema_set"), "1");  // The node has it.
}

TEST(Retire, LateReplayOfARetiredJob_IsUnknownAndStoresNothing) {
  PostgresStores stores;
  StoredCampaign(stores, /*ended=*/true);
  const std::string job_id = stores.Value("SELECT job_id FROM job");
  ASSERT_TRUE(stores.database().Retire({kYear, std::nullopt}).ok());
  LeasedJob job;
  job.job = MakeJob({"a"}, 2);
  job.job.job_id = job_id;
  job.epoch = 1;
  const auto outcomes = stores.results().Commit(AsSent({MakeResult(job, 0)}));
  ASSERT_TRUE(outcomes.ok()) << outcomes.status();
  EXPECT_EQ((*outcomes)[0].verdict, CommitVerdict::kUnknownJob);
  EXPECT_EQ(stores.Value("SELECT count(*) FROM result"), "0");
}

TEST(Retire, ActiveOrYoungCampaign_StaysWhole) {
  PostgresStores stores;
  StoredCampaign(stores, /*ended=*/false);
  const auto active = stores.database().Retire({kYear, kYear});
  ASSERT_TRUE(active.ok()) << active.status();
  EXPECT_EQ(stores.Value("SELECT count(*) FROM result"), "4");
  EXPECT_EQ(stores.Value("SELECT count(*) FROM sample"), "2");
  EXPECT_EQ(stores.Value("SELECT count(*) FROM case_result"), "2");
  stores.Execute("UPDATE campaign SET verdict = 'passed', state = 'completed', end_time = now()");
  const auto young = stores.database().Retire({kYear, std::nullopt});
  ASSERT_TRUE(young.ok()) << young.status();
  EXPECT_EQ(young->partitions, 0);
  EXPECT_EQ(stores.Value("SELECT count(*) FROM result"), "4");
}

TEST(Retire, SamplesHaveAnAgeOfTheirOwn) {
  PostgresStores stores;
  StoredCampaign(stores, /*ended=*/true);
  const auto retired = stores.database().Retire({std::nullopt, kYear});
  ASSERT_TRUE(retired.ok()) << retired.status();
  EXPECT_EQ(retired->samples, 2);
  EXPECT_EQ(stores.Value("SELECT count(*) FROM result"), "4");
}

TEST(FilterToSql, TranslatesEveryFieldAndBindsEveryValue) {
  PostgresStores stores;
  for (const schema::ResultField& field : schema::ResultFields()) {
    if (field.example.empty()) continue;
    const bool map = field.type == schema::FieldType::kMap;
    const std::string filter =
        (map ? "" : std::string(field.name) + " ") + std::string(field.example);
    const auto page = stores.results().List(filter, {});
    EXPECT_TRUE(page.ok()) << filter << ": " << page.status();
  }
  const auto filter = schema::ParseResultFilter("parameters.evil = \"x\" AND node = \"$2'\"");
  ASSERT_TRUE(filter.ok()) << filter.status();
  const auto condition = FilterToSql(*filter);
  ASSERT_TRUE(condition.ok()) << condition.status();
  EXPECT_EQ(condition->text.find("evil"), std::string::npos);
  EXPECT_EQ(condition->text.find("$2"), std::string::npos);
}

// Three jobs for any of a and b, one for any of b and c, one for a alone.
NewCampaign CampaignWithChoices() {
  return MakeCampaign({MakeJob({"a", "b"}), MakeJob({"a", "b"}), MakeJob({"b", "c"}),
                       MakeJob({"a", "b"}), MakeJob({"a"})});
}

TEST(Database, JobsWithTheSameCandidatesShareOneSet) {
  PostgresStores stores;
  for (const char* node : {"a", "b", "c"}) {
    ASSERT_TRUE(stores.nodes().Connect("o", MakeNode(node, node), "", kStale).ok());
  }
  ASSERT_TRUE(stores.jobs().CreateCampaign(CampaignWithChoices()).ok());
  EXPECT_EQ(stores.Value("SELECT sum(cardinality(node_ids)) FROM candidate_set"), "4");
  EXPECT_EQ(stores.Value("SELECT sum(cardinality(candidate_node_ids)) FROM job"), "1");
  const auto first = stores.jobs().ClaimJobs({"o", std::chrono::minutes(1), {"a"}, 1});
  const auto second = stores.jobs().ClaimJobs({"o", std::chrono::minutes(1), {"b"}, 1});
  ASSERT_EQ(first->size(), 1U);
  ASSERT_EQ(second->size(), 1U);
  const LeasedJob& a = first->front();
  const auto renewed =
      stores.jobs().RenewLeases("o", std::chrono::minutes(1), {{{a.job.job_id, a.epoch}, "a"}});
  ASSERT_EQ(renewed->size(), 1U);
  const std::string* list = &a.job.candidate_node_ids.front();
  EXPECT_EQ(&second->front().job.candidate_node_ids.front(), list) << "one copy in memory";
  EXPECT_EQ(&renewed->front().job.candidate_node_ids.front(), list);
}

TEST(Database, CancelOfALargeCampaign_LetsLeasesBeRenewedMeanwhile) {
  PostgresStores stores;
  ASSERT_TRUE(stores.nodes().Connect("o", MakeNode("a", "a"), "", kStale).ok());
  std::vector<NewJob> jobs;
  for (int i = 0; i < 2000; ++i) jobs.push_back(MakeJob({"a"}));
  std::ranges::sort(jobs, {}, &NewJob::job_id);
  const std::string first = jobs.front().job_id;
  const auto campaign = stores.jobs().CreateCampaign(MakeCampaign(std::move(jobs)));
  ASSERT_TRUE(campaign.ok()) << campaign.status();
  const auto leased = stores.jobs().ClaimJobs({"o", std::chrono::minutes(1), {"a"}, 1});
  ASSERT_EQ(leased->size(), 1U);
  const JobEpoch running{leased->front().job.job_id, leased->front().epoch};
  ASSERT_EQ(running.job_id, first);
  // Jobs are cancelled in the order of their ids. Blocks the cancel at the last one.
  pqxx::connection connection(stores.conninfo());
  pqxx::work blocker(connection);
  blocker.exec("SELECT FROM job ORDER BY job_id DESC LIMIT 1 FOR UPDATE");

  std::thread cancel([&] {
    const auto cancelled = stores.jobs().CancelCampaign(campaign->campaign_id());
    ASSERT_TRUE(cancelled.ok()) << cancelled.status();
    EXPECT_EQ(*cancelled, std::vector<JobEpoch>{running});
  });
  while (stores.Value("SELECT count(*) FROM pg_locks WHERE NOT granted") == "0") {
    std::this_thread::yield();
  }
  const auto renewed = stores.jobs().RenewLeases("o", std::chrono::minutes(1), {{running, "a"}});
  EXPECT_TRUE(renewed.ok() && renewed->size() == 1 && renewed->front().cancel_requested);
  EXPECT_TRUE(stores.jobs().ClaimJobs({"o", std::chrono::minutes(1), {"a"}, 1})->empty());
  blocker.abort();
  cancel.join();
  EXPECT_EQ(stores.Value("SELECT count(*) FROM job WHERE state = 'cancelled'"), "1999");
}

TEST(Database, CancelAndRenewalsAtOnce_NeverDeadlock) {
  PostgresStores stores;
  std::vector<NewJob> jobs;
  std::vector<std::string> nodes;
  for (int i = 0; i < 64; ++i) {
    nodes.push_back("n" + std::to_string(i));
    jobs.push_back(MakeJob({nodes.back()}));
    ASSERT_TRUE(stores.nodes().Connect("o", MakeNode(nodes.back(), nodes.back()), "", kStale).ok());
  }
  const auto campaign = stores.jobs().CreateCampaign(MakeCampaign(jobs));
  const auto leased = stores.jobs().ClaimJobs({"o", std::chrono::minutes(1), nodes, 64});
  ASSERT_EQ(leased->size(), 64U);
  std::vector<ReportedJob> reported;
  for (const LeasedJob& job : *leased) {
    reported.push_back({{job.job.job_id, job.epoch}, job.node_ids.front()});
  }
  std::thread renewals([&] {
    for (int i = 0; i < 50; ++i) {
      const auto renewed = stores.jobs().RenewLeases("o", std::chrono::minutes(1), reported);
      EXPECT_TRUE(renewed.ok() && renewed->size() == reported.size()) << renewed.status();
    }
  });
  for (int i = 0; i < 50; ++i) {
    const auto cancelled = stores.jobs().CancelCampaign(campaign->campaign_id());
    EXPECT_TRUE(cancelled.ok() && cancelled->size() == reported.size()) << cancelled.status();
  }
  renewals.join();
  EXPECT_EQ(stores.Value("SELECT deadlocks FROM pg_stat_database WHERE datname = "
                         "current_database()"),
            "0");
}

TEST(Database, MissingPartitionIsCreatedOnInsert) {
  PostgresStores stores;
  ASSERT_TRUE(stores.nodes().Connect("o", MakeNode("a", "a"), "", kStale).ok());
  ASSERT_TRUE(stores.jobs().CreateCampaign(MakeCampaign({MakeJob({"a"})})).ok());
  const auto leased = stores.jobs().ClaimJobs({"o", std::chrono::minutes(1), {"a"}, 1});
  ASSERT_EQ(leased->size(), 1U);
  stores.Execute(
      "DO $$ DECLARE part regclass; BEGIN FOR part IN SELECT inhrelid FROM pg_inherits WHERE "
      "inhparent = 'result'::regclass LOOP EXECUTE 'DROP TABLE ' || part; END LOOP; END $$");
  const auto outcome = stores.results().Commit(AsSent({MakeResult(leased->front())}));
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->front().fresh);
  EXPECT_EQ(stores.Value("SELECT count(*) FROM result_view WHERE gpu_model = 'H200'"), "2");
  EXPECT_EQ(stores.Value("SELECT driver_order FROM result_view LIMIT 1"), "{580,95,5}");
}

TEST(Database, UnchangedNodeIsNotRewritten) {
  PostgresStores stores;
  v1::NodeDescription node = MakeNode("a", "a");
  node.add_benchmarks()->set_name("gemm");
  ASSERT_TRUE(stores.nodes().Connect("o", node, "", kStale).ok());
  const std::string before = stores.Value("SELECT xmin FROM node");
  ASSERT_TRUE(stores.nodes().Connect("p", node, "", kStale).ok());
  EXPECT_EQ(stores.Value("SELECT xmin FROM node"), before);
  EXPECT_EQ(stores.Value("SELECT owner FROM node_session"), "p");
  EXPECT_EQ(stores.Value("SELECT count(*) FROM schema_set"), "1");
  node.set_agent_version("0.2.0");
  ASSERT_TRUE(stores.nodes().Connect("p", node, "", kStale).ok());
  EXPECT_NE(stores.Value("SELECT xmin FROM node"), before);
  EXPECT_EQ(stores.Value("SELECT count(*) FROM schema_set"), "1");
}

TEST(Database, NodeViewHasLabelsAndPriceOfOperators) {
  PostgresStores stores;
  v1::NodeDescription node = MakeNode("a", "a");
  for (const char* key : {"rack", "row", "Hall"}) (*node.mutable_labels())[key] = "1";
  node.set_price_per_hour(3);
  ASSERT_TRUE(stores.nodes().Connect("o", node, "", kStale).ok());
  const std::string labels =
      "SELECT label || jsonb_build_object('price', price_per_hour)"
      " FROM node_view";
  EXPECT_EQ(stores.Value(labels), R"({"row": "1", "Hall": "1", "rack": "1", "price": 3})");
  v1::UpdateNodeRequest request;
  request.set_node("a");
  (*request.mutable_labels())["rack"] = "2";
  (*request.mutable_labels())["zone"] = "3";
  request.add_removed_labels("row");
  request.set_price_per_hour(2.5);
  ASSERT_TRUE(stores.nodes().Update(request).ok());
  node.clear_labels();
  (*node.mutable_labels())["RACK"] = "1";
  ASSERT_TRUE(stores.nodes().Connect("o", node, "", kStale).ok());
  EXPECT_EQ(stores.Value(labels), R"({"rack": "2", "zone": "3", "price": 2.5})");
  ASSERT_TRUE(stores.nodes().Cordon({"a", "new PSU", "ada", std::nullopt}).ok());
  EXPECT_EQ(stores.Value("SELECT cordon_reason || cordoned_by FROM node_view"), "new PSUada");
}

// PostgreSQL refuses index entries of more than 2,704 bytes with a "program limit exceeded".
TEST(Database, ResultThatPostgresRefusesDoesNotStopTheOthers) {
  PostgresStores stores;
  ASSERT_TRUE(stores.nodes().Connect("o", MakeNode("a", "a"), "", kStale).ok());
  ASSERT_TRUE(stores.jobs().CreateCampaign(MakeCampaign({MakeJob({"a"}, 3)})).ok());
  const auto leased = stores.jobs().ClaimJobs({"o", std::chrono::minutes(1), {"a"}, 1});
  ASSERT_EQ(leased->size(), 1U);
  std::string name;
  while (name.size() < 7000) name += NewUuid();
  v1::CaseResult poison = MakeResult(leased->front(), 1);
  poison.mutable_measurements(0)->set_metric(name);
  const auto outcomes = stores.results().Commit(
      AsSent({MakeResult(leased->front(), 0), poison, MakeResult(leased->front(), 2)}));
  ASSERT_TRUE(outcomes.ok()) << outcomes.status();
  EXPECT_TRUE(outcomes->at(0).fresh);
  EXPECT_EQ(outcomes->at(1).verdict, CommitVerdict::kConflict);
  EXPECT_TRUE(outcomes->at(2).fresh);
  const auto alone = stores.results().Commit(AsSent({poison}));
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->at(0).verdict, CommitVerdict::kConflict);
  EXPECT_EQ(stores.Value("SELECT cases_done FROM job"), "2");
}

TEST(Database, RefusedImportStoresNothing) {
  PostgresStores stores;
  ImportedCampaign imported;
  imported.campaign = MakeCampaign({MakeJob({}, 2)}, "import");
  LeasedJob lease;
  lease.job = imported.campaign.jobs[0];
  lease.epoch = 1;
  imported.results = {MakeResult(lease, 0), MakeResult(lease, 1)};
  imported.results[1].mutable_provenance()->set_region("\xff");  // Not UTF-8.
  EXPECT_EQ(stores.results().Import(imported).status().code(), Code::kInvalidArgument);
  for (const char* table : {"campaign", "job", "case_result", "result", "sample", "series"}) {
    EXPECT_EQ(stores.Value(std::string("SELECT count(*) FROM ") + table), "0") << table;
  }
  imported.results[1].mutable_provenance()->set_region("eu");
  for (v1::CaseResult& result : imported.results) {
    result.mutable_provenance()->set_imported_from("nvbandwidth 0.8");
  }
  stores.Execute(
      "DO $$ DECLARE part regclass; BEGIN FOR part IN SELECT inhrelid FROM pg_inherits WHERE "
      "inhparent = 'result'::regclass LOOP EXECUTE 'DROP TABLE ' || part; END LOOP; END $$");
  const auto outcome = stores.results().Import(imported);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_TRUE(outcome->fresh);
  EXPECT_EQ(stores.Value("SELECT count(*) FROM result_view WHERE imported AND imported_from = "
                         "'nvbandwidth 0.8'"),
            "4");
}

TEST(Database, ListenerIsCalledForQueuedJobs) {
  PostgresStores stores;
  std::mutex mutex;
  std::condition_variable changed;
  int calls = 0;
  stores.database().Listen([&] {
    const std::lock_guard lock(mutex);
    ++calls;
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return calls >= 1; }));
  lock.unlock();
  ASSERT_TRUE(stores.jobs().CreateCampaign(MakeCampaign({MakeJob({"a"})})).ok());
  lock.lock();
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return calls >= 2; }));
}

TEST(Database, ErrorsDoNotContainThePassword) {
  const Status bad = OpenDatabase("postgresql://u:secret@[::1").status();
  EXPECT_EQ(bad.code(), Code::kInvalidArgument);
  EXPECT_EQ(bad.ToString().find("secret"), std::string::npos);
  const auto nowhere = OpenDatabase("host=/nowhere user=u password=secret dbname=d");
  ASSERT_TRUE(nowhere.ok());
  const Status away = (*nowhere)->Migrate();
  EXPECT_EQ(away.code(), Code::kUnavailable);
  EXPECT_EQ(away.ToString().find("secret"), std::string::npos);
}

// PostgreSQL quotes some elements of an array, and none of those for a semicolon.
TEST(Sql, TextsOfArray) {
  const auto pool = *Pool::Create(TheCluster().NewDatabase(), {});
  const auto texts = [&](const std::string& array) {
    return *pool->Query("array", [&](Transaction& transaction) -> Result<std::vector<std::string>> {
      return TextsOf(transaction.exec("SELECT " + array + "::text[]")[0][0]);
    });
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts("ARRAY['GPU-1;GPU-2', 'b']"), (Texts{"GPU-1;GPU-2", "b"}));
  EXPECT_EQ(texts(R"(ARRAY['', 'a,b', NULL, 'NULL', '"', '\', '{x}', ' '])"),
            (Texts{"", "a,b", "NULL", "\"", "\\", "{x}", " "}));
  EXPECT_EQ(texts("ARRAY['one']"), Texts{"one"});
  EXPECT_EQ(texts("ARRAY['x', '']"), (Texts{"x", ""}));
  EXPECT_EQ(texts("ARRAY[]"), Texts{});
  EXPECT_EQ(texts("NULL"), Texts{});
}

}  // namespace
}  // namespace assay::storage
