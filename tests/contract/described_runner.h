// The declarations of the build's assay-runner.
#pragma once

#include <gtest/gtest.h>

#include "assay/v1/runner.pb.h"
#include "common/subprocess.h"
#include "runner/frame_io.h"

namespace assay {

inline v1::RunnerDescription Described() {
  auto events = MakePipe();
  SubprocessOptions options;
  options.argv = {ASSAY_RUNNER, "describe"};
  options.descriptors = {{2, 2}, {3, events->write.get()}};
  auto process = Subprocess::Spawn(options);
  EXPECT_TRUE(process.ok()) << process.status();
  events->write.Close();
  FrameReader reader(events->read.get());
  const auto frame = reader.Read();
  v1::RunnerEvent event;
  EXPECT_TRUE(frame.ok() && frame->has_value() && event.ParseFromString(**frame));
  EXPECT_TRUE(event.has_description());
  return event.description();
}

}  // namespace assay
