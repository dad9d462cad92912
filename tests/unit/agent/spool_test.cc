#include "agent/core/spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

namespace assay::agent {
namespace {

namespace fs = std::filesystem;

class SpoolTest : public ::testing::Test {
 protected:
  static v1::CaseResult ResultOf(int case_index) {
    v1::CaseResult result;
    result.set_job_id("../job/of a peer");
    result.set_epoch(2);
    result.set_case_index(case_index);
    result.add_measurements()->set_median(case_index);
    return result;
  }

  std::unique_ptr<Spool> Open(int64_t limit = 1 << 20) {
    auto spool = Spool::Open(spool_, limit);
    EXPECT_TRUE(spool.ok()) << spool.status();
    return std::move(*spool);
  }

  static Status Append(Spool& spool, const v1::CaseResult& result,
                       const std::string& fleet_id = "fleet") {
    return spool.Append(result, fleet_id, [](const Status& lost) { ADD_FAILURE() << lost; });
  }

  std::vector<fs::path> Files(const std::string& extension) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(spool_)) {
      if (entry.path().extension() == extension) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  TemporaryFolder folder_;
  const std::string spool_ = folder_.path() + "/spool";
};

TEST_F(SpoolTest, KeepsResultsOverRestarts) {
  {
    const auto spool = Open();
    for (int i : {2, 0, 1}) ASSERT_TRUE(Append(*spool, ResultOf(i)).ok());
    ASSERT_TRUE(Append(*spool, ResultOf(1)).ok()) << "the same again changes nothing";
  }
  const auto spool = Open();
  const auto keys = spool->Keys("fleet");
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(keys[0].case_index, 2) << "oldest first";
  EXPECT_EQ(spool->Read(keys[0])->measurements(0).median(), 2);
  EXPECT_EQ(spool->CountOf(keys[0].job_id, 2), 3U);
  EXPECT_EQ(spool->CountOf(keys[0].job_id, 1), 0U);
  spool->Remove(keys[0]);
  EXPECT_FALSE(spool->Read(keys[0]).ok());
  EXPECT_EQ(Open()->depth(), 2U);
}

TEST_F(SpoolTest, NewFilesDoNotOverwriteOldOnes) {
  ASSERT_TRUE(Append(*Open(), ResultOf(0)).ok());
  const auto spool = Open();
  ASSERT_TRUE(Append(*spool, ResultOf(1)).ok());
  EXPECT_EQ(spool->Read(spool->Keys("fleet")[0])->case_index(), 0);
}

TEST_F(SpoolTest, DamagedFilesAreSetAside) {
  {
    const auto spool = Open();
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(Append(*spool, ResultOf(i)).ok());
  }
  const auto files = Files(".result");
  fs::resize_file(files[0], fs::file_size(files[0]) - 1);
  fs::resize_file(files[1], 0);
  {
    std::fstream file(files[2], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20);
    file.put('\x7f');
  }
  std::ofstream(spool_ + "/zzz.result") << "not ours";
  std::ofstream(spool_ + "/0000000000000009.result.tmp") << "unfinished";
  const auto spool = Open();
  EXPECT_EQ(spool->depth(), 1U);
  EXPECT_EQ(Files(".corrupt").size(), 4U);
  EXPECT_TRUE(Files(".tmp").empty());
}

TEST_F(SpoolTest, DamageWhileRunningIsSetAsideToo) {
  const auto spool = Open();
  ASSERT_TRUE(Append(*spool, ResultOf(0)).ok());
  spool->Flush();
  fs::resize_file(Files(".result")[0], 3);
  const auto read = spool->Read(spool->Keys("fleet")[0]);
  EXPECT_EQ(read.status().code(), Code::kDataLoss);
  EXPECT_EQ(spool->depth(), 0U);
}

TEST_F(SpoolTest, RefusesBeyondItsLimit) {
  const auto spool = Open(/*limit=*/8192);
  v1::CaseResult big = ResultOf(0);
  big.set_benchmark(std::string(6000, 'x'));
  ASSERT_TRUE(Append(*spool, big).ok());
  EXPECT_TRUE(spool->Full());
  big.set_case_index(1);
  const Status refused = Append(*spool, big);
  EXPECT_EQ(refused.reason(), Reason::kSpoolFull);
  spool->Remove(spool->Keys("fleet")[0]);
  EXPECT_FALSE(spool->Full());
  EXPECT_TRUE(Append(*spool, big).ok());
}

TEST_F(SpoolTest, ResultsAreListedByFleet) {
  {
    const auto spool = Open();
    ASSERT_TRUE(Append(*spool, ResultOf(0)).ok());
    ASSERT_TRUE(Append(*spool, ResultOf(1), "other").ok());
  }
  const auto spool = Open();
  ASSERT_EQ(spool->Keys("other").size(), 1U);
  const ResultKey other = spool->Keys("other")[0];
  EXPECT_EQ(other.case_index, 1);
  EXPECT_TRUE(spool->Has(other, "other"));
  EXPECT_FALSE(spool->Has(other, "fleet"));
  EXPECT_EQ(spool->depth(), 2U);
}

TEST_F(SpoolTest, RejectedFolderKeepsTheNewest) {
  const auto rejected = [this] {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path() + "/rejected")) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  for (int i = 0; i < 5; ++i) {
    // A new spool each time: its numbers must not begin again.
    const auto spool = Open(/*limit=*/32 << 20);
    v1::CaseResult big = ResultOf(i);
    big.set_benchmark(std::string(5 << 20, 'x'));
    ASSERT_TRUE(Append(*spool, big).ok());
    spool->Reject(spool->Keys("fleet")[0]);
    EXPECT_EQ(spool->depth(), 0U);
    EXPECT_EQ(rejected().size(), std::min<size_t>(i + 1, 3)) << "16 MiB at most";
  }
  EXPECT_EQ(rejected(),
            (std::vector<std::string>{"0000000000000003.result", "0000000000000004.result",
                                      "0000000000000005.result"}));
  EXPECT_TRUE(Append(*Open(), ResultOf(0)).ok());
}

TEST_F(SpoolTest, ResultIsReadableBeforeAndAfterItIsOnDisk) {
  const auto spool = Open();
  ASSERT_TRUE(Append(*spool, ResultOf(0)).ok());
  EXPECT_EQ(spool->depth(), 1U);
  EXPECT_TRUE(spool->Read(spool->Keys("fleet")[0]).ok());
  spool->Flush();
  EXPECT_EQ(Files(".result").size(), 1U);
  EXPECT_TRUE(spool->Read(spool->Keys("fleet")[0]).ok());
}

TEST_F(SpoolTest, RemovedResultLeavesNoFile) {
  const auto spool = Open();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Append(*spool, ResultOf(i)).ok());
    spool->Remove(spool->Keys("fleet")[0]);
  }
  spool->Flush();
  EXPECT_TRUE(fs::is_empty(spool_));
}

TEST_F(SpoolTest, FailedWriteIsReportedAndTheResultIsGone) {
  const auto spool = Open();
  fs::remove_all(spool_);
  Status lost;
  ASSERT_TRUE(spool->Append(ResultOf(0), "fleet", [&](const Status& why) { lost = why; }).ok());
  spool->Flush();
  EXPECT_EQ(lost.reason(), Reason::kSpoolFailed);
  EXPECT_EQ(spool->depth(), 0U);
}

TEST_F(SpoolTest, UnusableFolderIsAnError) {
  std::ofstream(folder_.path() + "/file") << "x";
  const auto spool = Spool::Open(folder_.path() + "/file/spool", 1);
  ASSERT_FALSE(spool.ok());
  EXPECT_EQ(spool.status().reason(), Reason::kSpoolFailed);
}

}  // namespace
}  // namespace assay::agent
