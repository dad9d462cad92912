// The contract of every ResultStore.
#pragma once

#include <limits>
#include <map>
#include <set>
#include <thread>

#include "common/uuid.h"
#include "tests/contract/stores.h"
#include "wire/bounds.h"

namespace assay::storage {

class ResultStoreContract : public StoreContract {
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

  static bool Is(const CommitOutcome& outcome, CommitVerdict verdict, bool fresh = false) {
    return outcome.verdict == verdict && outcome.fresh == fresh;
  }
};

TEST_P(ResultStoreContract, ReplayIsStoredOnce) {
  const LeasedJob job = Running();
  const v1::CaseResult result = MakeResult(job);
  const auto outcomes = Commit({result, MakeResult(job, 1), result});
  EXPECT_TRUE(Is(outcomes[0], CommitVerdict::kStored, true));
  EXPECT_TRUE(Is(outcomes[1], CommitVerdict::kStored, true));
  EXPECT_TRUE(Is(outcomes[2], CommitVerdict::kStored));
  EXPECT_TRUE(Is(Commit({result})[0], CommitVerdict::kStored));
  EXPECT_EQ(Campaign(job.campaign_id).cases_done(), 2);
  EXPECT_EQ(results().ListOfCampaign(job.campaign_id)->size(), 4U);
  const auto renewed =
      jobs().RenewLeases("owner", std::chrono::minutes(1), {{{job.job.job_id, job.epoch}, "a"}});
  EXPECT_EQ(renewed->at(0).done_cases, (std::vector<int>{0, 1}));
}

TEST_P(ResultStoreContract, StaleEpochsStoreNothing) {
  const LeasedJob job = Running();
  v1::CaseResult ahead = MakeResult(job);
  ahead.set_epoch(job.epoch + 1);
  v1::CaseResult nobody = MakeResult(job);
  nobody.set_job_id(NewUuid());
  EXPECT_TRUE(Is(Commit({ahead})[0], CommitVerdict::kUnknownJob)) << "of a lost database";
  EXPECT_TRUE(Is(Commit({nobody})[0], CommitVerdict::kUnknownJob));
  ASSERT_TRUE(Is(Commit({MakeResult(job)})[0], CommitVerdict::kStored, true));
  Finish(job, Disposition::kRequeue);
  ASSERT_EQ(Claim({"a"}).size(), 1U);
  EXPECT_TRUE(Is(Commit({MakeResult(job, 1)})[0], CommitVerdict::kStale));
  // A replay of a stored result is still acknowledged.
  EXPECT_TRUE(Is(Commit({MakeResult(job)})[0], CommitVerdict::kStored));
  EXPECT_EQ(results().ListOfCampaign(job.campaign_id)->size(), 2U);
}

TEST_P(ResultStoreContract, RefusedResultsLeaveNoSeries) {
  const LeasedJob job = Running();
  std::vector<v1::CaseResult> refused;
  for (int i = 0; i < 100; ++i) {
    v1::CaseResult unknown = MakeResult(job);
    unknown.set_job_id(NewUuid());
    unknown.mutable_environment()->set_cpu_model("cpu " + std::to_string(i));
    refused.push_back(unknown);
  }
  for (const CommitOutcome& outcome : Commit(refused)) {
    EXPECT_TRUE(Is(outcome, CommitVerdict::kUnknownJob));
  }
  EXPECT_EQ(stores_->CountSeries(), 0);
  ASSERT_TRUE(Is(Commit({MakeResult(job)})[0], CommitVerdict::kStored, true));
  const int before = stores_->CountSeries();
  EXPECT_GT(before, 0);
  v1::CaseResult other = MakeResult(job);
  other.mutable_environment()->set_cpu_model("another");
  EXPECT_TRUE(Is(Commit({other})[0], CommitVerdict::kConflict));
  other.set_case_index(9);
  EXPECT_TRUE(Is(Commit({other})[0], CommitVerdict::kConflict));
  other.set_case_index(1);
  other.set_epoch(job.epoch + 1);
  EXPECT_TRUE(Is(Commit({other})[0], CommitVerdict::kUnknownJob));
  EXPECT_EQ(stores_->CountSeries(), before);
}

TEST_P(ResultStoreContract, NewSeriesBesideRefusedOnesIsStored) {
  const LeasedJob job = Running();
  v1::CaseResult refused = MakeResult(job);
  refused.set_epoch(job.epoch + 1);
  refused.mutable_environment()->set_cpu_model("another");
  const auto outcomes = Commit({refused, MakeResult(job, 1)});
  EXPECT_TRUE(Is(outcomes[0], CommitVerdict::kUnknownJob));
  EXPECT_TRUE(Is(outcomes[1], CommitVerdict::kStored, true));
  EXPECT_EQ(results().ListOfCampaign(job.campaign_id)->size(), 2U);
}

TEST_P(ResultStoreContract, CompareKnowsReplaysAndStoresNothing) {
  const LeasedJob job = Running();
  const v1::CaseResult sent = MakeResult(job);
  v1::CaseResult completed = sent;
  completed.mutable_provenance()->set_region("eu");
  const auto stored = results().Commit({{completed, PayloadHash(sent)}});
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_TRUE(Is(stored->at(0), CommitVerdict::kStored, true));
  EXPECT_EQ(results().List("", {})->items.at(0).case_result().provenance().region(), "eu");
  EXPECT_TRUE(Is(Commit({sent})[0], CommitVerdict::kStored)) << "a replay";
  v1::CaseResult nobody = sent;
  nobody.set_job_id("no job's \\ \" id");
  const auto compared = results().Compare({completed, sent, MakeResult(job, 1), nobody});
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_TRUE(Is(compared->at(0), CommitVerdict::kStale));
  EXPECT_TRUE(Is(compared->at(1), CommitVerdict::kStored));
  EXPECT_TRUE(Is(compared->at(2), CommitVerdict::kStale));
  EXPECT_TRUE(Is(compared->at(3), CommitVerdict::kUnknownJob));
  EXPECT_EQ(Campaign(job.campaign_id).cases_done(), 1);
}

TEST_P(ResultStoreContract, AnotherPayloadForACaseIsAConflict) {
  const LeasedJob job = Running();
  ASSERT_TRUE(Is(Commit({MakeResult(job)})[0], CommitVerdict::kStored, true));
  v1::CaseResult other = MakeResult(job);
  other.mutable_measurements(0)->set_median(1);
  EXPECT_TRUE(Is(Commit({other})[0], CommitVerdict::kConflict));
  for (int index : {-1, 2, 1 << 30}) {
    other.set_case_index(index);
    EXPECT_TRUE(Is(Commit({other})[0], CommitVerdict::kConflict)) << index;
  }
  EXPECT_EQ(Campaign(job.campaign_id).cases_done(), 1);
}

TEST_P(ResultStoreContract, RacingSendersStoreOnce) {
  const LeasedJob job = Running(8);
  std::vector<v1::CaseResult> batch;
  for (int i = 0; i < 8; ++i) batch.push_back(MakeResult(job, i));
  std::vector<std::vector<CommitOutcome>> outcomes(4);
  std::vector<std::thread> threads;
  for (auto& mine : outcomes) threads.emplace_back([&] { mine = Commit(batch); });
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < batch.size(); ++i) {
    int fresh = 0;
    for (const auto& mine : outcomes) {
      EXPECT_EQ(mine[i].verdict, CommitVerdict::kStored);
      fresh += mine[i].fresh ? 1 : 0;
    }
    EXPECT_EQ(fresh, 1);
  }
  EXPECT_EQ(Campaign(job.campaign_id).cases_done(), 8);
  EXPECT_EQ(results().ListOfCampaign(job.campaign_id)->size(), 16U);
}

TEST_P(ResultStoreContract, GetReturnsTheResultAsStored) {
  const LeasedJob job = Running();
  const v1::CaseResult sent = MakeResult(job);
  Commit({sent});
  const auto list = results().List("", {});
  ASSERT_EQ(list->items.size(), 1U);
  EXPECT_TRUE(list->items[0].case_result().measurements(0).samples().empty());
  const auto got = results().Get(list->items[0].result_id());
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->campaign_name(), "sweep");
  EXPECT_EQ(got->job_id(), job.job.job_id);
  EXPECT_EQ(got->series_id().size(), 64U);
  EXPECT_EQ(got->lineage_id().size(), 64U);
  v1::CaseResult expected = sent;
  expected.mutable_measurements()->DeleteSubrange(1, 1);
  EXPECT_EQ(got->case_result().DebugString(), expected.DebugString());
  for (const char* id : {"", "none", "'; DROP TABLE result; --"}) {
    EXPECT_EQ(results().Get(id).status().code(), Code::kNotFound) << id;
  }
  EXPECT_EQ(results().Get(NewUuid()).status().code(), Code::kNotFound);
}

TEST_P(ResultStoreContract, ResultsOfAJobAreListedOncePerCaseInOrder) {
  const LeasedJob job = Running(2);
  v1::CaseResult failed = MakeResult(job, 0);
  failed.clear_measurements();
  failed.set_outcome(v1::CASE_OUTCOME_FAILED);
  Commit({MakeResult(job, 1), failed});
  const auto listed = results().ListOfJob(job.job.job_id);
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->size(), 2U);
  EXPECT_EQ((*listed)[0].outcome(), v1::CASE_OUTCOME_FAILED);
  EXPECT_EQ((*listed)[1].case_index(), 1);
  EXPECT_TRUE((*listed)[1].measurements().empty());
  EXPECT_TRUE(results().ListOfJob(NewUuid())->empty());
}

TEST_P(ResultStoreContract, FailedCaseIsKeptWithoutMeasurements) {
  const LeasedJob job = Running();
  v1::CaseResult failed = MakeResult(job);
  failed.clear_measurements();
  failed.set_outcome(v1::CASE_OUTCOME_FAILED);
  failed.mutable_failure()->set_reason(v1::REASON_VERIFICATION_FAILED);
  ASSERT_TRUE(Is(Commit({failed})[0], CommitVerdict::kStored, true));
  EXPECT_EQ(Matching("outcome = failed"), 1U);
  EXPECT_EQ(Matching("outcome = ok"), 0U);
  EXPECT_EQ(Matching("failure_reason = VERIFICATION_FAILED"), 1U);
  EXPECT_EQ(Matching("NOT median > 0"), 1U);
  const auto list = results().List("", {});
  EXPECT_EQ(list->items.at(0).case_result().failure().reason(), v1::REASON_VERIFICATION_FAILED);
}

TEST_P(ResultStoreContract, PagesNewestFirst) {
  const LeasedJob job = Running(5);
  for (int i = 0; i < 5; ++i) Commit({MakeResult(job, i)});
  std::vector<int> seen;
  PageRequest request{2, ""};
  do {
    const auto page = results().List("benchmark = cpu_gemm", request);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const auto& item : page->items) seen.push_back(item.case_result().case_index());
    request.token = page->next_token;
  } while (!request.token.empty());
  EXPECT_EQ(seen, (std::vector<int>{4, 3, 2, 1, 0}));
  for (const char* token : {"x", "c1", "r1;", "r-1", "r1e3"}) {
    EXPECT_EQ(results().List("", {2, token}).status().code(), Code::kInvalidArgument) << token;
  }
}

TEST_P(ResultStoreContract, TheLargestResultsCanAllBeListed) {
  constexpr int kResults = 6;
  const LeasedJob job = Running(kResults);
  for (int i = 0; i < kResults; ++i) {
    v1::CaseResult result = MakeResult(job, i);
    while (result.ByteSizeLong() < (4080 << 10)) result.add_kernels(std::string(16 << 10, 'k'));
    ASSERT_TRUE(schema::CheckBounds(result, Reason::kInternal).ok());
    ASSERT_TRUE(Is(Commit({result})[0], CommitVerdict::kStored, true));
  }
  size_t listed = 0;
  PageRequest request{1000, ""};
  do {
    const auto page = results().List("", request);
    ASSERT_TRUE(page.ok()) << page.status();
    size_t bytes = 0;
    for (const v1::StoredResult& item : page->items) bytes += item.ByteSizeLong();
    EXPECT_LT(bytes, 16U << 20) << "gRPC refuses larger messages";
    listed += page->items.size();
    request.token = page->next_token;
  } while (!request.token.empty());
  EXPECT_EQ(listed, kResults);
}

TEST_P(ResultStoreContract, FiltersMatchAsDocumented) {
  const LeasedJob job = Running();
  Commit({MakeResult(job)});
  for (const char* yes : {"",
                          "benchmark=\"cpu_gemm\" AND gpu.model=\"H200\" AND driver>=\"580\"",
                          "driver >= 580.95",
                          "driver < 580.105",
                          "driver < 1000",
                          "median > 712",
                          "median = 712.5",
                          "price_per_hour < 2.5",
                          "price_per_hour >= 2.49",
                          "node : name-of",
                          "node = name-of-a*",
                          "flag = throttled",
                          "gpu.uuid : GPU",
                          "parameters.m = 1",
                          "parameters.m < 10",
                          "parameters.x != 1",
                          "NOT parameters.x = 1",
                          "campaign = sweep",
                          "outcome = ok",
                          "unit = \"TFLOP/s\"",
                          "time >= 2026-01-01",
                          "time < 2026-01-01T00:01",
                          "simulated = false",
                          "primary = true",
                          "metric = tflops",
                          "gpu.model = *200",
                          "gpu.model = *20*",
                          "provider : *",
                          "efficiency_spec > 0",
                          "model_error > 0.1",
                          "model_error = 0.125 AND model_sizes >= 7",
                          "model_seconds = 0.5 AND model_latency_seconds < 1e-4",
                          "model_bandwidth > 3e11 AND model_knee_bytes = 4e6",
                          "regime = compute",
                          "regime = comp*",
                          "stop_reason = confidence",
                          "stop_reason != time_budget",
                          "uncertainty : *",
                          "uncertainty = 0.02",
                          "uncertainty > 0.0025 AND uncertainty < 0.025",
                          "region != eu",
                          "failure_reason != TIMEOUT",
                          "cuda = 13.0",
                          "gpu.count = 1",
                          "repetition = 0"}) {
    EXPECT_EQ(Matching(yes), 1U) << yes;
  }
  for (const char* no : {"driver >= 580.105",
                         "driver > 1000",
                         "gpu.model = h200",
                         "price_per_hour > 2.5",
                         "flag != throttled",
                         "parameters.x : *",
                         "regime = memory",
                         "model_error < 0.1",
                         "NOT model_error : *",
                         "stop_reason = max_samples",
                         "uncertainty > 0.025",
                         "failure_reason : *",
                         "region : *",
                         "time > 2026-01-02",
                         "simulated = true",
                         "primary = false AND metric = tflops",
                         "median < 70",
                         "parameters.m > 10",
                         "cuda < 9",
                         "benchmark = \"' OR '1'='1\"",
                         "node = \"name-of\""}) {
    EXPECT_EQ(Matching(no), 0U) << no;
  }
  EXPECT_EQ(Matching("metric : *"), 2U);
  EXPECT_EQ(Matching("metric = time"), 1U);
}

TEST_P(ResultStoreContract, ParametersCompareAsNumbersWhereTheyAreOrdered) {
  const LeasedJob job = Running(5);
  std::vector<v1::CaseResult> sent;
  for (const char* bytes : {"8", "65536", "1048576", "134217728", "1MiB"}) {
    v1::CaseResult& result = sent.emplace_back(MakeResult(job, static_cast<int>(sent.size())));
    (*result.mutable_parameters())["bytes"] = bytes;
    (*result.mutable_parameters())["dtype"] = "fp32";
    (*result.mutable_environment()->mutable_nccl())["NCCL_BUFFSIZE"] = bytes;
  }
  Commit(sent);
  for (const std::string field : {"parameters.bytes", "nccl_variables.NCCL_BUFFSIZE"}) {
    for (const auto& [rest, count] : {std::pair(" < 1MiB", 2U),
                                      {" <= 1MiB", 3U},
                                      {" > 1MiB", 1U},
                                      {" >= \"1 mib\"", 2U},
                                      {" < 9", 1U},
                                      {" < 8.5", 1U},
                                      {" > 1e5", 2U},
                                      {" > -1", 4U},
                                      {" = 1MiB", 2U},  // The word and the number.
                                      {" = 1024KiB", 1U},
                                      {" = 1048576", 1U},
                                      {" != 1MiB", 3U},
                                      {" != 64KiB", 4U},
                                      {" = 1M*", 1U},
                                      {" : MiB", 1U}}) {
      EXPECT_EQ(Matching(field + rest), count) << field << rest;
    }
    for (const char* rest : {" < 1Mi", " > big", " >= 0x10", " < 1e300"}) {
      EXPECT_EQ(results().List(field + rest, {}).status().reason(), Reason::kBadFilter) << rest;
    }
  }
  EXPECT_EQ(Matching("NOT parameters.bytes < 1MiB"), 3U);
  EXPECT_EQ(Matching("parameters.dtype > 1"), 0U);
  EXPECT_EQ(Matching("parameters.dtype < 1MiB"), 0U);
  EXPECT_EQ(Matching("parameters.dtype = 16MiB"), 0U);
  EXPECT_EQ(results().List("driver >= r580", {}).status().reason(), Reason::kBadFilter);
}

TEST_P(ResultStoreContract, LabelsAndEffortAreFilteredAndNotPartOfTheSeries) {
  const LeasedJob job = Running(2);
  v1::CaseResult quick = MakeResult(job, 0);
  (*quick.mutable_provenance()->mutable_labels())["rack"] = "7";
  for (v1::Measurement& one : *quick.mutable_measurements()) {
    one.mutable_method()->set_effort("quick");
  }
  v1::CaseResult other = quick;
  other.set_case_index(1);
  (*other.mutable_provenance()->mutable_labels())["rack"] = "8";
  for (v1::Measurement& one : *other.mutable_measurements()) {
    one.mutable_method()->set_effort("standard");
  }
  ASSERT_TRUE(results().Commit(AsSent({quick, other})).ok());
  for (const auto& [filter, count] :
       std::map<std::string, size_t>{{"label.rack = \"7\"", 1},
                                     {"label.rack : *", 2},
                                     {"label.row : *", 0},
                                     {"effort = quick", 1},
                                     {"effort != quick AND label.rack = 8", 1}}) {
    const auto page = results().List(filter, {});
    ASSERT_TRUE(page.ok()) << filter << ": " << page.status();
    EXPECT_EQ(page->items.size(), count) << filter;
  }
  const auto all = results().List("", {});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->items[0].series_id(), all->items[1].series_id());
}

TEST_P(ResultStoreContract, NcclVariablesAreFilteredAndPartOfTheSeries) {
  const LeasedJob job = Running(3);
  v1::CaseResult ring = MakeResult(job);
  (*ring.mutable_environment()->mutable_nccl())["NCCL_ALGO"] = "Ring";
  (*ring.mutable_environment()->mutable_nccl())["NCCL_MAX_NCHANNELS"] = "8";
  (*ring.mutable_environment()->mutable_nccl())["NCCL_HOSTID"] = "one-host";
  v1::CaseResult excluded = MakeResult(job, 1);
  *excluded.mutable_parameters() = ring.parameters();
  (*excluded.mutable_environment()->mutable_nccl())["NCCL_ALGO"] = "^Tree";
  v1::CaseResult unset = MakeResult(job, 2);
  *unset.mutable_parameters() = ring.parameters();
  Commit({ring, excluded, unset});
  for (const auto& [filter, count] : {std::pair("nccl_variables.NCCL_ALGO = Ring", 1U),
                                      {"nccl_variables.nccl_algo = Ring", 1U},
                                      {"nccl_variables.NCCL_ALGO = ring", 0U},
                                      {"nccl_variables.NCCL_ALGO = \"^Tree\"", 1U},
                                      {"nccl_variables.NCCL_ALGO : Tree", 1U},
                                      {"nccl_variables.NCCL_ALGO = R*", 1U},
                                      {"nccl_variables.NCCL_ALGO : *", 2U},
                                      {"NOT nccl_variables.NCCL_ALGO : *", 1U},
                                      {"nccl_variables.NCCL_ALGO != Ring", 2U},
                                      {"nccl_variables.NCCL_MAX_NCHANNELS > 4", 1U},
                                      {"nccl_variables.NCCL_MAX_NCHANNELS >= 10", 0U},
                                      {"nccl_variables.NCCL_HOSTID = one-host", 1U},
                                      {"NOT nccl_variables.NCCL_HOSTID : *", 2U},
                                      {"nccl_variables.NCCL_PROTO : *", 0U}}) {
    EXPECT_EQ(Matching(filter), count) << filter;
  }
  const Status unknown = results().List("nccl_variables.NCCL_ALG = Ring", {}).status();
  EXPECT_EQ(unknown.reason(), Reason::kUnknownField);
  EXPECT_EQ(unknown.hint(), "did you mean `nccl_variables.NCCL_ALGO`?");
  std::set<std::string> series;
  std::set<std::string> lineages;
  const auto all = results().List("", {});
  ASSERT_TRUE(all.ok()) << all.status();
  for (const v1::StoredResult& one : all->items) {
    series.insert(one.series_id());
    lineages.insert(one.lineage_id());
  }
  EXPECT_EQ(series.size(), 3U);
  EXPECT_EQ(lineages.size(), 3U);
}

TEST_P(ResultStoreContract, HostileFiltersAreRefusedOrMatchNothing) {
  Commit({MakeResult(Running())});
  for (const char* bad :
       {"nope = 1", "benchmark", "median = x", "time > now()", "(((", "a = 'b",
        "benchmark = 'x'; DROP TABLE result", "\xff = 1", "simulated = maybe", "regime = bogus",
        "nccl_variables.x' = 1", "nccl_variables. = 1", "nccl_variables.LD_PRELOAD : *"}) {
    EXPECT_EQ(results().List(bad, {}).status().code(), Code::kInvalidArgument) << bad;
  }
  for (const char* harmless :
       {"benchmark = \"'; DROP TABLE result; --\"", "benchmark = \"$1\"", "benchmark : \"%\"",
        "benchmark = \"{\\\"a\\\",NULL}\"", "parameters.m' = 1 OR benchmark = x",
        "parameters.a.b-c = 99999999999999999999999999999", "benchmark < \"\\\\\"",
        "benchmark = *%*", "driver = 1e99"}) {
    const auto page = results().List(harmless, {});
    if (page.ok()) {
      EXPECT_TRUE(page->items.empty()) << harmless;
    } else {
      EXPECT_EQ(page.status().code(), Code::kInvalidArgument) << harmless;
    }
  }
  EXPECT_EQ(Matching(""), 1U);
}

TEST_P(ResultStoreContract, SimulatedAndSecondaryResultsAreListedOnlyIfNamed) {
  const LeasedJob job = Running();
  v1::CaseResult simulated = MakeResult(job);
  simulated.mutable_provenance()->set_simulated(true);
  Commit({simulated});
  EXPECT_EQ(Matching(""), 0U);
  EXPECT_EQ(Matching("simulated = true"), 1U);
  EXPECT_EQ(Matching("simulated = true AND metric = time"), 1U);
  EXPECT_EQ(results().ListOfCampaign(job.campaign_id)->size(), 2U);
}

TEST_P(ResultStoreContract, OddTextDoesNotAffectOtherResults) {
  const LeasedJob job = Running(3);
  v1::CaseResult odd = MakeResult(job);
  (*odd.mutable_parameters())["quote"] = "\"{\\',}\"";
  odd.mutable_provenance()->set_region("NULL");
  odd.mutable_conditions()->add_flags("a,\"b\"\\");
  v1::CaseResult zero = MakeResult(job, 1);
  (*zero.mutable_parameters())["zero"] = std::string("a\0b", 3);
  zero.mutable_measurements(0)->set_median(std::numeric_limits<double>::quiet_NaN());
  const auto outcomes = Commit({odd, zero, MakeResult(job, 2)});
  EXPECT_TRUE(Is(outcomes[0], CommitVerdict::kStored, true));
  EXPECT_TRUE(Is(outcomes[1], CommitVerdict::kStored, true));
  EXPECT_TRUE(Is(outcomes[2], CommitVerdict::kStored, true));
  EXPECT_EQ(Matching("region = NULL"), 1U);
  EXPECT_EQ(Matching("flag : \"a,\\\"b\\\"\\\\\""), 1U);
}

}  // namespace assay::storage
