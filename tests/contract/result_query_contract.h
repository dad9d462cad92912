// The contract of every ResultStore for questions: which results a filter finds, in which order,
// and groups of results.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/contract/stores.h"

namespace assay::storage {

class ResultQueryContract : public StoreContract {
 protected:
  // A running job of this many cases on node "a".
  LeasedJob Running(int cases = 2) {
    Connect({"a"});
    Create(MakeCampaign({MakeJob({"a"}, cases)}));
    auto leased = Claim({"a"});
    EXPECT_EQ(leased.size(), 1U);
    return leased.empty() ? LeasedJob{} : leased[0];
  }

  size_t Matching(const std::string& filter) {
    const auto page = results().List(filter, {});
    EXPECT_TRUE(page.ok()) << filter << ": " << page.status();
    return page.ok() ? page->items.size() : 0;
  }

  // Stores five cases of the same parameters on two drivers, one by one. Case i has the median
  // 100 + 10 i, and case 4 has failed.
  void StoreFive(const LeasedJob& job) {
    for (int i = 0; i < 5; ++i) {
      v1::CaseResult result = MakeResult(job, i);
      (*result.mutable_parameters())["m"] = "8";
      (*result.mutable_parameters())["x"] = i == 4 ? "word" : std::to_string(10 - i);
      if (i == 3) result.mutable_parameters()->erase("x");
      result.mutable_measurements(0)->set_median(100 + 10 * i);
      result.mutable_environment()->set_driver_version(i % 2 == 0 ? "550.54" : "1000.1");
      result.mutable_end_time()->set_seconds(1'767'225'610 + i);
      if (i == 4) {
        result.clear_measurements();
        result.set_outcome(v1::CASE_OUTCOME_FAILED);
      }
      Commit({result});
    }
  }

  // Returns the case indices of all pages of two results. Checks the counts of remaining results.
  std::vector<int> Sorted(const std::string& order) {
    std::vector<int> seen;
    PageRequest request{2, ""};
    do {
      const auto page = results().List("", request, order);
      EXPECT_TRUE(page.ok()) << order << ": " << page.status();
      if (!page.ok()) return seen;
      for (const auto& item : page->items) seen.push_back(item.case_result().case_index());
      EXPECT_EQ(page->remaining, 5 - static_cast<int>(seen.size())) << order;
      request.token = page->next_token;
    } while (!request.token.empty());
    return seen;
  }
};

TEST_P(ResultQueryContract, SortedPagesFollowTheOrder) {
  StoreFive(Running(5));
  using Cases = std::vector<int>;
  EXPECT_EQ(Sorted(""), (Cases{4, 3, 2, 1, 0}));
  EXPECT_EQ(Sorted("median"), (Cases{0, 1, 2, 3, 4})) << "without a value last";
  EXPECT_EQ(Sorted("median desc"), (Cases{3, 2, 1, 0, 4}));
  EXPECT_EQ(Sorted("driver desc, median"), (Cases{1, 3, 0, 2, 4})) << "versions part by part";
  EXPECT_EQ(Sorted("outcome, end_time"), (Cases{4, 0, 1, 2, 3}));
  EXPECT_EQ(Sorted("parameters.x"), (Cases{2, 1, 0, 4, 3})) << "numbers, words, absent";
  EXPECT_EQ(Sorted("parameters.x desc"), (Cases{0, 1, 2, 4, 3}));
  EXPECT_EQ(Sorted("parameters.m, node, primary, driver"), (Cases{4, 2, 0, 3, 1}));
}

TEST_P(ResultQueryContract, PageAfterDeletedResultsIsTheSame) {
  StoreFive(Running(5));
  for (const char* order : {"", "median"}) {
    const auto first = results().List("", {2, ""}, order);
    ASSERT_TRUE(first.ok()) << first.status();
    const auto second = results().List("", {1, first->next_token}, order);
    ASSERT_TRUE(second.ok()) << second.status();
    for (const v1::StoredResult& item : first->items) stores_->DeleteResult(item.result_id());
    const auto again = results().List("", {1, first->next_token}, order);
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(again->items.size(), 1U);
    EXPECT_EQ(again->items[0].result_id(), second->items[0].result_id());
  }
}

TEST_P(ResultQueryContract, BadOrdersAndTokensAreRefused) {
  StoreFive(Running(5));
  for (const char* bad :
       {"nope", "median up", "median desc desc", ",", "median,", "samples", "parameters",
        "median; DROP TABLE result", "median, node, driver, unit, cuda"}) {
    EXPECT_EQ(results().List("", {}, bad).status().code(), Code::kInvalidArgument) << bad;
  }
  EXPECT_EQ(results().List("", {}, "drivr").status().hint(), "did you mean `driver`?");
  const std::string newest = results().List("", {2, ""}, "")->next_token;
  const std::string by_node = results().List("", {2, ""}, "node")->next_token;
  for (const std::string& token : {newest, by_node, std::string("r1"), std::string("o"),
                                   std::string(R"(r["median","",1,[]])")}) {
    EXPECT_EQ(results().List("", {2, token}, "median").status().code(), Code::kInvalidArgument)
        << token;
  }
}

TEST_P(ResultQueryContract, KeysFindResultsOfAnyRank) {
  Connect({"a", "b"});
  Create(MakeCampaign({MakeJob({"a", "b"}, 2, 2)}, "gang"));
  const LeasedJob gang = Claim({"a", "b"}).at(0);
  v1::CaseResult both = MakeResult(gang);
  both.mutable_provenance()->add_gpu_uuids("GPU-second");
  Commit({both, MakeResult(gang, 1)});
  const std::string first = both.provenance().gpu_uuids(0);
  for (const std::string& yes : std::vector<std::string>{
           "node = name-of-a", "node = name-of-b", "node_id = b",
           "node = name-of-a OR node = name-of-b", "campaign = gang",
           "campaign = gang OR campaign = other",
           "campaign = gang AND node = name-of-b AND benchmark = cpu_gemm",
           "benchmark = cpu_gemm OR benchmark = other", "benchmark = other OR node = name-of-a",
           "driver < 1000", "time >= 2026-01-01", "campaign_id = " + gang.campaign_id,
           "job_id = " + gang.job.job_id + " AND median > 1",
           "job_id in (x, " + gang.job.job_id + ")", "NOT job_id = x",
           "gpu.uuid = GPU-second OR gpu.uuid = " + first, "node != name-of-c"}) {
    EXPECT_EQ(Matching(yes), 2U) << yes;
  }
  EXPECT_EQ(Matching("gpu.uuid = GPU-second"), 1U);
  for (const char* no : {"node = name-of-c", "node_id = c", "campaign = other", "gpu.uuid = GPU",
                         "campaign = gang AND benchmark = typo", "job_id = none",
                         "node = name-of-a AND node_id = c", "node != name-of-a"}) {
    EXPECT_EQ(Matching(no), 0U) << no;
  }
}

TEST_P(ResultQueryContract, GroupsSummarizeEachCaseAndValue) {
  const LeasedJob job = Running(5);
  for (int i = 0; i < 5; ++i) {
    v1::CaseResult result = MakeResult(job, i);
    (*result.mutable_parameters())["m"] = "8";
    result.mutable_measurements(0)->set_median(100 + 10 * i);
    result.mutable_environment()->set_driver_version(i % 2 == 0 ? "550.54" : "1000.1");
    result.mutable_end_time()->set_seconds(1'767'225'610 + i);
    if (i == 4) result.set_outcome(v1::CASE_OUTCOME_FAILED);
    Commit({result});
  }
  v1::GroupResultsRequest request;
  request.add_group_by("driver");
  const auto grouped = results().Group(request);
  ASSERT_TRUE(grouped.ok()) << grouped.status();
  ASSERT_EQ(grouped->groups_size(), 2);
  const v1::ResultGroup& older = grouped->groups(0);
  EXPECT_EQ(older.values(0), "550.54");
  EXPECT_EQ(older.result_count(), 3);
  EXPECT_EQ(older.failed_count(), 1);
  EXPECT_EQ(older.median(), 110);
  EXPECT_EQ(older.low(), 100);
  EXPECT_EQ(older.high(), 120);
  EXPECT_DOUBLE_EQ(older.p05(), 101);
  EXPECT_DOUBLE_EQ(older.p95(), 119);
  EXPECT_EQ(older.node_count(), 1);
  EXPECT_EQ(older.gpu_count(), 1);
  EXPECT_EQ(older.best().case_result().case_index(), 2);
  EXPECT_TRUE(older.best().case_result().measurements(0).samples().empty());
  EXPECT_EQ(older.newest_time().seconds(), 1'767'225'614);
  EXPECT_EQ(grouped->groups(1).best().case_result().case_index(), 3);
  EXPECT_FALSE(grouped->truncated());
  request.set_limit(1);
  const auto one = results().Group(request);
  EXPECT_TRUE(one->truncated());
  EXPECT_EQ(one->groups(0).values(0), "550.54");
}

TEST_P(ResultQueryContract, GroupsBySeveralKindsOfFields) {
  StoreFive(Running(5));
  v1::GroupResultsRequest request;
  for (const char* field : {"parameters.m", "node", "outcome", "gpu.model"}) {
    request.add_group_by(field);
  }
  request.set_filter("parameters.x = word");
  const auto failed = results().Group(request);
  ASSERT_TRUE(failed.ok()) << failed.status();
  ASSERT_EQ(failed->groups_size(), 1);
  const v1::ResultGroup& group = failed->groups(0);
  EXPECT_EQ(std::vector<std::string>(group.values().begin(), group.values().end()),
            (std::vector<std::string>{"8", "name-of-a", "failed", "H200"}));
  EXPECT_FALSE(group.has_median());
  EXPECT_EQ(group.failed_count(), 1);
  EXPECT_EQ(group.best().case_result().case_index(), 4) << "the newest, because all failed";
  request.set_filter("benchmark = typo");
  EXPECT_EQ(results().Group(request)->groups_size(), 0);
  request.clear_group_by();
  request.clear_filter();
  EXPECT_EQ(results().Group(request)->groups_size(), 5) << "other parameters";
}

TEST_P(ResultQueryContract, ValuesOfSharedFieldsAreListed) {
  const LeasedJob job = Running(6);
  StoreFive(job);
  const auto campaigns = results().ListValues("campaign", 10, false);
  ASSERT_TRUE(campaigns.ok()) << campaigns.status();
  EXPECT_EQ(campaigns->values.size(), 1U);
  EXPECT_EQ(results().ListValues("campaign", 10, true)->values.size(), 0U);
  v1::CaseResult simulated = MakeResult(job, 5);
  simulated.mutable_provenance()->set_simulated(true);
  simulated.mutable_provenance()->set_provider("nowhere");
  simulated.mutable_environment()->set_gpu_model("B200");
  Commit({simulated});
  using Values = std::vector<std::string>;
  const auto values = [&](const std::string& field, bool of_simulated = false) {
    const auto found = results().ListValues(field, 10, of_simulated);
    EXPECT_TRUE(found.ok()) << field << ": " << found.status();
    return found.ok() ? found->values : Values();
  };
  EXPECT_EQ(values("driver"), (Values{"1000.1", "550.54"})) << "of the environment";
  EXPECT_EQ(values("benchmark"), (Values{"cpu_gemm"})) << "of the series";
  EXPECT_EQ(values("node"), (Values{"name-of-a"})) << "of the origin, one per node";
  EXPECT_EQ(values("parameters.x"), (Values{"10", "8", "9", "word"}));
  EXPECT_EQ(values("parameters.none"), Values());
  EXPECT_EQ(values("gpu.model"), (Values{"H200"}));
  EXPECT_EQ(values("gpu.model", true), (Values{"B200"}));
  EXPECT_EQ(values("provider", true), (Values{"nowhere"}));
  const auto cut = results().ListValues("parameters.x", 3, false);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(cut->values, (Values{"10", "8", "9"}));
  EXPECT_TRUE(cut->truncated);
  EXPECT_FALSE(results().ListValues("parameters.x", 4, false)->truncated);
  EXPECT_EQ(results().ListValues("drivr", 4, false).status().reason(), Reason::kUnknownField);
  for (const char* bad : {"median", "outcome", "series_id", "simulated", "x' OR 1=1"}) {
    EXPECT_EQ(results().ListValues(bad, 4, false).status().code(), Code::kInvalidArgument) << bad;
  }
}

TEST_P(ResultQueryContract, BestResultFollowsTheDirectionOfTheMetric) {
  const LeasedJob job = Running(3);
  for (int i = 0; i < 3; ++i) {
    v1::CaseResult result = MakeResult(job, i);
    (*result.mutable_parameters())["m"] = "8";
    result.mutable_measurements(0)->set_median(i == 1 ? 1 : 2);
    result.mutable_measurements(0)->set_direction(v1::DIRECTION_LOWER_IS_BETTER);
    Commit({result});
  }
  const auto grouped = results().Group({});
  ASSERT_TRUE(grouped.ok()) << grouped.status();
  ASSERT_EQ(grouped->groups_size(), 1);
  EXPECT_EQ(grouped->groups(0).best().case_result().case_index(), 1);
}

TEST_P(ResultQueryContract, BadGroupsAreRefused) {
  StoreFive(Running(5));
  for (const char* bad : {"nope", "time", "parameters", "x' OR 1=1", "samples"}) {
    v1::GroupResultsRequest request;
    request.add_group_by(bad);
    EXPECT_EQ(results().Group(request).status().code(), Code::kInvalidArgument) << bad;
  }
  for (const int limit : {-1, 10'001}) {
    v1::GroupResultsRequest request;
    request.set_limit(limit);
    EXPECT_EQ(results().Group(request).status().code(), Code::kInvalidArgument) << limit;
  }
  v1::GroupResultsRequest request;
  for (int i = 0; i < 5; ++i) request.add_group_by("driver");
  EXPECT_EQ(results().Group(request).status().code(), Code::kInvalidArgument);
  request.clear_group_by();
  request.set_filter("nope = 1");
  EXPECT_EQ(results().Group(request).status().reason(), Reason::kUnknownField);
}

}  // namespace assay::storage
