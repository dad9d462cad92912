// Lets a node or user join a fleet, and stores its key and certificate in a folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"

namespace assay::identity {

// The join listener of a coordinator.
struct JoinPoint {
  std::string url;  // "https://HOST:PORT"
  std::string pin;  // Of the listener's key; see ServerCertificate in identity/authority.h.
};

// The folder of a node or user that has joined a fleet. Only its owner can read it. It contains the
// files key.pem, certificate.pem, authority.pem and enrolment.json.
struct Enrolled {
  std::string folder;
  JoinPoint join;
  std::string fleet;
  std::string role;
  std::string id;
  std::string name;
  std::vector<std::string> coordinators;  // HOST:PORT for gRPC.
  WallTime issue_time{};                  // Of the certificate.
  WallTime expire_time{};                 // Of the certificate.

  std::string key_file() const { return folder + "/key.pem"; }
  std::string certificate_file() const { return folder + "/certificate.pem"; }
  std::string authority_file() const { return folder + "/authority.pem"; }
};

// Joins a fleet: sends the public key in `folder` and the token of an invite to the coordinator,
// and stores the certificate that the coordinator returns. Creates the folder and the key if they
// do not exist. After a crash or a lost response, call this again with the same token. Connects
// through the proxy in the environment variable https_proxy, if it is set. Blocks for at most 30 s.
// Returns the coordinator's errors (see coordinator/core/enrolment.h) or
//   UNAVAILABLE, UNREACHABLE         no connection, or no response
//   FAILED_PRECONDITION, WRONG_PEER  the server does not speak TLS, has another key than the pin
//                                    says, or is not Assay
//   INVALID_ARGUMENT                 the URL, the pin or https_proxy is malformed
Result<Enrolled> Join(const std::string& folder, const JoinPoint& join, const std::string& token,
                      const std::string& host_name);

// Reads a folder. Returns nullopt if its node or user has not joined a fleet yet.
Result<std::optional<Enrolled>> LoadEnrolled(const std::string& folder);

// Renews the certificate with a request to the join listener. The request proves possession of the
// key instead of presenting the certificate, so that it succeeds even after the certificate has
// expired. Returns the errors of Join.
Result<Enrolled> RenewByKey(const Enrolled& enrolled);

// Stores a certificate (PEM, the leaf first) that the coordinator has issued for the folder's key.
Result<Enrolled> StoreCertificate(const Enrolled& enrolled, const std::string& certificate_chain);

}  // namespace assay::identity
