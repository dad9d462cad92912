// Access control on real servers: certificates of each kind call a real port.
#include "wire/access.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

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

  void Serve(const std::string& authority) {
    const HostPort here = {"127.0.0.1", 0};
    const auto credentials = ServerCredentials(here, Files("coordinator", authority), false);
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
  const auto der = [&](const std::string& name) {
    const std::string pem = *ReadFile(files_.Certificate(name), 1 << 20);
    std::string encoded;
    for (const char c : pem.substr(pem.find("-----\n") + 6)) {
      if (c == '-') break;
      if (c != '\n') encoded += c;
    }
    return encoded;
  };
  const Status called = Call("proxy", der("viewer"));
  ASSERT_TRUE(called.ok()) << called;
  EXPECT_EQ(nodes_.caller->id, "ann");
  EXPECT_EQ(Call("proxy", der("node")).code(), Code::kPermissionDenied);
  EXPECT_EQ(Call("proxy", "AAAA").code(), Code::kUnauthenticated);
  // A peer that is no proxy cannot borrow another's identity.
  EXPECT_EQ(Call("node", der("viewer")).code(), Code::kPermissionDenied);
}

}  // namespace
}  // namespace assay::rpc
