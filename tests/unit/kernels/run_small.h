// A small case of a benchmark that needs no GPU, from beginning to end.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "kernels/benchmark.h"

namespace assay {

// Verifies, runs a few iterations, verifies what they left; and that what no iteration wrote
// does not pass.
inline void RunSmall(const Benchmark& benchmark, const ParameterMap& given) {
  if (!benchmark.UnsupportedReason().empty()) GTEST_SKIP() << benchmark.UnsupportedReason();
  auto parameters = CheckParameters(benchmark, given);
  ASSERT_TRUE(parameters.ok()) << parameters.status();
  RunContext context;
  context.parameters = *parameters;
  context.seed = 5;
  auto prepared = benchmark.Prepare(context);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  auto verdict = (*prepared)->Verify();
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_TRUE(verdict->passed) << verdict->detail << " error " << verdict->error;
  std::vector<double> seconds;
  ASSERT_TRUE((*prepared)->Run(3, 2, &seconds).ok());
  EXPECT_EQ(seconds.size(), 3u);
  for (const double time : seconds) EXPECT_GT(time, 0);
  verdict = (*prepared)->VerifyLast();
  ASSERT_TRUE(verdict.ok());
  EXPECT_TRUE(verdict->passed) << verdict->detail << " error " << verdict->error;
  EXPECT_GT(verdict->elements_checked, 0);
  ASSERT_TRUE((*prepared)->Run(0, 1, &seconds).ok());
  verdict = (*prepared)->VerifyLast();
  ASSERT_TRUE(verdict.ok());
  EXPECT_FALSE(verdict->passed) << "Run does not poison the output before its iterations";
}

}  // namespace assay
