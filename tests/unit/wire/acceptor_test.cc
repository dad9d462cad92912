// The acceptor of a real gRPC server under floods of connections.
#include "wire/acceptor.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "assay/v1/node_service.grpc.pb.h"

namespace assay::rpc {
namespace {

class IdleNodes : public v1::NodeService::Service {
 public:
  grpc::Status ListNodes(grpc::ServerContext*, const v1::ListNodesRequest*,
                         v1::ListNodesResponse*) override {
    return grpc::Status::OK;
  }
};

class AcceptorTest : public testing::Test {
 protected:
  void Serve(ConnectionLimits limits) {
    auto acceptor = Acceptor::Listen({"127.0.0.1", 0}, limits);
    ASSERT_TRUE(acceptor.ok()) << acceptor.status();
    acceptor_ = *std::move(acceptor);
    grpc::ServerBuilder builder;
    acceptor_->Register(builder, grpc::InsecureServerCredentials());
    builder.RegisterService(&nodes_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    acceptor_->Start();
  }

  ~AcceptorTest() override {
    acceptor_ = nullptr;
    if (server_) server_->Shutdown();
  }

  // Connects from the loopback address `from` and says nothing.
  FileDescriptor Connect(const std::string& from) const {
    FileDescriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, from.c_str(), &address.sin_addr);
    EXPECT_EQ(bind(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    address.sin_port = htons(static_cast<uint16_t>(acceptor_->address().port));
    EXPECT_EQ(connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return connection;
  }

  // Returns true once the server has sent its settings, false once it has closed the connection.
  static bool IsServed(const FileDescriptor& connection) {
    char byte = 0;
    return recv(connection.get(), &byte, 1, 0) == 1;
  }

  grpc::Status Call() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = v1::NodeService::NewStub(grpc::CreateCustomChannel(
        acceptor_->address().ToString(), grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    v1::ListNodesResponse response;
    return stub->ListNodes(&context, {}, &response);
  }

  IdleNodes nodes_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(AcceptorTest, ConnectionsOverAnAddressesLimitAreClosedAndOthersServed) {
  Serve({.per_address = 3, .descriptors = 1 << 20});
  std::vector<FileDescriptor> idle;
  for (int i = 0; i < 3; ++i) {
    idle.push_back(Connect("127.0.0.2"));
    EXPECT_TRUE(IsServed(idle.back()));
  }
  EXPECT_FALSE(IsServed(Connect("127.0.0.2")));
  const grpc::Status called = Call();
  EXPECT_TRUE(called.ok()) << called.error_message();
}

TEST_F(AcceptorTest, EndedConnectionsNoLongerCount) {
  Serve({.per_address = 2, .descriptors = 1 << 20});
  for (int i = 0; i < 10; ++i) {
    const grpc::Status called = Call();
    EXPECT_TRUE(called.ok()) << i << ": " << called.error_message();
  }
}

TEST_F(AcceptorTest, ConnectionsThatWouldTakeTheLastDescriptorsAreClosed) {
  Serve({.per_address = 1000, .descriptors = 1});
  EXPECT_FALSE(IsServed(Connect("127.0.0.2")));
}

TEST_F(AcceptorTest, TakenPortIsRefused) {
  Serve({.per_address = 1000, .descriptors = 1 << 20});
  EXPECT_EQ(Acceptor::Listen(acceptor_->address(), {}).status().reason(), Reason::kAddressInUse);
}

}  // namespace
}  // namespace assay::rpc
