// The HTTPS listener for machines and users that have no certificate yet:
//
//   GET /join             a shell script that downloads the node's programs and enrols
//   GET /assay-node.deb   the node's programs
//   POST /enrol           v1::EnrolRequest in JSON -> v1::EnrolResponse in JSON
//
// Errors have the status code given by HttpStatus. Their body is a JSON object with the fields
// "code", "reason", "message", "hint" and "violations", a list of objects with "field" and
// "description".
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/host_port.h"
#include "common/status.h"
#include "coordinator/core/enrolment.h"
#include "coordinator/core/invite_lines.h"

namespace assay::coordinator::web {

struct JoinServerOptions {
  HostPort address;  // Port 0 selects a free port.
  // The address that others use. Absent: `address`. Port 0 stands for the actual port.
  std::optional<HostPort> advertise;
  std::string certificate;  // PEM.
  std::string key;          // PEM.
  std::string pin;          // See Authority::ServerPin.
  std::string authority;    // PEM.
  std::string archive;      // Path of assay-node.deb. Empty: none is offered.
  std::string version;      // Of the archive.
  Duration request_patience = std::chrono::seconds(10);
};

// The HTTPS server of the join listener. It serves until it is destroyed. Anyone can connect, so
// there are limits: 64 connections per client address, 10 s per request, 32 KiB for its body, and a
// number of refused requests (see RefusalLimit). Thread-safe.
class JoinServer {
 public:
  // Starts serving. `enrolment` and `clock` must outlive the server. Errors name the address or the
  // file, and the reason.
  static Result<std::unique_ptr<JoinServer>> Start(const JoinServerOptions& options,
                                                   Enrolment& enrolment, const Clock& clock);
  ~JoinServer();

  // Returns the address as others use it.
  const JoinAddress& address() const;

 private:
  class Impl;
  explicit JoinServer(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace assay::coordinator::web
