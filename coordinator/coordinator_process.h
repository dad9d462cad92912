// Everything that an assay-coordinator process consists of, put together.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "coordinator/options.h"

namespace assay::coordinator {

// Thread-safe.
class CoordinatorProcess {
 public:
  // Waits between tries for the database; false ends the start. Takes how long to wait.
  using Wait = bool (*)(Duration);

  // Opens and migrates the database, trying for 30 s if it is down, and serves. The
  // error says what is missing or taken.
  static Result<std::unique_ptr<CoordinatorProcess>> Start(const CoordinatorOptions& options,
                                                           Wait wait);

  // Sends agents away to come back, ends calls, and stops; a few seconds at most.
  ~CoordinatorProcess();

  // {"grpc":"HOST:PORT","http":"HOST:PORT"}, with the real ports.
  std::string ReadyLine() const;

 private:
  class Impl;
  CoordinatorProcess();
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::coordinator
