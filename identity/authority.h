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
  // The role and id of the certificate's owner, which form the identity spiffe://FLEET/ROLE/ID.
  // Only certificates with the role "coordinator" may also be used by servers.
  std::string role;
  std::string id;
  // DNS names and IP addresses. The first one in a node's certificate is the node's name.
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
  // Opens the authority in `folder`. If there is none, creates one for `fleet` that is valid for
  // ten years. Several processes may do this at once, and any of them may be killed meanwhile; all
  // others get the same authority. The files ca.key and ca.pem hold the authority; server.key and
  // server-ID.pem belong to the coordinators (see IssueServer). Returns FAILED_PRECONDITION if
  //   - other users can access the key or change the folder, or
  //   - the certificate is not that of an authority, is not valid at `now`, does not match the key,
  //     or is for another fleet.
  static Result<std::unique_ptr<Authority>> Open(const std::string& folder,
                                                 const std::string& fleet, WallTime now);

  const std::string& fleet() const { return fleet_; }
  // The authority's certificate in PEM.
  const std::string& pem() const { return pem_; }
  // The time when the authority expires. Certificates that it issues do not expire later.
  WallTime expire_time() const { return expire_time_; }

  // Returns a certificate, in PEM, for `key`. It is valid from five minutes before `now`, so that
  // peers whose clocks are slow also accept it.
  Result<std::string> Issue(const RequestedKey& key, const Leaf& leaf, WallTime now) const;

  // Issues the certificate with which a coordinator serves clients, and writes it to the folder. It
  // expires when the authority does. `id` identifies the coordinator and consists of 1 to 64
  // letters, digits and hyphens. `names` are the host names and IP addresses at which agents and
  // users reach the coordinator.
  Result<ServerCertificate> IssueServer(const std::string& id,
                                        const std::vector<std::string>& names, WallTime now) const;
  // Returns the PIN for `curl --pinnedpubkey sha256//PIN`, by which clients recognize a
  // coordinator: the SHA-256 digest, in base64, of its public key. All coordinators that share the
  // folder use the same key. Creates the key if it does not exist.
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
