// What coalescing declares. That its kernel is right, the self-test shows on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "kernels/registry.h"

namespace assay {
namespace {

using testing::HasSubstr;

// Of an iteration with parameters as users give them.
Result<Work> WorkGiven(const ParameterMap& given) {
  ASSAY_ASSIGN_OR_RETURN(const Benchmark* const coalescing, BuiltinBenchmarks().Find("coalescing"));
  ASSAY_ASSIGN_OR_RETURN(const ParameterMap parameters,
                         CanonicalParameters(coalescing->Info().parameters, given));
  return coalescing->WorkOf(parameters, 1);
}

Result<Work> WorkOfStride(int64_t stride, int64_t elements) {
  return WorkGiven({{"stride", std::to_string(stride)}, {"elements", std::to_string(elements)}});
}

// A sector has 8 words, of which a stride of 1 uses all, and one of 8 or more a single word.
TEST(Coalescing, MovesUpToOneSectorAWord) {
  for (const int64_t elements : {1, 31, 98433, 33554432}) {
    const auto bytes = static_cast<double>(4 * elements);
    for (const auto& [stride, read] :
         {std::pair{1, 1}, {2, 2}, {5, 5}, {8, 8}, {9, 8}, {1024, 8}}) {
      const auto work = WorkOfStride(stride, elements);
      ASSERT_TRUE(work.ok()) << work.status();
      EXPECT_EQ(work->bytes, bytes * (read + 1)) << "stride " << stride;
      EXPECT_EQ(work->payload_bytes, 2 * bytes) << "stride " << stride;
      EXPECT_EQ(work->flops, 0);
    }
  }
}

// A write for each word read is a copy; for each sector read it is next to nothing.
TEST(Coalescing, IsComparedWithReadingWhereItMostlyReads) {
  EXPECT_EQ(WorkOfStride(1, 1000)->traffic, "copy");
  EXPECT_EQ(WorkOfStride(3, 1000)->traffic, "copy");
  EXPECT_EQ(WorkOfStride(4, 1000)->traffic, "read");
  EXPECT_EQ(WorkOfStride(1024, 1000)->traffic, "read");
}

TEST(Coalescing, TakesLessTimeInAGraph) {
  const auto stream = WorkGiven({{"launch", "stream"}});
  const auto graph = WorkGiven({{"launch", "graph"}});
  EXPECT_GT(graph->fixed_seconds, 0);
  EXPECT_LT(graph->fixed_seconds, stream->fixed_seconds);
}

TEST(Coalescing, RefusesWhatIsOutOfBounds) {
  for (const int64_t stride : {-1, 0, 1025}) {
    const Status refused = WorkOfStride(stride, 1000).status();
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << stride;
    EXPECT_THAT(refused.ToString(), HasSubstr("from 1 to 1024")) << stride;
  }
  for (const int64_t elements : {int64_t{0}, (int64_t{1} << 34) + 1}) {
    EXPECT_EQ(WorkOfStride(1, elements).status().code(), Code::kInvalidArgument) << elements;
  }
  // The largest of both: no product of them overflows.
  EXPECT_GT(WorkOfStride(1024, int64_t{1} << 34)->bytes, 0);
}

}  // namespace
}  // namespace assay
