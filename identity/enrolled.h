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

// The identity of a node or user that has joined a fleet. It is stored in a folder that only its
// owner can read, in the files key.pem, certificate.pem, authority.pem and enrolment.json.
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

// Joins a fleet: sends the invitation's token and the public key in `folder` to the coordinator,
// and stores the certificate that it returns. Creates the folder and the key if they do not exist.
// After a crash or a lost response, call this again with the same token. Uses the proxy in the
// environment variable https_proxy, if set. Blocks for at most 30 s. Returns the coordinator's
// errors or
//   UNAVAILABLE, UNREACHABLE         no connection, or no response
//   FAILED_PRECONDITION, WRONG_PEER  the server does not speak TLS, its key does not match the pin,
//                                    or it is not Assay
//   INVALID_ARGUMENT                 the URL, the pin or https_proxy is malformed
Result<Enrolled> Join(const std::string& folder, const JoinPoint& join, const std::string& token,
                      const std::string& host_name);

// Reads a folder. Returns nullopt if its node or user has not joined a fleet yet.
Result<std::optional<Enrolled>> LoadEnrolled(const std::string& folder);

// Renews the certificate of a node or user, even after it has expired: the owner proves possession
// of the key and does not need the old certificate. Returns the same errors as Join.
Result<Enrolled> RenewByKey(const Enrolled& enrolled);

// Stores a certificate (PEM, the leaf first) that the coordinator has issued for the folder's key.
Result<Enrolled> StoreCertificate(const Enrolled& enrolled, const std::string& certificate_chain);

}  // namespace assay::identity
