// The stores in a private PostgreSQL cluster, which all tests of a program share.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/up/private_postgres.h"
#include "storage/postgres/postgres.h"
#include "tests/contract/stores.h"
#include "tests/temporary_folder.h"

namespace assay::storage {

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
  std::string NewDatabase(const std::string& original = "template1") {
    const std::string name = "test" + std::to_string(++databases_);
    Execute("postgres", "CREATE DATABASE " + name + " TEMPLATE " + original);
    return server_->ConnectionString(name);
  }

  // A connection string to a new database with Assay's schema. A copy, which is faster than a
  // migration.
  std::string NewMigratedDatabase() {
    if (!migrated_) {
      Execute("postgres", "CREATE DATABASE migrated");
      const Status status = (*OpenDatabase(server_->ConnectionString("migrated")))->Migrate();
      EXPECT_TRUE(status.ok()) << status;
      migrated_ = true;
    }
    return NewDatabase("migrated");
  }

  // Sends a signal to the server and all its processes.
  void Signal(int signal) {
    std::ifstream file(folder_->path() + "/db/data/postmaster.pid");
    std::string pid;
    std::getline(file, pid);
    std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
    ASSERT_TRUE(children.is_open());
    const std::vector<pid_t> processes{std::istream_iterator<pid_t>(children), {}};
    ::kill(std::stoi(pid), signal);
    for (const pid_t process : processes) ::kill(process, signal);
  }

  void Execute(const std::string& database, const std::string& sql) {
    pqxx::connection connection(server_->ConnectionString(database));
    pqxx::nontransaction(connection).exec(sql);
  }

 private:
  std::optional<TemporaryFolder> folder_;
  std::optional<PrivatePostgres> server_;
  int databases_ = 0;
  bool migrated_ = false;
};

inline Cluster& TheCluster() {
  static Cluster* const cluster = new Cluster;  // Owned by GoogleTest.
  return *cluster;
}

class PostgresStores : public Stores {
 public:
  explicit PostgresStores(const DatabaseOptions& options = {})
      : conninfo_(TheCluster().NewMigratedDatabase()) {
    database_ = *OpenDatabase(conninfo_, options);
  }

  JobStore& jobs() override { return database_->jobs(); }
  NodeStore& nodes() override { return database_->nodes(); }
  ResultStore& results() override { return database_->results(); }
  FleetStore& fleet() override { return database_->fleet(); }
  WorkStore& work() override { return database_->work(); }
  AnalysisStore& analysis() override { return database_->analysis(); }
  ScheduleStore& schedules() override { return database_->schedules(); }
  IdentityStore& identities() override { return database_->identities(); }
  void ExpireLeases() override {
    Execute("UPDATE job SET lease_until = now() - interval '1 s' WHERE state = 'running'");
    Execute("UPDATE scheduler SET lease_until = now() - interval '1 s'");
  }
  // The server's clock cannot be changed, so this moves the stored times.
  void Pass(Duration time) override {
    const std::string by = std::to_string(std::chrono::duration<double>(time).count()) + " s";
    Execute("UPDATE job SET not_before = not_before - interval '" + by +
            "', create_time = create_time - interval '" + by + "'");
    Execute("UPDATE node_session SET last_heartbeat_time = last_heartbeat_time - interval '" + by +
            "'");
    Execute("UPDATE result SET ts = ts - interval '" + by + "'");
  }

  int CountSeries() override {
    return std::stoi(
        Value("SELECT (SELECT count(*) FROM series) + (SELECT count(*) FROM environment)"));
  }

  void DeleteResult(const std::string& result_id) override {
    Execute("DELETE FROM result WHERE result_id = '" + result_id + "'");
  }

  Database& database() { return *database_; }
  // Closes the connections of the stores, which cannot be used afterwards.
  void Close() { database_.reset(); }
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

}  // namespace assay::storage
