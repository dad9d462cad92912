// Outages of PostgreSQL, and restores from a dump.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "storage/postgres/pool.h"
#include "tests/contract/postgres_stores.h"

namespace assay::storage {
namespace {

// Suspends the server during its lifetime.
class Suspension {
 public:
  Suspension() { TheCluster().Signal(SIGSTOP); }
  ~Suspension() { TheCluster().Signal(SIGCONT); }
};

DatabaseOptions WithCallTimeout(Duration timeout) {
  DatabaseOptions options;
  options.pool.call_timeout = timeout;
  return options;
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

TEST(Database, SuspendedServer_IsUnavailableUntilItContinues) {
  PostgresStores stores(WithCallTimeout(std::chrono::seconds(1)));
  ASSERT_TRUE(stores.nodes().AddDialAddress("h:1").ok());
  {
    const Suspension suspension;
    const Status away = stores.nodes().AddDialAddress("h:2");
    EXPECT_EQ(away.code(), Code::kUnavailable) << away;
    EXPECT_EQ(away.reason(), Reason::kDatabaseUnavailable);
    EXPECT_EQ(stores.database().Stats().in_use, 0);
    EXPECT_EQ(stores.database().Stats().idle, 0) << "its connection is closed";
  }
  const Status back = stores.nodes().AddDialAddress("h:2");
  EXPECT_TRUE(back.ok()) << back;
}

TEST(Database, AbortEndsCallsToASuspendedServer) {
  auto stores = std::make_unique<PostgresStores>(WithCallTimeout(std::chrono::hours(1)));
  ASSERT_TRUE(stores->nodes().AddDialAddress("h:1").ok());
  std::atomic<bool> listening = false;
  stores->database().Listen([&] { listening = true; });
  while (!listening) std::this_thread::yield();
  const Suspension suspension;
  Status status;
  std::thread caller([&] { status = stores->nodes().AddDialAddress("h:2"); });
  while (stores->database().Stats().in_use == 0) std::this_thread::yield();
  stores->database().Abort();
  caller.join();
  EXPECT_EQ(status.code(), Code::kUnavailable) << status;
  EXPECT_EQ(stores->nodes().AddDialAddress("h:3").code(), Code::kUnavailable);
  stores = nullptr;  // Ends the thread that listens.
}

TEST(Database, ReadOnlyServer_IsUnavailableUntilItIsPrimaryAgain) {
  PostgresStores stores;
  ASSERT_TRUE(stores.nodes().AddDialAddress("h:1").ok());
  const auto until = [&](Code wanted) {
    Status status;
    do {
      status = stores.nodes().AddDialAddress("h:2");
    } while (status.code() != wanted);
    return status;
  };
  stores.Execute("ALTER SYSTEM SET default_transaction_read_only = on");
  stores.Execute("SELECT pg_reload_conf()");
  EXPECT_EQ(until(Code::kUnavailable).reason(), Reason::kDatabaseUnavailable);
  EXPECT_EQ(stores.database().Stats().idle, 0) << "another server may be the primary";
  stores.Execute("ALTER SYSTEM RESET default_transaction_read_only");
  stores.Execute("SELECT pg_reload_conf()");
  EXPECT_TRUE(until(Code::kOk).ok());
}

TEST(Database, StatementThatWaitsTooLong_IsUnavailable) {
  DatabaseOptions options;
  options.pool.statement_timeout = std::chrono::milliseconds(100);
  PostgresStores stores(options);
  pqxx::connection connection(stores.conninfo());
  pqxx::work other(connection);
  other.exec("LOCK TABLE dial_address");
  const Status slow = stores.nodes().AddDialAddress("h:1");
  EXPECT_EQ(slow.code(), Code::kUnavailable) << slow;
  EXPECT_EQ(slow.reason(), Reason::kStatementTimeout);
}

TEST(Database, QueriesOfResultsDoNotShareConnectionsWithOtherCalls) {
  DatabaseOptions options;
  options.pool.connections = 1;
  PostgresStores stores(options);
  pqxx::connection connection(stores.conninfo());
  pqxx::work other(connection);
  other.exec("LOCK TABLE dial_address");
  Status added;
  std::thread caller([&] { added = stores.nodes().AddDialAddress("h:1"); });
  while (stores.database().Stats().in_use == 0) std::this_thread::yield();
  const Status listed = stores.results().List("", {}).status();
  EXPECT_TRUE(listed.ok()) << listed;
  other.abort();
  caller.join();
  EXPECT_TRUE(added.ok()) << added;
}

TEST(Pool, ErrorsOfTheServerSayWhetherToTryAgain) {
  const auto pool = *Pool::Create(TheCluster().NewDatabase(), {});
  struct Case {
    const char* state;
    Code code;
    Reason reason;
    int attempts;
  };
  for (const Case& expected : {Case{"40001", Code::kUnavailable, Reason::kTransactionConflict, 5},
                               {"40P01", Code::kUnavailable, Reason::kTransactionConflict, 5},
                               {"57P01", Code::kUnavailable, Reason::kDatabaseUnavailable, 1},
                               {"57014", Code::kUnavailable, Reason::kStatementTimeout, 1},
                               {"25006", Code::kUnavailable, Reason::kDatabaseUnavailable, 1},
                               {"08006", Code::kUnavailable, Reason::kDatabaseUnavailable, 1},
                               {"53300", Code::kUnavailable, Reason::kDatabaseUnavailable, 1},
                               {"53100", Code::kUnavailable, Reason::kDatabaseError, 1},
                               {"42501", Code::kUnavailable, Reason::kDatabaseError, 1},
                               {"54000", Code::kInvalidArgument, Reason::kBadValue, 1},
                               {"22021", Code::kInvalidArgument, Reason::kBadValue, 1},
                               {"XX000", Code::kInternal, Reason::kDatabaseError, 1}}) {
    SCOPED_TRACE(expected.state);
    int attempts = 0;
    const Status status = pool->Run("test", [&](Transaction& transaction) {
      ++attempts;
      transaction.exec("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '" +
                       std::string(expected.state) + "'; END $$");
      return Status::Ok();
    });
    EXPECT_EQ(status.code(), expected.code) << status;
    EXPECT_EQ(status.reason(), expected.reason);
    EXPECT_EQ(attempts, expected.attempts);
  }
}

TEST(Pool, OptionsOfTheUserRemain) {
  const std::string given = TheCluster().NewDatabase();
  const auto plain = *Pool::Create(given, {});
  EXPECT_THAT(plain->conninfo(), ::testing::HasSubstr("connect_timeout='3'"));
  EXPECT_THAT(plain->conninfo(), ::testing::HasSubstr("target_session_attrs='read-write'"));
  const auto chosen =
      *Pool::Create("postgresql://u:it%27s%5C@h/d?connect_timeout=60&tcp_user_timeout=1", {});
  EXPECT_THAT(chosen->conninfo(), ::testing::HasSubstr("connect_timeout='60'"));
  EXPECT_THAT(chosen->conninfo(), ::testing::HasSubstr("tcp_user_timeout='1'"));
  EXPECT_THAT(chosen->conninfo(), ::testing::HasSubstr("password='it\\'s\\\\'"));
}

// Dumps one database into another, as operators do.
void CopyByDump(const std::string& from, const std::string& to) {
  const std::string command =
      "set -o pipefail; PATH=\"$PATH:$(ls -d /usr/lib/postgresql/*/bin | tail -1)\"; pg_dump "
      "--no-privileges -d \"" +
      from + "\" | psql -q -v ON_ERROR_STOP=1 -d \"" + to + "\" > /dev/null";
  ASSERT_EQ(std::system(("bash -c '" + command + "'").c_str()), 0);
}

TEST(Restore, DumpInAnotherClusterKeepsTheFleetAndItsRevisions) {
  PostgresStores stores;
  ASSERT_TRUE(stores.nodes().Connect("o", MakeNode("a", "a"), "", kStale).ok());
  // Transaction ids of this cluster are beyond those of the new one for a while.
  stores.Execute(
      "DO $$ BEGIN FOR i IN 1..10000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$");
  const NewCampaign campaign = MakeCampaign({MakeJob({"a"}), MakeJob({"a"}), MakeJob({"a"})});
  ASSERT_TRUE(stores.jobs().CreateCampaign(campaign).ok());
  const auto leased = stores.jobs().ClaimJobs({"o", std::chrono::minutes(1), {"a"}, 1});
  ASSERT_EQ(leased->size(), 1U);
  ASSERT_TRUE(stores.results().Commit(AsSent({MakeResult(leased->front())}))->at(0).fresh);
  const std::string fleet = *stores.fleet().GetFleetId();
  const int64_t old_revision = stores.jobs().ListJobChanges(campaign.campaign_id, 0)->revision;

  const TemporaryFolder folder;
  PrivatePostgresOptions options;
  options.fsync = false;
  options.die_with_parent = true;
  auto server = PrivatePostgres::Start(folder.path() + "/db", options);
  ASSERT_TRUE(server.ok()) << server.status();
  {
    pqxx::connection connection(server->ConnectionString());
    pqxx::nontransaction(connection).exec("CREATE DATABASE assay");
  }
  CopyByDump(stores.conninfo(), server->ConnectionString("assay"));
  const auto restored = *OpenDatabase(server->ConnectionString("assay"));
  const Status migrated = restored->Migrate();
  ASSERT_TRUE(migrated.ok()) << migrated;

  EXPECT_EQ(*restored->fleet().GetFleetId(), fleet);
  EXPECT_EQ(restored->jobs().GetCampaign(campaign.campaign_id)->jobs().running(), 1);
  EXPECT_EQ(restored->results().ListOfCampaign(campaign.campaign_id)->size(), 2U);
  const auto changes = [&](int64_t revision) {
    return *restored->jobs().ListJobChanges(campaign.campaign_id, revision);
  };
  const JobStore::JobChanges all = changes(0);
  EXPECT_EQ(all.jobs.size(), 3U);
  EXPECT_LT(all.revision, old_revision);
  EXPECT_TRUE(changes(all.revision).jobs.empty());
  EXPECT_EQ(changes(old_revision).jobs.size(), 3U) << "a revision of the old cluster";
  FinishedAttempt ended;
  ended.job = {leased->front().job.job_id, leased->front().epoch};
  ASSERT_TRUE(restored->jobs().FinishAttempt(ended)->held);
  ASSERT_EQ(changes(all.revision).jobs.size(), 1U);
  EXPECT_EQ(changes(all.revision).jobs[0].job_id(), ended.job.job_id);
  // Agents may know attempts that the dump does not: their epochs are not given out again.
  const auto next = restored->jobs().ClaimJobs({"o", std::chrono::minutes(1), {"a"}, 1});
  ASSERT_EQ(next->size(), 1U);
  EXPECT_GT(next->front().epoch, 100);
  pqxx::connection connection(server->ConnectionString("assay"));
  EXPECT_EQ(pqxx::nontransaction(connection)
                .exec("SELECT has_table_privilege('assay_reader', 'job_view', 'SELECT')")[0][0]
                .as<bool>(),
            true);
}

const auto* const kCluster = ::testing::AddGlobalTestEnvironment(&TheCluster());

}  // namespace
}  // namespace assay::storage
