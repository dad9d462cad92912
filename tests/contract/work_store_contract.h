// The contract of every WorkStore.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/contract/stores.h"

namespace assay::storage {

class WorkStoreContract : public StoreContract {
 protected:
  static NewJob EntryJob(NodeIds nodes, int entry, int cases = 1) {
    NewJob job = MakeJob(std::move(nodes), cases);
    job.benchmark_index = entry;
    job.repetition = 1;
    return job;
  }

  // Stores a result of a case that took so many seconds.
  void Measure(const LeasedJob& job, int case_index, int seconds, const std::string& effort) {
    v1::CaseResult result = MakeResult(job, case_index);
    for (v1::Measurement& one : *result.mutable_measurements()) {
      one.mutable_method()->set_effort(effort);
    }
    *result.mutable_end_time() = result.start_time();
    result.mutable_end_time()->set_seconds(result.start_time().seconds() + seconds);
    EXPECT_TRUE(Commit({result}).at(0).fresh);
  }

  std::vector<std::optional<double>> Seconds(const std::vector<WorkStore::CaseOfBenchmark>& cases,
                                             const std::string& effort) {
    const auto seconds = work().CaseSeconds(cases, effort);
    EXPECT_TRUE(seconds.ok()) << seconds.status();
    return seconds.ok() ? *seconds : std::vector<std::optional<double>>();
  }
};

TEST_P(WorkStoreContract, CaseSeconds_AreTheMeanOfEqualCases) {
  Connect({"a"});
  Create(MakeCampaign({EntryJob({"a"}, 0, 3), EntryJob({"a"}, 0, 3)}));
  const LeasedJob first = Claim({"a"}).at(0);
  Measure(first, 0, 4, "standard");
  Measure(first, 1, 30, "standard");
  Finish(first, Disposition::kFailed);
  const LeasedJob second = Claim({"a"}).at(0);
  Measure(second, 0, 6, "standard");
  Measure(second, 2, 1, "quick");
  const std::vector<v1::BenchmarkCase>& cases = first.job.cases;
  const std::vector<WorkStore::CaseOfBenchmark> wanted = {
      {"cpu_gemm", cases[1]}, {"cpu_gemm", cases[0]}, {"cpu_gemm", cases[2]}, {"gemm", cases[0]}};
  EXPECT_THAT(Seconds(wanted, "standard"),
              ::testing::ElementsAre(30.0, 5.0, std::nullopt, std::nullopt));
  EXPECT_THAT(Seconds(wanted, "quick"),
              ::testing::ElementsAre(std::nullopt, std::nullopt, 1.0, std::nullopt));
  EXPECT_TRUE(Seconds({}, "quick").empty());
}

TEST_P(WorkStoreContract, OpenWork_IsGroupedByPlace_WithoutCasesThatHaveAResult) {
  Connect({"a", "b", "c"});
  NewJob gpu = EntryJob({"b"}, 1);
  gpu.gpu_indices = {3};
  gpu.exclusive_node = false;
  NewJob ended = EntryJob({"c"}, 0);
  const std::string id = Create(MakeCampaign(
      {EntryJob({"a"}, 0, 2), EntryJob({"a"}, 0, 2), gpu, ended, EntryJob({"a", "b", "c"}, 2, 5)}));
  for (const LeasedJob& job : Claim({"a", "c"})) {
    if (job.node_ids.front() == "a") Measure(job, 0, 1, "standard");
    if (job.node_ids.front() == "c") Finish(job, Disposition::kSucceeded);
  }
  const auto listed = work().ListOpenWork(id);
  ASSERT_TRUE(listed.ok()) << listed.status();
  std::map<int, Work> by_entry;
  for (const Work& one : *listed) by_entry[one.kind.benchmark_index] = one;
  ASSERT_EQ(by_entry.size(), 3U);
  EXPECT_EQ(listed->size(), 3U);
  EXPECT_EQ(by_entry[0].jobs, 2);
  EXPECT_EQ(by_entry[0].cases, 3);
  EXPECT_EQ(by_entry[0].node_ids, NodeIds({"a"}));
  EXPECT_TRUE(by_entry[0].exclusive_node);
  EXPECT_EQ(by_entry[1].gpu_indices, std::vector<int>{3});
  EXPECT_FALSE(by_entry[1].exclusive_node);
  EXPECT_EQ(by_entry[2].cases, 5);
  EXPECT_EQ(by_entry[2].node_ids, NodeIds({"a", "b", "c"}));
  EXPECT_TRUE(work().ListOpenWork("none")->empty());
}

TEST_P(WorkStoreContract, KindsOfWork_HaveTheirCases) {
  const std::string id = Create(MakeCampaign({EntryJob({"a"}, 0, 2), EntryJob({"b"}, 0, 2),
                                              EntryJob({"a"}, 1), MakeJob({"a", "b"}, 1, 2)}));
  const auto kinds = work().ListKindsOfWork(id);
  ASSERT_TRUE(kinds.ok()) << kinds.status();
  ASSERT_EQ(kinds->size(), 2U);
  EXPECT_EQ(kinds->at(0).kind, (Work::Kind{0, 1, 1}));
  EXPECT_EQ(kinds->at(0).benchmark, "cpu_gemm");
  EXPECT_EQ(kinds->at(0).cases.size(), 2U);
  EXPECT_EQ(kinds->at(0).cases[1].parameters().at("m"), "2");
  EXPECT_EQ(kinds->at(1).kind, (Work::Kind{1, 1, 1}));
  EXPECT_TRUE(work().ListKindsOfWork("none")->empty());
}

}  // namespace assay::storage
