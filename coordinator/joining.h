// The parts of a coordinator that has an authority: who may join, and who may call.
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

// Thread-safe.
class Joining {
 public:
  // Opens or makes the authority, issues this coordinator's certificate, and starts the join
  // listener. `listens` is the address of gRPC with its actual port. `executor` and `store` must
  // outlive the object.
  static Result<std::unique_ptr<Joining>> Start(const CoordinatorOptions& options,
                                                const HostPort& listens, Executor& executor,
                                                storage::IdentityStore& store);

  // This coordinator's certificate, for both servers and for dialling agents.
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

// Makes an invite without a running coordinator and prints what to run. Blocks on the database.
Status RunInvite(const CoordinatorOptions& options, storage::IdentityStore& store);

}  // namespace assay::coordinator
