// Mistakes for which gRPC says "Socket closed", against real servers.
#include "wire/explain_connection.h"

#include <grpcpp/generic/async_generic_service.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <thread>

#include "common/listener.h"
#include "tests/certificates.h"

namespace assay::rpc {
namespace {

using namespace std::chrono_literals;

// A server of gRPC without services.
class GrpcServer {
 public:
  explicit GrpcServer(const TlsFiles& files) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0",
                             ServerCredentials({"127.0.0.1", 0}, files, false).value(), &port_);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
  }
  HostPort address() const { return {"127.0.0.1", port_}; }

 private:
  int port_ = 0;
  grpc::CallbackGenericService service_;
  std::unique_ptr<grpc::Server> server_;
};

class ExplainConnectionTest : public ::testing::Test {
 protected:
  ExplainConnectionTest() {
    certificates_.Leaf("server", "URI:spiffe://f/coordinator/c,IP:127.0.0.1");
    certificates_.Leaf("elsewhere", "URI:spiffe://f/coordinator/c,DNS:assay.example");
    certificates_.Leaf("node", "URI:spiffe://f/node/1,DNS:a", "clientAuth");
    certificates_.Authority("foreign", "critical,CA:TRUE,pathlen:0");
    certificates_.Leaf("stranger", "URI:spiffe://f/node/1,DNS:a", "clientAuth", "foreign");
  }

  TlsFiles Files(const std::string& name, const std::string& authority = "ca") const {
    return {certificates_.Certificate(name), certificates_.Key(name),
            certificates_.Certificate(authority)};
  }

  testing_support::CertificateFolder certificates_;
};

void ExpectRefused(const Status& status, Reason reason) {
  EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status;
  EXPECT_EQ(status.reason(), reason) << status;
  EXPECT_FALSE(status.hint().empty()) << status;
}

TEST_F(ExplainConnectionTest, ConnectionThatWorks_IsOk) {
  const GrpcServer server(Files("server"));
  EXPECT_EQ(ExplainConnection(server.address(), Files("node")).ToString(), Status().ToString());
  const GrpcServer plain({});
  EXPECT_EQ(ExplainConnection(plain.address(), {}).ToString(), Status().ToString());
}

TEST_F(ExplainConnectionTest, PlaintextAndTls_AreToldApart) {
  const GrpcServer server(Files("server"));
  ExpectRefused(ExplainConnection(server.address(), {}), Reason::kTlsRequired);
  const GrpcServer plain({});
  ExpectRefused(ExplainConnection(plain.address(), Files("node")), Reason::kWrongPeer);
}

TEST_F(ExplainConnectionTest, OwnCertificateMissingOrForeign) {
  const GrpcServer server(Files("server"));
  TlsFiles none;
  none.authorities = certificates_.authority();
  ExpectRefused(ExplainConnection(server.address(), none), Reason::kTlsRequired);
  ExpectRefused(ExplainConnection(server.address(), Files("stranger")), Reason::kBadCertificate);
}

TEST_F(ExplainConnectionTest, ServerOfAnotherAuthorityOrName) {
  const GrpcServer server(Files("server"));
  ExpectRefused(ExplainConnection(server.address(), Files("stranger", "foreign")),
                Reason::kWrongPeer);
  const GrpcServer elsewhere(Files("elsewhere"));
  ExpectRefused(ExplainConnection(elsewhere.address(), Files("node")), Reason::kWrongPeer);
}

TEST_F(ExplainConnectionTest, ServerThatIsNotAssay) {
  const Listener listener = std::move(ListenOn({"127.0.0.1", 0}).value());
  std::thread web([&] {
    for (int i = 0; i < 2; ++i) {
      pollfd wanted{listener.sockets.front().get(), POLLIN, 0};
      ASSERT_EQ(::poll(&wanted, 1, 30'000), 1);
      const FileDescriptor socket(::accept4(wanted.fd, nullptr, nullptr, SOCK_CLOEXEC));
      char bytes[4096];
      ::recv(socket.get(), bytes, sizeof bytes, 0);
      constexpr std::string_view kAnswer = "HTTP/1.1 400 Bad Request\r\n\r\n";
      ::send(socket.get(), kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
    }
  });
  ExpectRefused(ExplainConnection(listener.address, Files("node")), Reason::kWrongPeer);
  ExpectRefused(ExplainConnection(listener.address, {}), Reason::kWrongPeer);
  web.join();
}

TEST_F(ExplainConnectionTest, NoServer_IsUnreachable) {
  for (const TlsFiles& files : {TlsFiles(), Files("node")}) {
    const Status status = ExplainConnection({"127.0.0.1", 1}, files);
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_EQ(status.reason(), Reason::kUnreachable);
  }
  // Connects, and is never answered.
  const Listener silent = std::move(ListenOn({"127.0.0.1", 0}).value());
  EXPECT_EQ(ExplainConnection(silent.address, Files("node"), 200ms).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace assay::rpc
