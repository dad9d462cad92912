// Runs the build's assay-runner to its end.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "common/subprocess.h"

namespace assay {

inline CommandOutput Invoke(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), ASSAY_RUNNER);
  SubprocessOptions options;
  options.argv = std::move(arguments);
  auto output = RunCommand(std::move(options), std::chrono::seconds(60));
  EXPECT_TRUE(output.ok()) << output.status();
  return output.ok() ? *output : CommandOutput();
}

}  // namespace assay
