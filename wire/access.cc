#include "wire/access.h"

#include <grpc/grpc_security_constants.h>
#include <openssl/evp.h>

#include <utility>
#include <vector>

#include "common/text.h"
#include "wire/certificate.h"
#include "wire/status_conversion.h"

namespace assay::rpc {
namespace {

constexpr size_t kMaxForwardedBytes = 16 << 10;

std::string ToString(grpc::string_ref text) { return {text.data(), text.size()}; }

// Returns the only value of a property of the connection; empty if there is none.
std::string Property(const grpc::AuthContext& context, const char* name) {
  const std::vector<grpc::string_ref> values = context.FindPropertyValues(name);
  return values.empty() ? "" : ToString(values.front());
}

// Returns the identity of the peer at the other end of the connection.
Result<Identity> PeerOf(const grpc::AuthContext& context, CertificateUse use) {
  const std::string certificate = Property(context, GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (certificate.empty()) {
    return Status(Code::kUnauthenticated, Reason::kNoIdentity, "the peer has no certificate");
  }
  ASSAY_RETURN_IF_ERROR(CheckChain(Property(context, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME)));
  return IdentityOfPem(certificate, use);
}

Result<Identity> Forwarded(const std::string& encoded) {
  const auto unreadable = [] {
    return Status(Code::kUnauthenticated, Reason::kBadCertificate,
                  "the certificate that the proxy forwards is not DER in base64");
  };
  if (encoded.empty() || encoded.size() > kMaxForwardedBytes || encoded.size() % 4 != 0) {
    return unreadable();
  }
  std::string der(encoded.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(der.data()),
                                     reinterpret_cast<const unsigned char*>(encoded.data()),
                                     static_cast<int>(encoded.size()));
  if (length < 0) return unreadable();
  der.resize(static_cast<size_t>(length));
  return IdentityOfDer(der, CertificateUse::kClient);
}

// Returns the caller's identity, given the call's `metadata`.
Result<Identity> CallerOf(const grpc::AuthContext& context,
                          const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  ASSAY_ASSIGN_OR_RETURN(const Identity peer, PeerOf(context, CertificateUse::kClient));
  if (peer.role != Role::kProxy) return peer;
  const auto forwarded = metadata.find(kForwardedPeer);
  if (forwarded == metadata.end()) return peer;
  ASSAY_ASSIGN_OR_RETURN(Identity caller, Forwarded(ToString(forwarded->second)));
  if (caller.fleet != peer.fleet) {
    return Status(Code::kUnauthenticated, Reason::kNoIdentity,
                  "the proxy forwards a certificate of the fleet \"" + caller.fleet + "\"");
  }
  return caller;
}

class AccessControl : public grpc::AuthMetadataProcessor {
 public:
  AccessControl(std::string fleet, CallerCheck check)
      : fleet_(std::move(fleet)), check_(std::move(check)) {}

  bool IsBlocking() const override { return false; }

  // If this function returns an error, gRPC sends only the code and the message to the client, so
  // the message ends with the reason in parentheses.
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context,
                       OutputMetadata* /*consumed*/, OutputMetadata* /*response*/) override {
    const Status checked = Check(metadata, *context);
    if (checked.ok()) return grpc::Status::OK;
    return {static_cast<grpc::StatusCode>(checked.code()),
            checked.message() + " (" + std::string(ReasonWord(checked.reason())) + ")"};
  }

 private:
  Status Check(const InputMetadata& metadata, const grpc::AuthContext& context) const {
    const auto path = metadata.find(":path");
    const std::string method = path == metadata.end() ? "" : ToString(path->second);
    ASSAY_ASSIGN_OR_RETURN(const Identity caller, CallerOf(context, metadata));
    if (caller.fleet != fleet_) {
      return Status(
          Code::kUnauthenticated, Reason::kNoIdentity,
          "the certificate is of the fleet \"" + caller.fleet + "\", not of \"" + fleet_ + "\"");
    }
    // Check this for every call, because the certificate may expire while the connection is open.
    ASSAY_RETURN_IF_ERROR(CheckExpiry(caller, Clock::Real().WallNow()));
    if (check_) ASSAY_RETURN_IF_ERROR(check_(caller));
    if (Allows(caller.role, method)) return Status::Ok();
    return Status(Code::kPermissionDenied, Reason::kNotPermitted,
                  "the role " + std::string(RoleName(caller.role)) + " may not call " + method)
        .WithHint("docs/reference/roles.md lists what each role may do");
  }

  const std::string fleet_;
  const CallerCheck check_;
};

}  // namespace

std::shared_ptr<grpc::AuthMetadataProcessor> NewAccessControl(std::string fleet,
                                                              CallerCheck check) {
  return std::make_shared<AccessControl>(std::move(fleet), std::move(check));
}

Status CheckExpiry(const Identity& caller, WallTime now) {
  if (now < caller.expire_time) return Status::Ok();
  // Do not return UNAUTHENTICATED, because agents take it to mean that their node was removed.
  return Status(Code::kFailedPrecondition, Reason::kBadCertificate,
                "the certificate of " + std::string(RoleName(caller.role)) + " " +
                    Quote(caller.name.empty() ? caller.id : caller.name) + " has expired")
      .WithHint("renew the certificate and connect again");
}

Identity CallerOf(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (!peer || Property(*peer, GRPC_X509_PEM_CERT_PROPERTY_NAME).empty()) return kLocalAdmin;
  const Result<Identity> caller = CallerOf(*peer, context.client_metadata());
  return caller.ok() ? *caller : Identity();
}

bool IsThroughProxy(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (!peer) return false;
  const Result<Identity> identity = PeerOf(*peer, CertificateUse::kClient);
  return identity.ok() && identity->role == Role::kProxy;
}

Identity ServerOf(const grpc::ClientContext& context) {
  const std::shared_ptr<const grpc::AuthContext> peer = context.auth_context();
  if (!peer || Property(*peer, GRPC_X509_PEM_CERT_PROPERTY_NAME).empty()) return kLocalAdmin;
  const Result<Identity> server = PeerOf(*peer, CertificateUse::kServer);
  return server.ok() ? *server : Identity();
}

}  // namespace assay::rpc
