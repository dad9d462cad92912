// The parts of an assay-coordinator process, assembled.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "coordinator/options.h"

namespace assay::coordinator {

// Thread-safe.
class CoordinatorProcess {
 public:
  // Waits between attempts to reach the database, for the given time. Returning false ends the
  // start.
  using Wait = bool (*)(Duration);

  // Opens and migrates the database, retrying for 30 s if it is down, and starts serving. The error
  // says what is missing or in use.
  static Result<std::unique_ptr<CoordinatorProcess>> Start(const CoordinatorOptions& options,
                                                           Wait wait);

  // Closes agents' sessions, ends calls, and stops within a few seconds.
  ~CoordinatorProcess();

  // Returns {"grpc":"HOST:PORT","http":"HOST:PORT"} with the actual ports.
  std::string ReadyLine() const;

 private:
  class Impl;
  CoordinatorProcess();
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::coordinator
