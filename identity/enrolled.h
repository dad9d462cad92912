// A node or user that has joined a fleet: its key and certificate in a folder, and how it gets
// them.
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

// The content of an enrolled node's or user's folder, which only its owner can read. Its files are
// key.pem, certificate.pem, authority.pem and enrolment.json.
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

// Enrols the key in `folder`, which is made if it does not exist, with the token of an invite, and
// stores what the coordinator sends. After a crash or a lost response, call it again with the same
// token. The connection goes through the proxy of the environment variable https_proxy, if it is
// set. Blocks for at most 30 s. Errors are those of the coordinator (see
// coordinator/core/enrolment.h); or
//   UNAVAILABLE, UNREACHABLE         no connection, or no response
//   FAILED_PRECONDITION, WRONG_PEER  the server does not speak TLS, has another key than the pin
//                                    says, or is not Assay
//   INVALID_ARGUMENT                 the URL, the pin or https_proxy is malformed
Result<Enrolled> Join(const std::string& folder, const JoinPoint& join, const std::string& token,
                      const std::string& host_name);

// Reads a folder. Returns nullopt if it belongs to no fleet yet.
Result<std::optional<Enrolled>> LoadEnrolled(const std::string& folder);

// Renews the certificate at the join listener by proof of the key, also after it has expired. Has
// the errors of Join.
Result<Enrolled> RenewByKey(const Enrolled& enrolled);

// Stores a certificate (PEM, the leaf first) that the coordinator has issued for the folder's key.
Result<Enrolled> StoreCertificate(const Enrolled& enrolled, const std::string& certificate_chain);

}  // namespace assay::identity
