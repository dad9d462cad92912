// The certificate authority of a fleet.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "identity/certificate_request.h"
#include "identity/openssl.h"

namespace assay::identity {

// Returns a new serial number: 32 random hexadecimal digits, of which the first is 4 to 7.
std::string NewSerial();

// A certificate to be issued.
struct Leaf {
  // The identity spiffe://FLEET/ROLE/ID. "coordinator" is the only role that may also be a server.
  std::string role;
  std::string id;
  // DNS names and IP addresses. The first one of a node is its name.
  std::vector<std::string> names;
  std::string serial;
  WallTime expire_time{};
};

// The certificate of a coordinator, with which it serves gRPC and HTTPS.
struct ServerCertificate {
  std::string certificate_file;
  std::string key_file;
  std::string authority_file;
};

// Signs certificates with the key in a folder. Immutable, so threads can share it.
class Authority {
 public:
  // Opens the authority in `folder`, or makes one for the fleet `fleet` that is valid for ten
  // years. If several processes make it at once, or one is killed meanwhile, they get the same
  // authority. The folder has
  //   ca.key, ca.pem              the authority
  //   server.key, server-ID.pem   the coordinators' own; see IssueServer
  // Returns FAILED_PRECONDITION if others can read the key or write to the folder, if key and
  // certificate do not belong together, or if the certificate is not an authority's, is not valid
  // at `now` or is another fleet's.
  static Result<std::unique_ptr<Authority>> Open(const std::string& folder,
                                                 const std::string& fleet, WallTime now);

  const std::string& fleet() const { return fleet_; }
  // The authority's certificate in PEM.
  const std::string& pem() const { return pem_; }
  // When it expires; no certificate that it issues is valid for longer.
  WallTime expire_time() const { return expire_time_; }

  // Returns a certificate in PEM for a key, valid from five minutes ago, so that it also serves
  // peers whose clocks are behind.
  Result<std::string> Issue(const RequestedKey& key, const Leaf& leaf, WallTime now) const;

  // Issues a coordinator's own certificate, which is valid as long as the authority, and writes it
  // to the folder. `id` names the coordinator: 1 to 64 letters, digits and hyphens. `names` are
  // those under which agents and users reach it.
  Result<ServerCertificate> IssueServer(const std::string& id,
                                        const std::vector<std::string>& names, WallTime now) const;
  // Returns the SHA-256 digest of the coordinators' public key in base64, for
  // `curl --pinnedpubkey sha256//PIN`. All coordinators that share the folder have the same key,
  // which this makes if it does not exist.
  Result<std::string> ServerPin() const;

 private:
  Authority(std::string folder, std::string fleet)
      : folder_(std::move(folder)), fleet_(std::move(fleet)) {}

  Status Load(WallTime now);
  Result<std::string> Sign(EVP_PKEY* key, const Leaf& leaf, WallTime now) const;

  const std::string folder_;
  const std::string fleet_;
  Key key_;
  Certificate certificate_;
  std::string pem_;
  WallTime expire_time_{};
};

}  // namespace assay::identity
