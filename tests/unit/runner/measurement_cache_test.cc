#include "runner/measurement_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/temporary_folder.h"
#include "tests/virtual_clock.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

constexpr char kOwner[] = "GPU-1 driver 580";

class MeasurementCacheTest : public testing::Test {
 protected:
  // Returns the cache of a further process.
  MeasurementCache NewCache() { return MeasurementCache(folder_.path(), &clock_); }

  std::string OnlyFile() const {
    const auto entries = std::filesystem::directory_iterator(folder_.path());
    EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
    return std::filesystem::directory_iterator(folder_.path())->path();
  }

  TemporaryFolder folder_;
  VirtualClock clock_;
};

TEST_F(MeasurementCacheTest, ProcessesShareTheValuesOfAnOwner) {
  MeasurementCache first = NewCache();
  MeasurementCache second = NewCache();
  first.Add(kOwner, {"copy", 0}, 4e12);
  second.Add(kOwner, {"all_reduce", 1024}, 5e-6);
  EXPECT_THAT(first.Find(kOwner),
              ElementsAre(Pair(Pair("all_reduce", 1024), 5e-6), Pair(Pair("copy", 0), 4e12)));
  EXPECT_THAT(NewCache().Find(kOwner), SizeIs(2));
  EXPECT_THAT(NewCache().Find("GPU-2"), IsEmpty());
  OnlyFile();  // No temporary file is left.
}

TEST_F(MeasurementCacheTest, NewestValueOfAKeyCounts) {
  NewCache().Add(kOwner, {"copy", 0}, 4e12);
  clock_.Advance(std::chrono::seconds(1));
  NewCache().Add(kOwner, {"copy", 0}, 3e12);
  EXPECT_THAT(NewCache().Find(kOwner), ElementsAre(Pair(Pair("copy", 0), 3e12)));
}

TEST_F(MeasurementCacheTest, OldValuesAndTheOldestBeyondTheLimitAreForgotten) {
  MeasurementCache cache = NewCache();
  cache.Add(kOwner, {"copy", 0}, 4e12);
  clock_.Advance(std::chrono::hours(1));
  EXPECT_THAT(cache.Find(kOwner, std::chrono::minutes(59)), IsEmpty());
  EXPECT_THAT(cache.Find(kOwner), SizeIs(1));
  clock_.Advance(MeasurementCache::kMaxAge);
  EXPECT_THAT(cache.Find(kOwner), IsEmpty());
  for (size_t bytes = 1; bytes <= MeasurementCache::kMaxValues + 1; ++bytes) {
    cache.Add(kOwner, {"send", static_cast<double>(bytes)}, 1e-6);
    clock_.Advance(std::chrono::seconds(1));
  }
  EXPECT_THAT(cache.Find(kOwner), SizeIs(MeasurementCache::kMaxValues));
  EXPECT_EQ(cache.Find(kOwner).count({"send", 1}), 0u);
}

TEST_F(MeasurementCacheTest, ClockThatWasSetBackMakesValuesUseless) {
  clock_.Advance(std::chrono::hours(1));
  NewCache().Add(kOwner, {"copy", 0}, 4e12);
  VirtualClock earlier;
  MeasurementCache cache(folder_.path(), &earlier);
  EXPECT_THAT(cache.Find(kOwner), IsEmpty());
}

TEST_F(MeasurementCacheTest, ImpossibleValuesAreNotStored) {
  MeasurementCache cache = NewCache();
  for (const double value : {0.0, -1.0, HUGE_VAL, std::nan("")})
    cache.Add(kOwner, {"copy", 0}, value);
  EXPECT_THAT(cache.Find(kOwner), IsEmpty());
}

TEST_F(MeasurementCacheTest, DamagedFilesAndLinesAreIgnored) {
  NewCache().Add(kOwner, {"copy", 0}, 4e12);
  std::ifstream in(OnlyFile());
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  const auto found = [&](const std::string& text) {
    std::ofstream(OnlyFile()) << text;
    return NewCache().Find(kOwner).size();
  };
  EXPECT_EQ(found(good), 1u);
  EXPECT_EQ(found("x" + good), 0u);
  EXPECT_EQ(found(""), 0u);
  for (const char* line :
       {"8 -1 0 s\n", "8 nan 0 s\n", "8 1 s\n", "8 1 0 \n", "8 1 9000000000000000000 s\n"}) {
    EXPECT_EQ(found(good + line), 1u) << line;
  }
}

TEST_F(MeasurementCacheTest, WithoutAFolderValuesLastAsLongAsTheProcess) {
  for (const std::string& folder : {std::string(), folder_.path() + "/missing"}) {
    MeasurementCache cache(folder, &clock_);
    cache.Add(kOwner, {"copy", 0}, 4e12);
    EXPECT_THAT(cache.Find(kOwner), SizeIs(1));
  }
}

}  // namespace
}  // namespace assay
