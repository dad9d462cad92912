// Accepts connections on behalf of a gRPC server. Once a process runs out of file descriptors, the
// listener of gRPC 1.51 never accepts another connection (CVE-2023-4785). This acceptor keeps
// working, because it holds one descriptor in reserve with which it can always accept and close new
// connections.
#pragma once

#include <grpcpp/server_builder.h>

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "common/clock.h"
#include "common/host_port.h"
#include "common/listener.h"
#include "common/mutex.h"
#include "common/status.h"
#include "common/subprocess.h"

namespace assay::rpc {

// Limits for the open connections of an acceptor. Further connections are closed on arrival.
struct ConnectionLimits {
  // Connections from one network address.
  int per_address = 0;
  // Upper limit on file descriptor numbers. A new connection is closed immediately if its
  // descriptor is not below the limit. Higher numbers are reserved for files, the database and the
  // HTTP port.
  int descriptors = 0;

  // Returns limits based on the number of descriptors that this process may open. A quarter of
  // them, but at least 64, are reserved for other uses. A single network address may use up to half
  // of the rest.
  static ConnectionLimits OfProcess();
};

// Listens as soon as it is created. A separate thread accepts from Start until destruction.
class Acceptor {
 public:
  // Listens on `address`. The error names the address and the reason.
  static Result<std::unique_ptr<Acceptor>> Listen(const HostPort& address, ConnectionLimits limits);
  // Stops accepting. Connections that were handed over stay open.
  ~Acceptor();

  // Returns the address with the actual port.
  const HostPort& address() const { return listener_.address; }

  // Registers with a server that is about to be built and that will use `credentials`.
  void Register(grpc::ServerBuilder& builder, std::shared_ptr<grpc::ServerCredentials> credentials);
  // Begins to accept. Call once, after the server was started.
  void Start();

  // Checks that the acceptor is working by connecting to the port and waiting until a connection
  // has been accepted. Returns UNAVAILABLE if that takes longer than `patience`.
  Status Check(Duration patience) const;

 private:
  struct Connection {
    std::string address;  // Of the peer's network interface.
    std::string peer;     // The address with its port.
  };

  Acceptor(Listener listener, ConnectionLimits limits);
  void Run();
  void AcceptFrom(int listener);
  // Returns true if the address may have one more connection.
  bool Admits(const std::string& address);
  void Forget(int fd);

  const ConnectionLimits limits_;
  const Listener listener_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  int64_t accepted_ ASSAY_GUARDED_BY(mutex_) = 0;  // Connections, also those closed at once.
  FileDescriptor stop_;                            // Readable when the thread must end.
  FileDescriptor reserve_;  // Given up for a moment to close a connection when none is left.
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server_;
  // Used only by the thread. Connections by descriptor, some of which may have ended since.
  std::map<int, Connection> connections_;
  std::map<std::string, int> connections_per_address_;
  MonotonicTime next_check_;
  std::thread thread_;
};

}  // namespace assay::rpc
