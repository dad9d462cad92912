#include "coordinator/rpc/identity_service.h"

#include "assay/v1/identity_service.grpc.pb.h"
#include "coordinator/rpc/service.h"
#include "coordinator/rpc/stream_link.h"
#include "wire/access.h"

namespace assay::coordinator::rpc {
namespace {

class IdentityServiceImpl : public v1::IdentityService::CallbackService {
 public:
  IdentityServiceImpl(const Membership* membership, const Calls& calls)
      : membership_(membership), calls_(calls) {}

  Unary* CreateInvite(Context* context, const v1::CreateInviteRequest* request,
                      v1::CreateInviteResponse* response) override {
    return Answer(context, "CreateInvite", [=](const Membership& membership) -> Status {
      ASSAY_ASSIGN_OR_RETURN(
          *response, membership.enrolment.CreateInvite(*request, assay::rpc::CallerOf(*context)));
      AddCommands(membership.join, *response);
      return Status::Ok();
    });
  }

  Unary* ListInvites(Context* context, const v1::ListInvitesRequest*,
                     v1::ListInvitesResponse* response) override {
    return Answer(context, "ListInvites", [=](const Membership& membership) -> Status {
      ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::Invite> found,
                             membership.enrolment.ListInvites());
      response->mutable_invites()->Assign(found.begin(), found.end());
      return Status::Ok();
    });
  }

  Unary* RevokeInvite(Context* context, const v1::RevokeInviteRequest* request,
                      v1::RevokeInviteResponse*) override {
    return Answer(context, "RevokeInvite", [=](const Membership& membership) -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("invite_id", request->invite_id()));
      return membership.enrolment.RevokeInvite(request->invite_id());
    });
  }

  Unary* ListIdentities(Context* context, const v1::ListIdentitiesRequest* request,
                        v1::ListIdentitiesResponse* response) override {
    return Answer(context, "ListIdentities", [=](const Membership& membership) -> Status {
      ASSAY_ASSIGN_OR_RETURN(const PageRequest page, PageOf(*request, 1000));
      ASSAY_ASSIGN_OR_RETURN(Page<v1::EnrolledIdentity> found,
                             membership.enrolment.ListIdentities(request->role(), page));
      FillPage(std::move(found), response->mutable_identities(),
               response->mutable_next_page_token());
      return Status::Ok();
    });
  }

  Unary* BanIdentity(Context* context, const v1::BanIdentityRequest* request,
                     v1::BanIdentityResponse* response) override {
    return Answer(context, "BanIdentity", [=](const Membership& membership) -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("identity", request->identity()));
      ASSAY_ASSIGN_OR_RETURN(*response->mutable_identity(),
                             membership.enrolment.Ban(*request, assay::rpc::CallerOf(*context)));
      return Status::Ok();
    });
  }

  Unary* UnbanIdentity(Context* context, const v1::UnbanIdentityRequest* request,
                       v1::UnbanIdentityResponse* response) override {
    return Answer(context, "UnbanIdentity", [=](const Membership& membership) -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("identity", request->identity()));
      ASSAY_ASSIGN_OR_RETURN(*response->mutable_identity(),
                             membership.enrolment.Unban(request->identity()));
      return Status::Ok();
    });
  }

  Unary* RemoveIdentity(Context* context, const v1::RemoveIdentityRequest* request,
                        v1::RemoveIdentityResponse*) override {
    return Answer(context, "RemoveIdentity", [=](const Membership& membership) -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("identity", request->identity()));
      return membership.enrolment.RemoveIdentity(request->identity());
    });
  }

  Unary* ListAttempts(Context* context, const v1::ListAttemptsRequest*,
                      v1::ListAttemptsResponse* response) override {
    return Answer(context, "ListAttempts", [=](const Membership& membership) -> Status {
      ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::EnrolmentAttempt> found,
                             membership.enrolment.ListAttempts());
      response->mutable_attempts()->Assign(found.begin(), found.end());
      return Status::Ok();
    });
  }

  Unary* RenewCertificate(Context* context, const v1::RenewCertificateRequest* request,
                          v1::RenewCertificateResponse* response) override {
    return Answer(context, "RenewCertificate", [=](const Membership& membership) -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response,
                             membership.enrolment.Renew(*request, assay::rpc::CallerOf(*context),
                                                        AddressOfPeer(context->peer())));
      return Status::Ok();
    });
  }

 private:
  template <typename Body>
  Unary* Answer(Context* context, const char* method, Body body) const {
    return calls_.Answer(context, method, [membership = membership_, body]() -> Status {
      if (membership != nullptr) return body(*membership);
      return FailedPrecondition("this coordinator has no authority, so it neither invites nor bans",
                                Reason::kNoAuthority)
          .WithHint("start it with --ca FOLDER");
    });
  }

  const Membership* const membership_;
  const Calls& calls_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewIdentityService(const Membership* membership,
                                                  const Calls& calls) {
  return std::make_unique<IdentityServiceImpl>(membership, calls);
}

}  // namespace assay::coordinator::rpc
