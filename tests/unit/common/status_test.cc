#include "common/status.h"

#include <gtest/gtest.h>

#include "tests/wording.h"

namespace assay {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return InvalidArgument("odd");
  return number / 2;
}

Result<int> Quarter(int number) {
  ASSAY_ASSIGN_OR_RETURN(const int half, Half(number));
  return Half(half);
}

TEST(Result, CarriesValueOrError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Quarter(7).status().code(), Code::kInvalidArgument);
}

TEST(Status, PrintsViolationsWithLinesAndHint) {
  const Status status = InvalidArgument("2 errors", Reason::kInvalidCampaign)
                            .WithViolations({{"name", "is empty", 3}, {"repetitions", "is 0", 0}})
                            .WithHint("see docs");
  EXPECT_WORDING("common/status", status.ToString());
}

TEST(Status, Ok_IgnoresHintAndContext) {
  EXPECT_TRUE(Status::Ok().WithHint("x").WithContext("y").ok());
  EXPECT_EQ(Status(Code::kOk, Reason::kInternal, "m").ToString(), "OK");
}

}  // namespace
}  // namespace assay
