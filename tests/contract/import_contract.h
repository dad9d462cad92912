// The contract of every ResultStore for imports.
#pragma once

#include <gmock/gmock.h>

#include <limits>
#include <thread>

#include "common/uuid.h"
#include "tests/contract/stores.h"

namespace assay::storage {

class ImportContract : public StoreContract {
 protected:
  // Returns a campaign of two jobs with two cases each, all measured by nccl-tests.
  static ImportedCampaign MakeImport(const std::string& name = "import: a.txt") {
    ImportedCampaign imported;
    imported.campaign = MakeCampaign({MakeJob({}, 2), MakeJob({}, 2)}, name);
    for (const NewJob& job : imported.campaign.jobs) {
      LeasedJob lease;
      lease.job = job;
      lease.epoch = 1;
      for (int i = 0; i < 2; ++i) {
        v1::CaseResult& result = imported.results.emplace_back(MakeResult(lease, i));
        result.mutable_provenance()->set_imported_from("nccl-tests 2.17.6");
      }
    }
    return imported;
  }

  ImportOutcome Import(const ImportedCampaign& imported) {
    const auto outcome = results().Import(imported);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? *outcome : ImportOutcome{};
  }

  size_t Matching(const std::string& filter) {
    const auto page = results().List(filter, {});
    EXPECT_TRUE(page.ok()) << filter << ": " << page.status();
    return page.ok() ? page->items.size() : 0;
  }

  // Expects that nothing of an import is stored.
  void ExpectNothingStored() {
    EXPECT_TRUE(jobs().ListCampaigns({})->items.empty());
    EXPECT_EQ(Matching("imported = true AND metric : *"), 0U);
  }
};

TEST_P(ImportContract, IsACampaignThatHasEnded) {
  const ImportedCampaign imported = MakeImport();
  const ImportOutcome outcome = Import(imported);
  EXPECT_TRUE(outcome.fresh);
  EXPECT_EQ(outcome.campaign_id, imported.campaign.campaign_id);
  const v1::Campaign campaign = Campaign(outcome.campaign_id);
  EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_COMPLETED);
  EXPECT_EQ(campaign.verdict(), v1::VERDICT_PASSED);
  EXPECT_EQ(campaign.jobs().succeeded(), 2);
  EXPECT_EQ(campaign.case_count(), 4);
  EXPECT_EQ(campaign.cases_done(), 4);
  EXPECT_TRUE(campaign.has_end_time());
  EXPECT_TRUE(jobs().ListUnjudged()->empty());
  Connect({"a"});
  EXPECT_TRUE(Claim({"a"}).empty());
  EXPECT_EQ(results().ListOfCampaign(outcome.campaign_id)->size(), 8U);
  const auto listed = jobs().ListJobs(outcome.campaign_id, {});
  EXPECT_EQ(listed->items.at(0).epoch(), 1);
  EXPECT_EQ(listed->items.at(0).state(), v1::JOB_STATE_SUCCEEDED);
  // An imported result never changes.
  EXPECT_FALSE(Commit({imported.results[0]})[0].fresh);
  v1::CaseResult other = imported.results[0];
  other.mutable_measurements(0)->set_median(1);
  EXPECT_EQ(Commit({other})[0].verdict, CommitVerdict::kStale);
}

TEST_P(ImportContract, IsStoredOnceForARequest) {
  const ImportedCampaign first = MakeImport();
  Import(first);
  ImportedCampaign again = MakeImport("import: other name");
  again.campaign.request_id = first.campaign.request_id;
  const ImportOutcome outcome = Import(again);
  EXPECT_FALSE(outcome.fresh);
  EXPECT_EQ(outcome.campaign_id, first.campaign.campaign_id);
  EXPECT_EQ(jobs().ListCampaigns({})->items.size(), 1U);
  EXPECT_EQ(Matching("imported = true"), 4U);
  ImportedCampaign taken = MakeImport();
  taken.campaign.campaign_id = first.campaign.campaign_id;
  EXPECT_EQ(results().Import(taken).status().code(), Code::kAlreadyExists);
}

TEST_P(ImportContract, RacingImportsOfOneFileStoreOne) {
  const ImportedCampaign first = MakeImport();
  std::vector<ImportOutcome> outcomes(4);
  std::vector<std::thread> threads;
  for (ImportOutcome& mine : outcomes) {
    threads.emplace_back([&] {
      ImportedCampaign imported = MakeImport();
      imported.campaign.request_id = first.campaign.request_id;
      mine = Import(imported);
    });
  }
  for (std::thread& thread : threads) thread.join();
  int fresh = 0;
  for (const ImportOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.campaign_id, outcomes[0].campaign_id);
    fresh += outcome.fresh ? 1 : 0;
  }
  EXPECT_EQ(fresh, 1);
  EXPECT_EQ(Matching("imported = true"), 4U);
}

TEST_P(ImportContract, FailedCasesFailTheirJobAndTheVerdict) {
  ImportedCampaign imported = MakeImport();
  imported.results[1].clear_measurements();
  imported.results[1].set_outcome(v1::CASE_OUTCOME_FAILED);
  imported.results[1].mutable_failure()->set_reason(v1::REASON_VERIFICATION_FAILED);
  const v1::Campaign campaign = Campaign(Import(imported).campaign_id);
  EXPECT_EQ(campaign.verdict(), v1::VERDICT_FAILED);
  EXPECT_EQ(campaign.jobs().failed(), 1);
  EXPECT_EQ(campaign.jobs().succeeded(), 1);
  const auto listed = jobs().ListJobs(campaign.campaign_id(), {});
  EXPECT_EQ(listed->items.at(0).failure().reason(), v1::REASON_CASE_FAILED);
  EXPECT_FALSE(listed->items.at(1).has_failure());
  EXPECT_EQ(Matching("imported = true AND failure_reason = VERIFICATION_FAILED"), 1U);
}

TEST_P(ImportContract, NothingIsHalfStored) {
  ImportedCampaign missing = MakeImport();
  missing.results.pop_back();
  ImportedCampaign twice = MakeImport();
  twice.results[1] = twice.results[0];
  ImportedCampaign foreign = MakeImport();
  foreign.results[3].set_job_id(NewUuid());
  ImportedCampaign outside = MakeImport();
  outside.results[3].set_case_index(2);
  ImportedCampaign late = MakeImport();
  late.results[3].set_epoch(2);
  ImportedCampaign empty;
  for (const ImportedCampaign& bad : {missing, twice, foreign, outside, late, empty}) {
    EXPECT_EQ(results().Import(bad).status().code(), Code::kInvalidArgument);
    ExpectNothingStored();
  }
}

TEST_P(ImportContract, ShowsOnlyWhereItIsNamed) {
  const ImportedCampaign imported = MakeImport();
  const std::string id = Import(imported).campaign_id;
  for (const char* hidden : {"", "benchmark = cpu_gemm", "metric = tflops", "imported = false"}) {
    EXPECT_EQ(Matching(hidden), 0U) << hidden;
  }
  for (const std::string& shown :
       {std::string("imported = true"), std::string("imported : *"), "campaign_id = " + id,
        std::string("campaign = \"import: a.txt\""), std::string("imported_from = nccl-tests*"),
        std::string("imported_from : \"2.17\" AND metric = tflops")}) {
    EXPECT_EQ(Matching(shown), 4U) << shown;
  }
  // Results of one program form a series across its versions, apart from those that Assay
  // measured itself.
  Connect({"a"});
  Create(MakeCampaign({MakeJob({"a"}, 2)}));
  const auto leased = Claim({"a"});
  ASSERT_EQ(leased.size(), 1U);
  Commit({MakeResult(leased[0])});
  EXPECT_EQ(Matching(""), 1U);
  EXPECT_EQ(Matching("imported : *"), 5U);
  ImportedCampaign newer = MakeImport();
  for (v1::CaseResult& result : newer.results) {
    result.mutable_provenance()->set_imported_from("nccl-tests 2.18.3");
  }
  Import(newer);
  const auto series = [&](const std::string& filter) {
    return results().List(filter + " AND parameters.m = 1", {})->items.at(0).series_id();
  };
  EXPECT_NE(series("imported = false"), series("imported = true"));
  EXPECT_EQ(series("imported_from : 2.17"), series("imported_from : 2.18"));
}

}  // namespace assay::storage
