// The parts that exist only in a coordinator with its own certificate authority. They decide which
// nodes and users may join the fleet, and which callers are accepted.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/executor.h"
#include "coordinator/core/ban_list.h"
#include "coordinator/core/enrolment.h"
#include "coordinator/core/invite_lines.h"
#include "coordinator/options.h"
#include "coordinator/rpc/identity_service.h"
#include "coordinator/web/join_server.h"
#include "identity/authority.h"
#include "storage/identity_store.h"
#include "wire/credentials.h"

namespace assay::coordinator {

// The authority, the bans, the enrolment and the join listener of a coordinator. Thread-safe.
class Joining {
 public:
  // Opens or creates the authority, issues this coordinator's certificate, and starts the join
  // listener. `listens` is the gRPC server's address, including its actual port. `executor` and
  // `store` must outlive the object.
  static Result<std::unique_ptr<Joining>> Start(const CoordinatorOptions& options,
                                                const HostPort& listens, Executor& executor,
                                                storage::IdentityStore& store);

  // Returns the files of the certificate that this coordinator presents as a gRPC server, in its
  // join listener, and when it dials agents.
  const assay::rpc::TlsFiles& tls() const { return tls_; }
  const rpc::Membership& membership() const { return *membership_; }
  bool listens() const { return server_ != nullptr; }

  // Ends the join listener.
  void StopListening() { server_ = nullptr; }

 private:
  Joining() = default;

  std::unique_ptr<identity::Authority> authority_;
  assay::rpc::TlsFiles tls_;
  std::shared_ptr<BanList> bans_;
  std::unique_ptr<Enrolment> enrolment_;
  std::unique_ptr<web::JoinServer> server_;
  std::unique_ptr<rpc::Membership> membership_;
};

// Creates an invite for a node or a user to join the fleet, and prints the command that uses it.
// Works without a running coordinator. Blocks on the database.
Status RunInvite(const CoordinatorOptions& options, storage::IdentityStore& store);

}  // namespace assay::coordinator
