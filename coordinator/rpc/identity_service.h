// The service for invites, identities and bans.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "coordinator/core/ban_list.h"
#include "coordinator/core/enrolment.h"
#include "coordinator/core/invite_lines.h"
#include "coordinator/rpc/calls.h"

namespace assay::coordinator::rpc {

// The parts that only a coordinator with an authority has.
struct Membership {
  Enrolment& enrolment;
  BanList& bans;
  JoinAddress join;
};

// Both arguments must outlive the service. `membership` is null without an authority.
std::unique_ptr<grpc::Service> NewIdentityService(const Membership* membership, const Calls& calls);

}  // namespace assay::coordinator::rpc
