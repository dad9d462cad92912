#include <cstdio>

#include "host/gpu_platform.h"
#include "kernels/cpu/blas.h"
#include "runner/case_result.h"
#include "runner/commands.h"
#include "runner/exit_codes.h"
#include "runner/frame_io.h"
#include "runner/schemas.h"

namespace assay {

v1::RunnerDescription DescribeBenchmarks(const Registry& registry) {
  v1::RunnerDescription description;
  LinkedSoftware software = Software();
  software.blas = BlasVersion();
  Fill(software, description.mutable_software());
  *description.mutable_benchmarks() = SchemasOf(registry);
  return description;
}

int DescribeCommand(const Registry& registry, int events_fd) {
  v1::RunnerEvent event;
  *event.mutable_description() = DescribeBenchmarks(registry);
  const Status written = WriteFrame(events_fd, event.SerializeAsString());
  if (written.ok()) return kExitDone;
  std::fprintf(stderr, "assay-runner: %s\n", written.ToString().c_str());
  return kExitStopped;
}

}  // namespace assay
