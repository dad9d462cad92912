#include "wire/acceptor.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace assay::rpc {
namespace {

constexpr int kLeastReserved = 64;
// Minimum interval between searches for closed connections. The acceptor searches for them when a
// network address has reached its connection limit.
constexpr Duration kCheckPeriod = std::chrono::milliseconds(100);

struct Peer {
  std::string address;  // "127.0.0.1"
  std::string text;     // "127.0.0.1:40312"
};

Peer Describe(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(), host.size(),
                  port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host.data(), std::string(host.data()) + ":" + port.data()};
}

// Returns the peer of descriptor `fd`; empty if it is closed or something else by now.
std::string PeerOf(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  return Describe(address, length).text;
}

FileDescriptor OpenReserve() { return FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

ConnectionLimits ConnectionLimits::OfProcess() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) files.rlim_cur = 1024;
  const int all = static_cast<int>(std::min<rlim_t>(files.rlim_cur, 1 << 20));
  ConnectionLimits limits;
  limits.descriptors = std::max(all - std::max(all / 4, kLeastReserved), 1);
  limits.per_address = std::max(limits.descriptors / 2, 1);
  return limits;
}

Result<std::unique_ptr<Acceptor>> Acceptor::Listen(const HostPort& address,
                                                   ConnectionLimits limits) {
  ASSAY_ASSIGN_OR_RETURN(Listener listener, ListenOn(address));
  std::unique_ptr<Acceptor> acceptor(new Acceptor(std::move(listener), limits));
  if (!acceptor->stop_.valid()) return Internal("cannot make an event: no descriptor is left");
  return acceptor;
}

Acceptor::Acceptor(Listener listener, ConnectionLimits limits)
    : limits_(limits),
      listener_(std::move(listener)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      reserve_(OpenReserve()) {}

Acceptor::~Acceptor() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void Acceptor::Register(grpc::ServerBuilder& builder,
                        std::shared_ptr<grpc::ServerCredentials> credentials) {
  server_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      std::move(credentials));
}

void Acceptor::Start() {
  thread_ = std::thread([this] { Run(); });
}

Status Acceptor::Check(Duration patience) const {
  const Status deaf =
      Unavailable("the port " + address().ToString() + " does not accept connections");
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (getsockname(listener_.sockets.front().get(), reinterpret_cast<sockaddr*>(&own), &length) !=
      0) {
    return deaf;
  }
  const FileDescriptor connection(
      socket(own.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const MonotonicTime deadline = Clock::Real().Now() + patience;
  MutexLock lock(mutex_);
  const int64_t before = accepted_;
  // Connecting to a wildcard address, such as 0.0.0.0, connects to this machine.
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&own), length) != 0 &&
      errno != EINPROGRESS) {
    return deaf;
  }
  while (accepted_ == before) {
    if (!changed_.WaitUntil(mutex_, deadline)) return accepted_ == before ? deaf : Status::Ok();
  }
  return Status::Ok();
}

void Acceptor::Run() {
  std::vector<pollfd> waited = {{stop_.get(), POLLIN, 0}};
  for (const FileDescriptor& socket : listener_.sockets)
    waited.push_back({socket.get(), POLLIN, 0});
  for (;;) {
    if (poll(waited.data(), waited.size(), -1) < 0 && errno != EINTR) return;
    if (waited.front().revents != 0) return;
    for (size_t i = 1; i < waited.size(); ++i) {
      if (waited[i].revents != 0) AcceptFrom(waited[i].fd);
    }
  }
}

void Acceptor::AcceptFrom(int listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  FileDescriptor connection(accept4(listener, reinterpret_cast<sockaddr*>(&address), &length,
                                    SOCK_CLOEXEC | SOCK_NONBLOCK));
  const int error = errno;
  {
    MutexLock lock(mutex_);
    ++accepted_;
    changed_.NotifyAll();
  }
  if (!connection.valid()) {
    if (error != EMFILE && error != ENFILE) return;
    // No file descriptors are left, so use the reserved one to accept the connection, and close it.
    // If the connection stayed in the queue, poll would keep returning immediately.
    reserve_.Close();
    FileDescriptor(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)).Close();
    reserve_ = OpenReserve();
    return;
  }
  const Peer peer = Describe(address, length);
  if (connection.get() >= limits_.descriptors || !Admits(peer.address)) return;
  // Set TCP_NODELAY, as gRPC does on connections that it accepts itself. Without this option, each
  // small message would wait 40 ms for the peer's delayed acknowledgement.
  const int on = 1;
  setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int fd = connection.Release();
  Forget(fd);  // A connection that had this descriptor before has ended.
  ++connections_per_address_[peer.address];
  connections_[fd] = {peer.address, peer.text};
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters accepted;
  accepted.listener_fd = listener;
  accepted.fd = fd;
  server_->HandleNewConnection(&accepted);
}

bool Acceptor::Admits(const std::string& address) {
  const auto found = connections_per_address_.find(address);
  if (found == connections_per_address_.end() || found->second < limits_.per_address) return true;
  const MonotonicTime now = Clock::Real().Now();
  if (now < next_check_) return false;
  next_check_ = now + kCheckPeriod;
  std::vector<int> ended;
  for (const auto& [fd, connection] : connections_) {
    if (connection.address == address && PeerOf(fd) != connection.peer) ended.push_back(fd);
  }
  for (const int fd : ended) Forget(fd);
  return !ended.empty();
}

void Acceptor::Forget(int fd) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  const auto count = connections_per_address_.find(found->second.address);
  if (--count->second == 0) connections_per_address_.erase(count);
  connections_.erase(found);
}

}  // namespace assay::rpc
