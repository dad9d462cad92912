// The contracts, kept by the stores in memory.
#include "storage/fakes/fake_stores.h"
#include "tests/contract/analysis_runs_contract.h"
#include "tests/contract/analysis_store_contract.h"
#include "tests/contract/attempts_contract.h"
#include "tests/contract/fleet_store_contract.h"
#include "tests/contract/identity_store_contract.h"
#include "tests/contract/import_contract.h"
#include "tests/contract/job_claim_contract.h"
#include "tests/contract/job_nodes_contract.h"
#include "tests/contract/job_rerun_contract.h"
#include "tests/contract/job_store_contract.h"
#include "tests/contract/node_operations_contract.h"
#include "tests/contract/node_store_contract.h"
#include "tests/contract/result_query_contract.h"
#include "tests/contract/result_store_contract.h"
#include "tests/contract/schedule_store_contract.h"
#include "tests/contract/work_store_contract.h"
#include "tests/virtual_clock.h"

namespace assay::storage {
namespace {

class FakeStores : public Stores {
 public:
  JobStore& jobs() override { return jobs_; }
  NodeStore& nodes() override { return nodes_; }
  ResultStore& results() override { return results_; }
  FleetStore& fleet() override { return fleet_; }
  WorkStore& work() override { return work_; }
  AnalysisStore& analysis() override { return analysis_; }
  ScheduleStore& schedules() override { return schedules_; }
  IdentityStore& identities() override { return identities_; }
  void ExpireLeases() override { clock_.Advance(std::chrono::hours(1)); }
  void Pass(Duration time) override { clock_.Advance(time); }
  int CountSeries() override {
    MutexLock lock(database_.mutex);
    std::set<std::string> ids;
    for (const FakeDatabase::ResultRow& row : database_.results) {
      ids.insert(row.stored.series_id());
    }
    return static_cast<int>(ids.size());
  }
  void DeleteResult(const std::string& result_id) override {
    MutexLock lock(database_.mutex);
    std::erase_if(database_.results, [&](const FakeDatabase::ResultRow& row) {
      return row.stored.result_id() == result_id;
    });
  }

 private:
  VirtualClock clock_;
  FakeDatabase database_{clock_};
  FakeJobStore jobs_{database_};
  FakeNodeStore nodes_{database_};
  FakeResultStore results_{database_};
  FakeFleetStore fleet_{database_};
  FakeWorkStore work_{database_};
  FakeAnalysisStore analysis_{database_};
  FakeScheduleStore schedules_{database_};
  FakeIdentityStore identities_{database_};
};

const StoresFactory kFakes = [] { return std::make_unique<FakeStores>(); };

INSTANTIATE_TEST_SUITE_P(Fakes, AnalysisRunsContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, AnalysisStoreContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, AttemptsContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, FleetStoreContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, IdentityStoreContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, ImportContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, JobNodesContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, JobClaimContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, JobRerunContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, JobStoreContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, NodeOperationsContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, NodeStoreContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, ResultQueryContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, ResultStoreContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, ScheduleStoreContract, ::testing::Values(kFakes), NameOfStores);
INSTANTIATE_TEST_SUITE_P(Fakes, WorkStoreContract, ::testing::Values(kFakes), NameOfStores);

}  // namespace
}  // namespace assay::storage
