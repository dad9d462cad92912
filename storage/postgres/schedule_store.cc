#include "storage/schedule_store.h"

#include <map>
#include <utility>

#include "storage/postgres/analysis_rows.h"
#include "storage/postgres/job_rows.h"
#include "storage/postgres/sql.h"
#include "storage/postgres/stores.h"
#include "storage/store_rules.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

std::string ScheduleColumns() {
  return "schedule_id, content, " + Microseconds("next_time") + " AS next_time";
}

v1::Schedule ScheduleOf(const pqxx::row& row) {
  auto schedule = MessageOf<v1::Schedule>(row["content"]);
  *schedule.mutable_next_time() = schema::ToTimestamp(TimeOf(row["next_time"]));
  return schedule;
}

v1::ScheduledRun RunOf(const pqxx::row& row) {
  v1::ScheduledRun run;
  *run.mutable_time() = schema::ToTimestamp(TimeOf(row["time"]));
  run.set_outcome(EnumOf<v1::ScheduledRun::Outcome>(row["outcome"]));
  run.set_campaign_id(row["campaign_id"].as<std::string>(""));
  run.set_message(row["message"].as<std::string>(""));
  return run;
}

class PostgresScheduleStore : public ScheduleStore {
 public:
  explicit PostgresScheduleStore(Pool& pool) : pool_(pool) {}

  Status Create(const v1::Schedule& schedule) override {
    v1::Schedule content = schedule;
    content.clear_next_time();
    content.clear_runs();
    return pool_.Run("create_schedule", [&](Transaction& transaction) -> Status {
      // Keeps the number of schedules from changing.
      transaction.exec("LOCK TABLE schedule IN SHARE ROW EXCLUSIVE MODE");
      const pqxx::result known = transaction.exec_params(
          "SELECT schedule_id FROM schedule WHERE name = $1", schedule.name());
      if (!known.empty()) {
        return known[0][0].as<std::string>() == schedule.schedule_id()
                   ? Status::Ok()
                   : ScheduleExists(schedule.name());
      }
      if (transaction.exec("SELECT count(*) FROM schedule")[0][0].as<int>() >= kMaxSchedules) {
        return TooManySchedules();
      }
      transaction.exec_params(
          "INSERT INTO schedule (schedule_id, name, cron, time_zone, next_time, created_by, "
          "create_time, content) VALUES ($1, $2, $3, $4, " +
              TimeOfMicroseconds("$5") + ", nullif($6, ''), " + TimeOfMicroseconds("$7") +
              ", $8::bytea)",
          schedule.schedule_id(), schedule.name(), schedule.cron(), schedule.time_zone(),
          MicrosecondsOf(schema::FromTimestamp(schedule.next_time())), schedule.created_by(),
          MicrosecondsOf(schema::FromTimestamp(schedule.create_time())),
          HexLiteral(DeterministicBytes(content)));
      return Status::Ok();
    });
  }

  Result<v1::Schedule> Get(const std::string& id_or_name) override {
    return pool_.Transact("get_schedule", [&](Transaction& transaction) -> Result<v1::Schedule> {
      const pqxx::result rows = transaction.exec_params(
          "SELECT " + ScheduleColumns() +
              " FROM schedule WHERE schedule_id = $1 OR name = $1 ORDER BY schedule_id <> $1 "
              "LIMIT 1",
          id_or_name);
      if (rows.empty()) {
        return NoSuch("schedule", id_or_name,
                      FirstTexts(transaction.exec("SELECT name FROM schedule")));
      }
      return WithRuns(transaction, rows).front();
    });
  }

  Result<std::vector<v1::Schedule>> List() override {
    using Schedules = Result<std::vector<v1::Schedule>>;
    return pool_.Transact("list_schedules", [&](Transaction& transaction) -> Schedules {
      return WithRuns(transaction, transaction.exec("SELECT " + ScheduleColumns() +
                                                    " FROM schedule ORDER BY name"));
    });
  }

  Status Delete(const std::string& schedule_id) override {
    return pool_
        .Execute("delete_schedule", "DELETE FROM schedule WHERE schedule_id = $1", schedule_id)
        .status();
  }

  Result<std::vector<v1::Schedule>> ListDue(WallTime now, int limit) override {
    using Schedules = Result<std::vector<v1::Schedule>>;
    return pool_.Query("list_due_schedules", [&](Transaction& transaction) -> Schedules {
      const pqxx::result rows =
          ExecPrepared(transaction,
                       "SELECT " + ScheduleColumns() + " FROM schedule WHERE next_time <= " +
                           TimeOfMicroseconds("$1") + " ORDER BY next_time, name LIMIT $2",
                       MicrosecondsOf(now), limit);
      return WithRuns(transaction, rows);
    });
  }

  Result<bool> RecordRun(const RecordedRun& recorded) override {
    return pool_.Transact("record_run", [&](Transaction& transaction) -> Result<bool> {
      const int64_t due = MicrosecondsOf(schema::FromTimestamp(recorded.run.time()));
      const pqxx::result moved = transaction.exec_params(
          "UPDATE schedule SET next_time = " + TimeOfMicroseconds("$3") +
              " WHERE schedule_id = $1 AND next_time = " + TimeOfMicroseconds("$2") + " AND " +
              IsTerm("$4::bigint") + " RETURNING 1",
          recorded.schedule_id, due, MicrosecondsOf(recorded.next_time), recorded.term);
      if (moved.empty()) return false;
      transaction.exec_params(
          "INSERT INTO schedule_run (schedule_id, \"time\", outcome, campaign_id, message) "
          "VALUES ($1, " +
              TimeOfMicroseconds("$2") +
              ", $3::schedule_outcome, nullif($4, ''), nullif($5, '')) "
              "ON CONFLICT DO NOTHING",
          recorded.schedule_id, due, WordOf(recorded.run.outcome()), recorded.run.campaign_id(),
          recorded.run.message());
      transaction.exec_params(
          "DELETE FROM schedule_run WHERE schedule_id = $1 AND \"time\" NOT IN ("
          "  SELECT \"time\" FROM schedule_run WHERE schedule_id = $1 ORDER BY \"time\" = ("
          "    SELECT max(\"time\") FROM schedule_run WHERE schedule_id = $1 AND"
          "      outcome = 'created') DESC NULLS LAST, \"time\" DESC LIMIT $2)",
          recorded.schedule_id, kKeptRuns);
      return true;
    });
  }

 private:
  // Returns the schedules of `rows` with their runs, in the same order.
  static std::vector<v1::Schedule> WithRuns(Transaction& transaction, const pqxx::result& rows) {
    std::vector<v1::Schedule> schedules;
    std::map<std::string, size_t> positions;
    ArrayLiteral ids;
    for (const auto& row : rows) {
      positions.emplace(row["schedule_id"].as<std::string>(), schedules.size());
      ids.Add(row["schedule_id"].as<std::string>());
      schedules.push_back(ScheduleOf(row));
    }
    if (schedules.empty()) return schedules;
    for (const auto& row : transaction.exec_params(
             "SELECT schedule_id, " + Microseconds("\"time\"") +
                 " AS \"time\", outcome, campaign_id, message FROM schedule_run "
                 "WHERE schedule_id = ANY($1::text[]) ORDER BY schedule_run.\"time\" DESC",
             ids.Finish())) {
      *schedules[positions.at(row["schedule_id"].as<std::string>())].add_runs() = RunOf(row);
    }
    return schedules;
  }

  Pool& pool_;
};

}  // namespace

std::unique_ptr<ScheduleStore> MakeScheduleStore(Pool& pool) {
  return std::make_unique<PostgresScheduleStore>(pool);
}

}  // namespace assay::storage
