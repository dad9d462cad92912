// The contracts on PostgreSQL: one private cluster for the program, one database per test.
#include "storage/postgres/postgres.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <mutex>
#include <optional>

#include "cli/up/private_postgres.h"
#include "storage/postgres/result_rows.h"
#include "tests/contract/import_contract.h"
#include "tests/contract/job_nodes_contract.h"
#include "tests/contract/job_store_contract.h"
#include "tests/contract/node_store_contract.h"
#include "tests/contract/result_store_contract.h"
#include "tests/temporary_folder.h"
#include "wire/result_filter.h"

namespace assay::storage {
namespace {

class Cluster : public ::testing::Environment {
 public:
  void SetUp() override {
    folder_.emplace();
    PrivatePostgresOptions options;
    options.fsync = false;
    options.die_with_parent = true;
    auto server = PrivatePostgres::Start(folder_->path() + "/db", options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_.emplace(*std::move(server));
  }
  void TearDown() override {
    server_.reset();
    folder_.reset();
  }

  PrivatePostgres& server() { return *server_; }

  // A connection string to a new, empty database.
  std::string NewDatabase() {
    const std::string name = "test" + std::to_string(++databases_);
    Execute("postgres", "CREATE DATABASE " + name);
    return server_->ConnectionString(name);
  }

  void Execute(const std::string& database, const std::string& sql) {
    pqxx::connection connection(server_->ConnectionString(database));
    pqxx::nontransaction(connection).exec(sql);
  }

 private:
  std::optional<TemporaryFolder> folder_;
  std::optional<PrivatePostgres> server_;
  int databases_ = 0;
};

Cluster& TheCluster() {
  static Cluster* const cluster = new Cluster;  // Owned by GoogleTest.
  return *cluster;
}

class PostgresStores : public Stores {
 public:
  PostgresStores() : conninfo_(TheCluster().NewDatabase()) {
    database_ = *OpenDatabase(conninfo_);
    const Status status = database_->Migrate();
    EXPECT_TRUE(status.ok()) << status;
  }

  JobStore& jobs() override { return database_->jobs(); }
  NodeStore& nodes() override { return database_->nodes(); }
  ResultStore& results() override { return database_->results(); }
  void ExpireLeases() override {
    Execute("UPDATE job SET lease_until = now() - interval '1 s' WHERE state = 'running'");
  }
  // The server's clock cannot be changed, so this moves the stored times.
  void Pass(Duration time) override {
    const std::string by = std::to_string(std::chrono::duration<double>(time).count()) + " s";
    Execute("UPDATE job SET not_before = not_before - interval '" + by +
            "', create_time = create_time - interval '" + by + "'");
    Execute("UPDATE node_session SET last_heartbeat_time = last_heartbeat_time - interval '" + by +
            "'");
  }

  int CountSeries() override {
    return std::stoi(
        Value("SELECT (SELECT count(*) FROM series) + (SELECT count(*) FROM environment)"));
  }

  Database& database() { return *database_; }
  std::string Value(const std::string& sql) {
    pqxx::connection connection(conninfo_);
    return pqxx::nontransaction(connection).exec(sql)[0][0].as<std::string>("");
  }
  void Execute(const std::string& sql) {
    pqxx::connection connection(conninfo_);
    pqxx::nontransaction(connection).exec(sql);
  }
  const std::string& conninfo() const { return conninfo_; }

 private:
  std::string conninfo_;
  std::unique_ptr<Database> database_;
};

const StoresFactory kPostgres = [] { return std::make_unique<PostgresStores>(); };

INSTANTIATE_TEST_SUITE_P(Postgres, ImportContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, JobNodesContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, JobStoreContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, NodeStoreContract, ::testing::Values(kPostgres), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Postgres, ResultStoreContract, ::testing::Values(kPostgres), NameOfStores);

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
    ASSERT_TRUE(stores.nodes().Connect("o", MakeNode(node, node), "").ok());
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

TEST(Database, MissingPartitionIsCreatedOnInsert) {
  PostgresStores stores;
  ASSERT_TRUE(stores.nodes().Connect("o", MakeNode("a", "a"), "").ok());
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

TEST(Database, UnreachableDatabase_IsUnavailableUntilItReturns) {
  PostgresStores stores;
  ASSERT_TRUE(stores.nodes().AddDialAddress("h:1").ok());
  TheCluster().server().Kill();
  const Status away = stores.nodes().AddDialAddress("h:2");
  EXPECT_EQ(away.code(), Code::kUnavailable) << away;
  EXPECT_EQ(stores.nodes().AddDialAddress("h:2").code(), Code::kUnavailable);
  ASSERT_TRUE(TheCluster().server().Restart().ok());
  const Status back = stores.nodes().AddDialAddress("h:2");
  EXPECT_TRUE(back.ok()) << back;
  EXPECT_EQ(stores.database().Stats().in_use, 0);
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

const auto* const kCluster = ::testing::AddGlobalTestEnvironment(&TheCluster());

}  // namespace
}  // namespace assay::storage
