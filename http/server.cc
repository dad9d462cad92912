#include "http/server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <deque>
#include <exception>
#include <set>
#include <thread>

#include "common/listener.h"
#include "common/log.h"
#include "common/mutex.h"

namespace assay::http {
namespace {

std::string AddressOf(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text,
              sizeof text);
  }
  return text;
}

// A thread that shuts down connections whose deadlines have passed. libmicrohttpd's own timeout is
// not enough, because every byte received from the client resets it.
class Deadlines {
 public:
  Deadlines() : thread_([this] { Run(); }) {}
  ~Deadlines() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
  }

  void Set(int fd, Duration patience) { SetTo(fd, Clock::Real().Now() + patience); }
  void Clear(int fd) { SetTo(fd, MonotonicTime::max()); }
  // Must be called before the descriptor is closed.
  void Remove(int fd) {
    MutexLock lock(mutex_);
    deadlines_.erase(fd);
  }

 private:
  void SetTo(int fd, MonotonicTime deadline) {
    MutexLock lock(mutex_);
    deadlines_[fd] = deadline;
    changed_.NotifyAll();
  }

  void Run() {
    MutexLock lock(mutex_);
    while (!stopping_) {
      MonotonicTime next = MonotonicTime::max();
      const MonotonicTime now = Clock::Real().Now();
      for (auto& [fd, deadline] : deadlines_) {
        if (deadline <= now) {
          ::shutdown(fd, SHUT_RDWR);
          deadline = MonotonicTime::max();
        }
        next = std::min(next, deadline);
      }
      if (next == MonotonicTime::max()) {
        changed_.Wait(mutex_);
      } else {
        changed_.WaitUntil(mutex_, next);
      }
    }
  }

  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ASSAY_GUARDED_BY(mutex_) = false;
  std::map<int, MonotonicTime> deadlines_ ASSAY_GUARDED_BY(mutex_);  // By descriptor.
  std::thread thread_;
};

// A request and its response. Any thread may supply the response, through the Exchange interface;
// libmicrohttpd's threads send it. The connection is suspended while there is nothing to send.
class Call {
 public:
  Call(MHD_Connection* connection, int fd, Deadlines& deadlines, Duration patience, Request request)
      : fd_(fd),
        deadlines_(deadlines),
        patience_(patience),
        request_(std::move(request)),
        connection_(connection) {}

  Request& request() { return request_; }
  int fd() const { return fd_; }

  // The functions from here to OnDrained are called by the exchange, on any thread.
  void Respond(Response response, bool stream) {
    MutexLock lock(mutex_);
    if (ended_ || head_) return;
    streams_ = stream;
    if (stream && !response.body.empty()) parts_.push_back(std::exchange(response.body, {}));
    head_ = std::make_unique<Response>(std::move(response));
    Wake();
  }
  void Write(std::string part) {
    MutexLock lock(mutex_);
    if (ended_ || !streams_ || complete_ || part.empty()) return;
    parts_.push_back(std::move(part));
    Wake();
  }
  void End() {
    MutexLock lock(mutex_);
    complete_ = true;
    Wake();
  }
  // The exchange was dropped.
  void Abandon() {
    MutexLock lock(mutex_);
    abandoned_ = true;
    Wake();
  }
  void OnGone(std::function<void()> gone) {
    {
      MutexLock lock(mutex_);
      if (!ended_) {
        gone_ = std::move(gone);
        return;
      }
      if (sent_) return;
    }
    gone();
  }
  void OnDrained(std::function<void()> drained) {
    {
      MutexLock lock(mutex_);
      if (!ended_ && !parts_.empty()) {
        drained_.swap(drained);  // The earlier one is destroyed after the lock is released.
        return;
      }
    }
    drained();
  }

  // The next functions are called by libmicrohttpd's threads.

  // Returns the head of the response once the exchange has provided it. Until then, returns null
  // and suspends the connection. If there will be no response, returns null and sets `closed`.
  std::unique_ptr<Response> TakeHead(bool& streams, bool& closed) {
    MutexLock lock(mutex_);
    streams = streams_;
    closed = !head_ && (abandoned_ || stopping_);
    if (head_) {
      deadlines_.Set(fd_, patience_);
      return std::move(head_);
    }
    if (!closed) Suspend();
    return nullptr;
  }

  // Copies the next bytes of a streamed response to `buffer` and returns their number. If there are
  // none yet, suspends the connection and returns 0. At the end or after an error, returns one of
  // MHD_CONTENT_READER_END_*.
  ssize_t Read(char* buffer, size_t size) {
    std::function<void()> drained;
    ssize_t copied = 0;
    {
      MutexLock lock(mutex_);
      if (stopping_ || (abandoned_ && !complete_)) return MHD_CONTENT_READER_END_WITH_ERROR;
      if (parts_.empty()) {
        if (complete_) {
          deadlines_.Set(fd_, patience_);
          return MHD_CONTENT_READER_END_OF_STREAM;
        }
        deadlines_.Clear(fd_);
        Suspend();
        return 0;
      }
      deadlines_.Set(fd_, patience_);
      std::string& part = parts_.front();
      const size_t count = std::min(size, part.size() - taken_);
      std::memcpy(buffer, part.data() + taken_, count);
      taken_ += count;
      if (taken_ == part.size()) {
        parts_.pop_front();
        taken_ = 0;
      }
      if (parts_.empty()) drained = std::exchange(drained_, nullptr);
      copied = static_cast<ssize_t>(count);
    }
    if (drained) drained();
    return copied;
  }

  // The request is over: its response was sent, or the connection has ended.
  void Finish(bool sent) {
    std::function<void()> gone;
    // Declared outside the lock's scope, so that the callback is destroyed after the lock is
    // released: it may hold the last reference to the exchange, whose destructor locks `mutex_`.
    std::function<void()> drained;
    {
      MutexLock lock(mutex_);
      ended_ = true;
      sent_ = sent;
      parts_.clear();
      gone = std::exchange(gone_, nullptr);
      drained = std::exchange(drained_, nullptr);
    }
    if (!sent && gone) gone();
  }

  void Stop() {
    MutexLock lock(mutex_);
    stopping_ = true;
    Wake();
  }

  // Ends a streamed response whose client has closed the connection, because libmicrohttpd does not
  // notice this while the connection is suspended. Ignores other responses: their clients may have
  // closed only the sending side and still be waiting for the response.
  void StopIfClosed() {
    MutexLock lock(mutex_);
    if (!streams_ || ended_ || !suspended_) return;
    pollfd polled{fd_, POLLRDHUP, 0};
    if (poll(&polled, 1, 0) <= 0) return;
    stopping_ = true;
    Wake();
  }

 private:
  void Suspend() ASSAY_REQUIRES(mutex_) {
    suspended_ = true;
    MHD_suspend_connection(connection_);
  }
  void Wake() ASSAY_REQUIRES(mutex_) {
    if (ended_ || !std::exchange(suspended_, false)) return;
    MHD_resume_connection(connection_);
  }

  const int fd_;
  Deadlines& deadlines_;
  const Duration patience_;
  Request request_;
  Mutex mutex_;
  MHD_Connection* const connection_;
  std::unique_ptr<Response> head_ ASSAY_GUARDED_BY(mutex_);
  std::deque<std::string> parts_ ASSAY_GUARDED_BY(mutex_);
  size_t taken_ ASSAY_GUARDED_BY(mutex_) = 0;  // Bytes of the first part.
  bool streams_ ASSAY_GUARDED_BY(mutex_) = false;
  bool complete_ ASSAY_GUARDED_BY(mutex_) = false;   // End was called.
  bool abandoned_ ASSAY_GUARDED_BY(mutex_) = false;  // The exchange was dropped.
  bool suspended_ ASSAY_GUARDED_BY(mutex_) = false;
  bool stopping_ ASSAY_GUARDED_BY(mutex_) = false;
  bool ended_ ASSAY_GUARDED_BY(mutex_) = false;
  bool sent_ ASSAY_GUARDED_BY(mutex_) = false;
  std::function<void()> gone_ ASSAY_GUARDED_BY(mutex_);
  std::function<void()> drained_ ASSAY_GUARDED_BY(mutex_);
};

class CallExchange : public Exchange {
 public:
  explicit CallExchange(std::shared_ptr<Call> call) : call_(std::move(call)) {}
  ~CallExchange() override { call_->Abandon(); }
  const Request& request() const override { return call_->request(); }
  void Respond(Response response) override { call_->Respond(std::move(response), false); }
  void Begin(Response head) override { call_->Respond(std::move(head), true); }
  void Write(std::string part) override { call_->Write(std::move(part)); }
  void End() override { call_->End(); }
  void OnGone(std::function<void()> gone) override { call_->OnGone(std::move(gone)); }
  void OnDrained(std::function<void()> drained) override { call_->OnDrained(std::move(drained)); }

 private:
  const std::shared_ptr<Call> call_;
};

// State of a request, which libmicrohttpd keeps.
struct Pending {
  std::shared_ptr<Call> call;
  bool handled = false;
  bool too_large = false;
};

ssize_t ReadPart(void* call, uint64_t /*position*/, char* buffer, size_t size) {
  return (*static_cast<std::shared_ptr<Call>*>(call))->Read(buffer, size);
}
void FreeReader(void* call) { delete static_cast<std::shared_ptr<Call>*>(call); }

}  // namespace

std::string HeaderOf(const Request& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

Response PlainText(int status, std::string text) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(text)};
}

class Server::Impl {
 public:
  explicit Impl(ServerOptions options) : options_(std::move(options)) {}

  ~Impl() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
      for (const std::shared_ptr<Call>& call : calls_) call->Stop();
    }
    if (watch_.joinable()) watch_.join();
    for (MHD_Daemon* daemon : daemons_) MHD_stop_daemon(daemon);
  }

  Result<HostPort> Listen() {
    ASSAY_ASSIGN_OR_RETURN(Listener listener, ListenOn(options_.address));
    std::vector<MHD_OptionItem> items;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    if (!options_.tls_certificate.empty()) {
      flags |= MHD_USE_TLS;
      static char priorities[] = "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1";
      items.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, priorities});
      items.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, options_.tls_certificate.data()});
      items.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, options_.tls_key.data()});
    }
    items.push_back({MHD_OPTION_END, 0, nullptr});
    for (FileDescriptor& socket : listener.sockets) {
      MHD_Daemon* const daemon = MHD_start_daemon(
          flags, 0, nullptr, nullptr, &Impl::Answer, this, MHD_OPTION_LISTEN_SOCKET, socket.get(),
          MHD_OPTION_THREAD_POOL_SIZE, options_.threads, MHD_OPTION_CONNECTION_LIMIT,
          options_.connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
          options_.connections_per_address, MHD_OPTION_NOTIFY_CONNECTION, &Impl::OnConnection, this,
          MHD_OPTION_NOTIFY_COMPLETED, &Impl::OnCompleted, this, MHD_OPTION_ARRAY, items.data(),
          MHD_OPTION_END);
      if (daemon == nullptr) {
        return Internal("the HTTP server on " + options_.address.ToString() + " cannot be started");
      }
      socket.Release();  // The daemon closes it.
      daemons_.push_back(daemon);
    }
    watch_ = std::thread([this] { EndClosedStreams(); });
    return listener.address;
  }

 private:
  void EndClosedStreams() {
    constexpr Duration kPeriod = std::chrono::seconds(1);
    MutexLock lock(mutex_);
    while (!stopping_) {
      for (const std::shared_ptr<Call>& call : calls_) call->StopIfClosed();
      changed_.WaitUntil(mutex_, Clock::Real().Now() + kPeriod);
    }
  }

  static Impl& At(void* self) { return *static_cast<Impl*>(self); }

  static int DescriptorOf(MHD_Connection* connection) {
    const MHD_ConnectionInfo* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == nullptr ? -1 : info->connect_fd;
  }

  static void OnConnection(void* self, MHD_Connection* connection, void** /*socket_context*/,
                           MHD_ConnectionNotificationCode code) {
    Impl& impl = At(self);
    const int fd = DescriptorOf(connection);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
      impl.deadlines_.Remove(fd);
    } else {
      impl.deadlines_.Set(fd, impl.options_.request_patience);
    }
  }

  static void OnCompleted(void* self, MHD_Connection* connection, void** seen,
                          MHD_RequestTerminationCode code) {
    Impl& impl = At(self);
    auto* const pending = static_cast<Pending*>(*seen);
    *seen = nullptr;
    if (pending == nullptr) return;
    impl.deadlines_.Set(DescriptorOf(connection), impl.options_.request_patience);
    pending->call->Finish(code == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    {
      MutexLock lock(impl.mutex_);
      impl.calls_.erase(pending->call);
    }
    delete pending;
  }

  static MHD_Result Answer(void* self, MHD_Connection* connection, const char* path,
                           const char* method, const char* /*version*/, const char* upload,
                           size_t* upload_size, void** seen) {
    Impl& impl = At(self);
    auto* const pending = static_cast<Pending*>(*seen);
    if (pending == nullptr) {
      *seen = impl.NewPending(connection, path, method);
      return *seen == nullptr ? MHD_NO : MHD_YES;
    }
    if (*upload_size != 0) {
      std::string& body = pending->call->request().body;
      if (body.size() + *upload_size > impl.options_.body_bytes) {
        pending->too_large = true;
        body.clear();
      }
      if (!pending->too_large) body.append(upload, *upload_size);
      *upload_size = 0;
      return MHD_YES;
    }
    if (!std::exchange(pending->handled, true)) impl.Handle(*pending);
    bool streams = false;
    bool closed = false;
    const std::unique_ptr<Response> head = pending->call->TakeHead(streams, closed);
    if (closed) return MHD_NO;
    if (!head) return MHD_YES;  // Suspended.
    return impl.Queue(connection, std::move(*head), streams, pending->call);
  }

  Pending* NewPending(MHD_Connection* connection, const char* path, const char* method) {
    Request request;
    request.method = method;
    request.path = path;
    const auto add_header = [](void* into, MHD_ValueKind, const char* key, const char* value) {
      std::string name = key;
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return std::tolower(c); });
      (*static_cast<std::map<std::string, std::string>*>(into))[name] = value ? value : "";
      return MHD_YES;
    };
    const auto add_query = [](void* into, MHD_ValueKind, const char* key, const char* value) {
      static_cast<std::vector<std::pair<std::string, std::string>>*>(into)->emplace_back(
          key, value ? value : "");
      return MHD_YES;
    };
    MHD_get_connection_values(connection, MHD_HEADER_KIND, add_header, &request.headers);
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_query, &request.query);
    const MHD_ConnectionInfo* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (info != nullptr) request.peer = AddressOf(info->client_addr);
    auto call = std::make_shared<Call>(connection, DescriptorOf(connection), deadlines_,
                                       options_.response_patience, std::move(request));
    MutexLock lock(mutex_);
    if (stopping_) return nullptr;
    calls_.insert(call);
    return new Pending{std::move(call)};
  }

  void Handle(Pending& pending) {
    deadlines_.Clear(pending.call->fd());
    auto exchange = std::make_shared<CallExchange>(pending.call);
    if (pending.too_large) {
      exchange->Respond(
          PlainText(MHD_HTTP_CONTENT_TOO_LARGE,
                    "the body is larger than " + std::to_string(options_.body_bytes) + " bytes\n"));
      return;
    }
    try {
      options_.handler(exchange);
    } catch (const std::exception& error) {
      Log().error("HTTP request for {} failed: {}", pending.call->request().path, error.what());
      exchange->Respond(
          PlainText(MHD_HTTP_INTERNAL_SERVER_ERROR, "internal error; see the program's log\n"));
    }
  }

  MHD_Result Queue(MHD_Connection* connection, Response response, bool streams,
                   const std::shared_ptr<Call>& call) const {
    constexpr size_t kBlockBytes = 16 * 1024;
    MHD_Response* const answer =
        streams ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kBlockBytes, &ReadPart,
                                                    new std::shared_ptr<Call>(call), &FreeReader)
                : MHD_create_response_from_buffer(response.body.size(), response.body.data(),
                                                  MHD_RESPMEM_MUST_COPY);
    if (answer == nullptr) return MHD_NO;
    for (const auto& [name, value] : response.headers) {
      MHD_add_response_header(answer, name.c_str(), value.c_str());
    }
    if (!options_.keep_alive) {
      MHD_add_response_header(answer, MHD_HTTP_HEADER_CONNECTION, "close");
    }
    const MHD_Result queued =
        MHD_queue_response(connection, static_cast<unsigned>(response.status), answer);
    MHD_destroy_response(answer);
    return queued;
  }

  ServerOptions options_;
  Deadlines deadlines_;
  std::vector<MHD_Daemon*> daemons_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ASSAY_GUARDED_BY(mutex_) = false;
  std::set<std::shared_ptr<Call>> calls_ ASSAY_GUARDED_BY(mutex_);
  std::thread watch_;
};

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  std::unique_ptr<Server> server(new Server);
  server->impl_ = std::make_unique<Impl>(std::move(options));
  ASSAY_ASSIGN_OR_RETURN(server->address_, server->impl_->Listen());
  return server;
}

Server::~Server() = default;

}  // namespace assay::http
