// Access control on real servers: certificates of each kind call a real port.
#include "wire/access.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "assay/v1/fleet_service.grpc.pb.h"
#include "assay/v1/node_service.grpc.pb.h"
#include "common/file.h"
#include "tests/certificates.h"
#include "wire/acceptor.h"
#include "wire/credentials.h"
#include "wire/status_conversion.h"

namespace assay::rpc {
namespace {

// Remembers who called.
class RecordingNodes : public v1::NodeService::Service {
 public:
  grpc::Status ListNodes(grpc::ServerContext* context, const v1::ListNodesRequest*,
                         v1::ListNodesResponse*) override {
    caller = CallerOf(*context);
    return grpc::Status::OK;
  }

  std::optional<Identity> caller;
};

class AccessTest : public testing::Test {
 protected:
  void SetUp() override {
    files_.Leaf("coordinator", "URI:spiffe://lab/coordinator/one,IP:127.0.0.1");
    files_.Leaf("viewer", "URI:spiffe://lab/viewer/ann", "clientAuth");
    Serve(files_.authority());
  }

  void Serve(const std::string& authority, CallerCheck check = {}) {
    const HostPort here = {"127.0.0.1", 0};
    const auto credentials =
        ServerCredentials(here, Files("coordinator", authority), false, std::move(check));
    ASSERT_TRUE(credentials.ok()) << credentials.status();
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", *credentials, &port_);
    ApplyServerLimits(builder);
    builder.RegisterService(&nodes_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  TlsFiles Files(const std::string& name, const std::string& authority) const {
    return {files_.Certificate(name), files_.Key(name), authority};
  }

  // Calls ListNodes with the certificate `name`, which may be more than our own programs would
  // present, and returns the outcome.
  Status Call(const std::string& name, const std::string& forwarded = "") {
    const auto text = [](const std::string& path) { return *ReadFile(path, 1 << 20); };
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = text(files_.authority());
    options.pem_cert_chain = text(files_.Certificate(name));
    options.pem_private_key = text(files_.Key(name));
    const auto stub = v1::NodeService::NewStub(
        grpc::CreateChannel("127.0.0.1:" + std::to_string(port_), grpc::SslCredentials(options)));
    grpc::ClientContext context;
    if (!forwarded.empty()) context.AddMetadata(kForwardedPeer, forwarded);
    v1::ListNodesResponse response;
    const grpc::Status status = stub->ListNodes(&context, {}, &response);
    server_of_ = ServerOf(context);
    return FromGrpc(status);
  }

  // Returns a certificate as a proxy forwards it.
  std::string Encoded(const std::string& name) const {
    const std::string pem = *ReadFile(files_.Certificate(name), 1 << 20);
    std::string encoded;
    for (const char c : pem.substr(pem.find("-----\n") + 6)) {
      if (c == '-') break;
      if (c != '\n') encoded += c;
    }
    return encoded;
  }

  testing_support::CertificateFolder files_;
  RecordingNodes nodes_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  Identity server_of_;
};

TEST_F(AccessTest, AllowedRoleReachesTheHandler) {
  const Status called = Call("viewer");
  ASSERT_TRUE(called.ok()) << called;
  ASSERT_TRUE(nodes_.caller);
  EXPECT_EQ(nodes_.caller->role, Role::kViewer);
  EXPECT_EQ(nodes_.caller->id, "ann");
  EXPECT_FALSE(nodes_.caller->serial.empty());
  EXPECT_EQ(server_of_.role, Role::kCoordinator);
}

TEST_F(AccessTest, OtherRolesAreRefusedBeforeTheHandler) {
  files_.Leaf("node", "URI:spiffe://lab/node/1,DNS:g1", "clientAuth");
  files_.Leaf("proxy", "URI:spiffe://lab/proxy/1", "clientAuth");
  for (const char* name : {"node", "proxy", "coordinator"}) {
    EXPECT_EQ(Call(name).code(), Code::kPermissionDenied) << name;
  }
  EXPECT_FALSE(nodes_.caller);
}

TEST_F(AccessTest, CallersThatDoNotPassTheCheckAreRefused) {
  server_ = nullptr;
  Serve(files_.authority(), [](const Identity& caller) {
    return caller.id == "ann" ? Status(Code::kPermissionDenied, Reason::kBanned, "banned")
                              : Status::Ok();
  });
  const Status called = Call("viewer");
  EXPECT_EQ(called.code(), Code::kPermissionDenied);
  EXPECT_EQ(called.reason(), Reason::kBanned);
  EXPECT_FALSE(nodes_.caller);
  files_.Leaf("bob", "URI:spiffe://lab/viewer/bob", "clientAuth");
  EXPECT_TRUE(Call("bob").ok());
}

TEST_F(AccessTest, IdentityHasTheEndOfItsCertificate) {
  ASSERT_TRUE(Call("viewer").ok());
  const WallTime end = nodes_.caller->expire_time;
  const WallTime now = Clock::Real().WallNow();
  EXPECT_GT(end, now + std::chrono::hours(23));
  EXPECT_LE(end, now + std::chrono::hours(24));
  EXPECT_TRUE(CheckExpiry(*nodes_.caller, end - std::chrono::seconds(1)).ok());
  EXPECT_EQ(CheckExpiry(*nodes_.caller, end).code(), Code::kFailedPrecondition);
  EXPECT_EQ(CheckExpiry(*nodes_.caller, end).reason(), Reason::kBadCertificate);
  EXPECT_TRUE(CheckExpiry(kLocalAdmin, end).ok());
}

TEST_F(AccessTest, CertificateThatNeverExpiresIsAccepted) {
  const std::string name = "forever";
  files_.Leaf(name, "URI:spiffe://lab/viewer/ann", "clientAuth");
  ASSERT_EQ(std::system(("cd " + files_.At("") + " && openssl x509 -req -in " + name +
                         ".csr -CA ca.pem -CAkey ca.key -extfile " + name + ".ext -out " + name +
                         ".pem -days 2900000 >/dev/null 2>&1")
                            .c_str()),
            0);
  EXPECT_TRUE(Call(name).ok());
  EXPECT_GT(nodes_.caller->expire_time,
            Clock::Real().WallNow() + std::chrono::hours(24 * 365 * 200));
}

// A connection may be older than its certificate's end.
TEST_F(AccessTest, CallerWhoseCertificateHasExpiredIsRefused) {
  files_.Leaf("proxy", "URI:spiffe://lab/proxy/1", "clientAuth");
  ASSERT_EQ(std::system(("cd " + files_.At("") +
                         " && openssl x509 -req -in viewer.csr -CA ca.pem -CAkey ca.key -extfile "
                         "viewer.ext -out viewer.pem -days -1 >/dev/null 2>&1")
                            .c_str()),
            0);
  const Status called = Call("proxy", Encoded("viewer"));
  EXPECT_EQ(called.code(), Code::kFailedPrecondition);
  EXPECT_EQ(called.reason(), Reason::kBadCertificate);
  EXPECT_FALSE(nodes_.caller);
}

TEST_F(AccessTest, CertificateWithoutIdentityIsRefused) {
  files_.Leaf("nameless", "DNS:ann", "clientAuth");
  files_.Leaf("two", "URI:spiffe://lab/viewer/ann,URI:spiffe://lab/admin/ann", "clientAuth");
  files_.Leaf("stranger", "URI:spiffe://other/admin/ann", "clientAuth");
  for (const char* name : {"nameless", "two", "stranger"}) {
    EXPECT_EQ(Call(name).code(), Code::kUnauthenticated) << name;
  }
  EXPECT_FALSE(nodes_.caller);
}

TEST_F(AccessTest, AuthorityAsLeafIsRefused) {
  files_.Leaf("authority", "URI:spiffe://lab/admin/ann", "clientAuth", "ca", "critical,CA:TRUE");
  EXPECT_FALSE(Call("authority").ok());
  EXPECT_FALSE(nodes_.caller);
}

// gRPC accepts such a chain if the authority has no path length.
TEST_F(AccessTest, LeafSignedByALeafIsRefused) {
  for (const char* constraints : {"critical,CA:TRUE,pathlen:0", "critical,CA:TRUE"}) {
    server_ = nullptr;
    files_.Authority("ca", constraints);
    files_.Leaf("coordinator", "URI:spiffe://lab/coordinator/one,IP:127.0.0.1");
    files_.Leaf("node", "URI:spiffe://lab/node/1,DNS:g1", "clientAuth");
    files_.Leaf("forged", "URI:spiffe://lab/admin/ann", "clientAuth", "node");
    std::ofstream(files_.Certificate("forged"), std::ios::app)
        << *ReadFile(files_.Certificate("node"), 1 << 20);
    Serve(files_.authority());
    EXPECT_FALSE(Call("forged").ok()) << constraints;
    EXPECT_FALSE(nodes_.caller) << constraints;
  }
}

TEST_F(AccessTest, ProxySpeaksForItsClientAlone) {
  files_.Leaf("proxy", "URI:spiffe://lab/proxy/1", "clientAuth");
  files_.Leaf("node", "URI:spiffe://lab/node/1,DNS:g1", "clientAuth");
  const Status called = Call("proxy", Encoded("viewer"));
  ASSERT_TRUE(called.ok()) << called;
  EXPECT_EQ(nodes_.caller->id, "ann");
  EXPECT_EQ(Call("proxy", Encoded("node")).code(), Code::kPermissionDenied);
  EXPECT_EQ(Call("proxy", "AAAA").code(), Code::kUnauthenticated);
  // A peer that is no proxy cannot borrow another's identity.
  EXPECT_EQ(Call("node", Encoded("viewer")).code(), Code::kPermissionDenied);
}

}  // namespace
}  // namespace assay::rpc
