// The contract of every AnalysisStore for the runs that analyses read.
#pragma once

#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "storage/identity.h"
#include "tests/contract/stores.h"
#include "wire/timestamps.h"

namespace assay::storage {

class AnalysisRunsContract : public StoreContract {
 protected:
  static constexpr int kBegin = 1'767'225'600;

  // A running job of this many cases on node "a".
  LeasedJob Running(int cases) {
    Connect({"a"});
    Create(MakeCampaign({MakeJob({"a"}, cases)}));
    auto leased = Claim({"a"});
    EXPECT_EQ(leased.size(), 1U);
    return leased.empty() ? LeasedJob{} : leased[0];
  }

  // Makes the result of a case of the same lineage, on these GPUs, that ended in this minute.
  static v1::CaseResult OnGpus(const LeasedJob& job, int case_index,
                               const std::vector<std::string>& gpus, int minute, double median) {
    v1::CaseResult result = MakeResult(job, case_index);
    (*result.mutable_parameters())["m"] = "8";
    result.mutable_conditions()->clear_flags();
    result.mutable_provenance()->clear_gpu_uuids();
    for (const std::string& gpu : gpus) result.mutable_provenance()->add_gpu_uuids(gpu);
    result.mutable_end_time()->set_seconds(kBegin + 60 * minute);
    result.mutable_measurements(0)->set_median(median);
    return result;
  }

  static std::string LineageOf(const v1::CaseResult& result) {
    return IdentityOf(result).lineage_id;
  }

  Runs OfLineage(const std::string& lineage_id, int per_place = 100) {
    const auto runs = analysis().ListRunsOfLineage(lineage_id, per_place);
    EXPECT_TRUE(runs.ok()) << runs.status();
    return runs.ok() ? *runs : Runs();
  }

  static std::vector<double> Medians(const Runs& runs) {
    std::vector<double> medians;
    for (const auto& run : runs.runs) medians.push_back(run.median);
    return medians;
  }

  ChangedLineages Changed(const std::string& cursor) {
    const auto changed = analysis().ListChangedLineages(cursor);
    EXPECT_TRUE(changed.ok()) << changed.status();
    return changed.ok() ? *changed : ChangedLineages();
  }
};

TEST_P(AnalysisRunsContract, RunsHaveTheirSeriesAndOrigin) {
  const LeasedJob job = Running(5);
  v1::CaseResult newer = OnGpus(job, 0, {"GPU-1"}, 2, 110);
  newer.mutable_environment()->set_driver_version("590.1");
  newer.mutable_environment()->set_power_limit_watts(600);
  newer.mutable_environment()->set_ecc_enabled(false);
  newer.mutable_environment()->set_cpu_model("EPYC");
  newer.mutable_environment()->set_node_count(1);
  (*newer.mutable_environment()->mutable_nccl())["NCCL_ALGO"] = "Ring";
  newer.mutable_provenance()->set_agent_version("0.2.0");
  Commit({newer, OnGpus(job, 1, {"GPU-2"}, 0, 5)});
  const auto runs = analysis().ListRuns("benchmark = cpu_gemm");
  ASSERT_TRUE(runs.ok() && runs->runs.size() == 2) << runs.status();

  const RunSeries& series = runs->series.at(runs->runs[1].series);
  EXPECT_EQ(series.environment.DebugString(), newer.environment().DebugString());
  v1::Environment hardware = newer.environment();
  hardware.clear_driver_version();
  hardware.clear_software();
  hardware.clear_cpu_model();
  EXPECT_EQ(series.identity.hardware().DebugString(), hardware.DebugString());
  EXPECT_EQ(series.identity.benchmark(), "cpu_gemm");
  EXPECT_EQ(series.identity.benchmark_version(), 1);
  EXPECT_EQ(series.identity.parameters().at("m"), "8");
  EXPECT_EQ(series.identity.metric(), "tflops");
  EXPECT_EQ(series.identity.unit(), "TFLOP/s");
  EXPECT_EQ(series.identity.direction(), v1::DIRECTION_HIGHER_IS_BETTER);
  EXPECT_EQ(series.identity.cache(), "cold");
  EXPECT_EQ(series.identity.fill(), "random");
  EXPECT_EQ(series.identity.lineage_id(), LineageOf(newer));
  EXPECT_FALSE(series.identity.simulated());

  const RunOrigin& origin = runs->origins.at(runs->runs[1].origin);
  EXPECT_THAT(origin.node_ids, ::testing::ElementsAre("a"));
  EXPECT_THAT(origin.node_names, ::testing::ElementsAre("name-of-a"));
  EXPECT_THAT(origin.gpu_uuids, ::testing::ElementsAre("GPU-1"));
  EXPECT_EQ(origin.provider, "runpod");
  EXPECT_EQ(origin.price_per_hour, 2.49);
  EXPECT_EQ(origin.agent_version, "0.2.0");
}

TEST_P(AnalysisRunsContract, RunsAreSortedAndFlagged_AndFailuresCounted) {
  const LeasedJob job = Running(4);
  v1::CaseResult flagged = OnGpus(job, 0, {"GPU-1"}, 1, 90);
  flagged.mutable_conditions()->add_flags("pcie_width");
  flagged.mutable_conditions()->add_flags("unverified");
  v1::CaseResult failed = OnGpus(job, 1, {"GPU-1"}, 1, 1);
  failed.set_outcome(v1::CASE_OUTCOME_FAILED);
  v1::CaseResult few = OnGpus(job, 2, {"GPU-2"}, 3, 100);
  few.mutable_measurements(0)->set_n(5);
  few.mutable_conditions()->add_flags("pcie_width");
  Commit({few, flagged, failed, OnGpus(job, 3, {"GPU-1"}, 0, 712.5)});
  const auto runs = analysis().ListRuns("");
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_THAT(Medians(*runs), ::testing::ElementsAre(712.5, 90, 100)) << "oldest first";
  EXPECT_EQ(runs->failed, 1);
  EXPECT_DOUBLE_EQ(runs->runs[0].uncertainty.value_or(0), 0.02);
  EXPECT_FALSE(runs->runs[2].uncertainty) << "five samples have no interval";
  EXPECT_EQ(schema::ToTimestamp(runs->runs[1].end_time).seconds(), kBegin + 60);
  EXPECT_FALSE(runs->runs[0].excluded);
  EXPECT_TRUE(runs->runs[1].excluded);
  EXPECT_FALSE(runs->runs[2].excluded);
  EXPECT_TRUE(results().Get(runs->runs[0].result_id).ok());
}

TEST_P(AnalysisRunsContract, RunsAreThoseThatTheFilterAllows) {
  const LeasedJob job = Running(3);
  v1::CaseResult simulated = OnGpus(job, 1, {"GPU-1"}, 1, 5);
  simulated.mutable_provenance()->set_simulated(true);
  v1::CaseResult lower = OnGpus(job, 2, {"GPU-1"}, 2, 7);
  lower.mutable_measurements(0)->set_direction(v1::DIRECTION_LOWER_IS_BETTER);
  Commit({OnGpus(job, 0, {"GPU-1"}, 0, 3), simulated, lower});
  EXPECT_THAT(Medians(*analysis().ListRuns("")), ::testing::ElementsAre(3, 7));
  EXPECT_EQ(analysis().ListRuns("metric : *")->runs.size(), 4U) << "secondary metrics too";
  const Runs found = *analysis().ListRuns("simulated = true");
  EXPECT_THAT(Medians(found), ::testing::ElementsAre(5));
  EXPECT_TRUE(found.series.at(0).identity.simulated());
  const Runs lowest = *analysis().ListRuns("median > 6");
  EXPECT_EQ(lowest.series.at(0).identity.direction(), v1::DIRECTION_LOWER_IS_BETTER);
  EXPECT_THAT(analysis().ListRuns("benchmark = typo")->runs, ::testing::IsEmpty());
  EXPECT_EQ(analysis().ListRuns("benchmrk = x").status().reason(), Reason::kUnknownField);
  EXPECT_EQ(analysis().ListRuns("median >").status().reason(), Reason::kBadFilter);
}

TEST_P(AnalysisRunsContract, LineageHasTheNewestRunsOfEachPlace) {
  const LeasedJob job = Running(9);
  v1::CaseResult driver = OnGpus(job, 0, {"GPU-1"}, 3, 3);
  driver.mutable_environment()->set_driver_version("590.1");
  driver.mutable_environment()->set_cpu_model("another");
  v1::CaseResult failed = OnGpus(job, 1, {"GPU-1"}, 9, 9);
  failed.set_outcome(v1::CASE_OUTCOME_FAILED);
  v1::CaseResult moved = OnGpus(job, 2, {"GPU-2"}, 4, 4);
  moved.mutable_provenance()->set_node_names(0, "other");
  v1::CaseResult other = OnGpus(job, 3, {"GPU-1"}, 9, 9);
  (*other.mutable_parameters())["m"] = "16";
  Commit({driver, failed, moved, other, OnGpus(job, 4, {"GPU-1"}, 2, 2),
          OnGpus(job, 5, {"GPU-1"}, 1, 1), OnGpus(job, 6, {"GPU-2"}, 5, 5),
          OnGpus(job, 7, {"GPU-2", "GPU-1"}, 7, 7), OnGpus(job, 8, {"GPU-1", "GPU-2"}, 8, 8)});
  const std::string lineage = LineageOf(driver);
  const Runs all = OfLineage(lineage);
  EXPECT_THAT(Medians(all), ::testing::ElementsAre(1, 2, 3, 4, 5, 7, 8));
  EXPECT_EQ(all.failed, 1);
  EXPECT_EQ(all.series.size(), 2U) << "two drivers";
  EXPECT_THAT(Medians(OfLineage(lineage, 2)), ::testing::ElementsAre(2, 3, 4, 5, 7, 8));
  EXPECT_THAT(Medians(OfLineage(lineage, 1)), ::testing::ElementsAre(3, 5, 8))
      << "a GPU that moved is one place, and so are GPUs in another order of ranks";
  EXPECT_THAT(OfLineage("none").runs, ::testing::IsEmpty());
  EXPECT_THAT(Medians(OfLineage(LineageOf(other))), ::testing::ElementsAre(9));
}

TEST_P(AnalysisRunsContract, NodesWithoutGpusAreAPlace) {
  Connect({"a", "b"});
  Create(MakeCampaign({MakeJob({"a"}, 3), MakeJob({"b"}, 3)}));
  std::string lineage;
  for (const LeasedJob& job : Claim({"a", "b"})) {
    for (int i = 0; i < 3; ++i) {
      const v1::CaseResult result = OnGpus(job, i, {}, i, job.node_ids[0] == "a" ? 10 + i : 20 + i);
      lineage = LineageOf(result);
      Commit({result});
    }
  }
  EXPECT_THAT(Medians(OfLineage(lineage, 1)), ::testing::UnorderedElementsAre(12, 22));
  EXPECT_EQ(OfLineage(lineage, 2).runs.size(), 4U);
}

TEST_P(AnalysisRunsContract, ImportedResultsHaveNoLineage) {
  ImportedCampaign imported;
  imported.campaign = MakeCampaign({MakeJob({})}, "import");
  LeasedJob lease;
  lease.job = imported.campaign.jobs[0];
  lease.epoch = 1;
  imported.results = {OnGpus(lease, 0, {"GPU-1"}, 0, 5)};
  imported.results[0].mutable_provenance()->set_imported_from("nccl-tests 2.17.6");
  ASSERT_TRUE(results().Import(imported).ok());
  EXPECT_THAT(OfLineage(LineageOf(imported.results[0])).runs, ::testing::IsEmpty());
  EXPECT_THAT(Changed("").lineage_ids, ::testing::IsEmpty());
  EXPECT_THAT(Medians(*analysis().ListRuns("imported = true")), ::testing::ElementsAre(5));
}

TEST_P(AnalysisRunsContract, ChangedLineagesAreThoseWithNewRuns) {
  const LeasedJob job = Running(4);
  const ChangedLineages nothing = Changed("");
  EXPECT_THAT(nothing.lineage_ids, ::testing::IsEmpty());
  const v1::CaseResult first = OnGpus(job, 0, {"GPU-1"}, 0, 1);
  v1::CaseResult simulated = OnGpus(job, 1, {"GPU-1"}, 0, 1);
  simulated.mutable_provenance()->set_simulated(true);
  v1::CaseResult failed = OnGpus(job, 2, {"GPU-1"}, 0, 1);
  (*failed.mutable_parameters())["m"] = "16";
  failed.set_outcome(v1::CASE_OUTCOME_FAILED);
  Commit({first, simulated, failed});
  for (const std::string& cursor : {std::string(), nothing.cursor}) {
    EXPECT_THAT(Changed(cursor).lineage_ids,
                ::testing::UnorderedElementsAre(LineageOf(first), LineageOf(simulated)))
        << "no secondary metrics, no failures";
  }
  const ChangedLineages both = Changed(nothing.cursor);
  stores_->Pass(std::chrono::minutes(5));
  const ChangedLineages later = Changed(both.cursor);
  EXPECT_THAT(later.lineage_ids, ::testing::IsEmpty());
  EXPECT_THAT(Changed(later.cursor).lineage_ids, ::testing::IsEmpty());
  Commit({OnGpus(job, 3, {"GPU-1"}, 0, 1)});
  EXPECT_THAT(Changed(later.cursor).lineage_ids, ::testing::ElementsAre(LineageOf(first)));
  EXPECT_EQ(analysis().ListChangedLineages("x").status().code(), Code::kInvalidArgument);
}

TEST_P(AnalysisRunsContract, NoChangedLineageIsMissedWhileResultsAreStored) {
  Connect({"a", "b", "c", "d"});
  Create(MakeCampaign(
      {MakeJob({"a"}, 12), MakeJob({"b"}, 12), MakeJob({"c"}, 12), MakeJob({"d"}, 12)}));
  const std::vector<LeasedJob> leased = Claim({"a", "b", "c", "d"});
  ASSERT_EQ(leased.size(), 4U);
  std::set<std::string> stored, seen;
  std::vector<std::vector<v1::CaseResult>> results(leased.size());
  for (size_t i = 0; i < leased.size(); ++i) {
    for (int one = 0; one < 12; ++one) {
      v1::CaseResult& result = results[i].emplace_back(OnGpus(leased[i], one, {"GPU-1"}, one, 1));
      (*result.mutable_parameters())["m"] = leased[i].node_ids[0] + std::to_string(one);
      stored.insert(LineageOf(result));
    }
  }
  std::atomic<int> writers{static_cast<int>(leased.size())};
  std::vector<std::thread> threads;
  for (const std::vector<v1::CaseResult>& mine : results) {
    threads.emplace_back([&] {
      for (const v1::CaseResult& result : mine) Commit({result});
      --writers;
    });
  }
  ChangedLineages changed;
  for (bool last = false; !last;) {
    last = writers == 0;
    changed = Changed(changed.cursor);
    seen.insert(changed.lineage_ids.begin(), changed.lineage_ids.end());
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, stored);
}

}  // namespace assay::storage
