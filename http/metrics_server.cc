#include "http/metrics_server.h"

#include <microhttpd.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>

#include <exception>
#include <map>
#include <string_view>
#include <thread>
#include <utility>

#include "common/clock.h"
#include "common/listener.h"
#include "common/log.h"
#include "common/mutex.h"

namespace assay::http {
namespace {

constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kPlainText[] = "text/plain; charset=utf-8";
constexpr unsigned kThreads = 2;
constexpr unsigned kMaxConnections = 512;
// From the connection to the end of the request's head, and again for reading the answer.
constexpr Duration kDeadline = std::chrono::seconds(5);

struct Response {
  unsigned status = MHD_HTTP_OK;
  std::string content_type = kPlainText;
  std::string body;
};

std::string Scrape(const std::vector<std::shared_ptr<prometheus::Collectable>>& collectables) {
  std::vector<prometheus::MetricFamily> families;
  for (const auto& collectable : collectables) {
    for (prometheus::MetricFamily& family : collectable->Collect()) {
      families.push_back(std::move(family));
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

MHD_Result Send(MHD_Connection* connection, Response response) {
  MHD_Response* const answer = MHD_create_response_from_buffer(
      response.body.size(), response.body.data(), MHD_RESPMEM_MUST_COPY);
  if (answer == nullptr) return MHD_NO;
  MHD_add_response_header(answer, MHD_HTTP_HEADER_CONTENT_TYPE, response.content_type.c_str());
  MHD_add_response_header(answer, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  MHD_add_response_header(answer, MHD_HTTP_HEADER_CONNECTION, "close");
  const MHD_Result queued = MHD_queue_response(connection, response.status, answer);
  MHD_destroy_response(answer);
  return queued;
}

}  // namespace

class MetricsServer::Impl {
 public:
  explicit Impl(MetricsServerOptions options) : options_(std::move(options)) {}

  ~Impl() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    if (watchdog_.joinable()) watchdog_.join();
    for (MHD_Daemon* daemon : daemons_) MHD_stop_daemon(daemon);
  }

  // Returns the actual address.
  Result<HostPort> Listen() {
    ASSAY_ASSIGN_OR_RETURN(Listener listener, ListenOn(options_.address));
    for (FileDescriptor& socket : listener.sockets) {
      MHD_Daemon* const daemon =
          MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, nullptr, nullptr, &Impl::Answer, this,
                           MHD_OPTION_LISTEN_SOCKET, socket.get(), MHD_OPTION_THREAD_POOL_SIZE,
                           kThreads, MHD_OPTION_CONNECTION_LIMIT, kMaxConnections,
                           MHD_OPTION_NOTIFY_CONNECTION, &Impl::OnConnection, this, MHD_OPTION_END);
      if (daemon == nullptr) {
        return Internal("the HTTP server on " + options_.address.ToString() + " cannot be started");
      }
      socket.Release();  // The daemon closes it.
      daemons_.push_back(daemon);
    }
    watchdog_ = std::thread([this] { CloseLateConnections(); });
    return listener.address;
  }

 private:
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
    MutexLock lock(impl.mutex_);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
      impl.deadlines_.erase(fd);
      return;
    }
    impl.deadlines_[fd] = Clock::Real().Now() + kDeadline;
    impl.changed_.NotifyAll();
  }

  // Shuts down connections that have passed their deadline. The HTTP library's own timeout is not
  // enough, because it starts again with every byte that the client sends.
  void CloseLateConnections() {
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

  static MHD_Result Answer(void* self, MHD_Connection* connection, const char* path,
                           const char* method_text, const char* /*version*/, const char* /*upload*/,
                           size_t* upload_size, void** seen) {
    // Called once with the head, then with parts of a body, which nobody reads, then at the end.
    static char mark;
    if (*seen == nullptr) {
      *seen = &mark;
      return MHD_YES;
    }
    if (*upload_size != 0) {
      *upload_size = 0;
      return MHD_YES;
    }
    const std::string_view method = method_text;
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD) {
      return Send(connection, {MHD_HTTP_METHOD_NOT_ALLOWED, kPlainText,
                               "only GET and HEAD are answered here\n"});
    }
    {
      Impl& impl = At(self);
      MutexLock lock(impl.mutex_);
      impl.deadlines_[DescriptorOf(connection)] = Clock::Real().Now() + kDeadline;
    }
    try {
      return Send(connection, At(self).Respond(path));
    } catch (const std::exception& error) {
      Log().error("HTTP request for {} failed: {}", path, error.what());
      return Send(connection, {MHD_HTTP_INTERNAL_SERVER_ERROR, kPlainText,
                               "internal error; see the program's log\n"});
    }
  }

  static Response Check(const std::function<Status()>& check) {
    const Status health = check ? check() : Status::Ok();
    if (health.ok()) return {MHD_HTTP_OK, kPlainText, "ok\n"};
    return {MHD_HTTP_SERVICE_UNAVAILABLE, kPlainText, health.ToString() + "\n"};
  }

  Response Respond(std::string_view path) const {
    if (path == "/metrics") return {MHD_HTTP_OK, kPrometheusText, Scrape(options_.collectables)};
    if (path == "/healthz") return Check(options_.health);
    if (path == "/readyz") return Check(options_.ready);
    std::string known = "/metrics /healthz /readyz";
    for (const GetHandler& handler : options_.handlers) {
      if (path == handler.path) return {MHD_HTTP_OK, handler.content_type, handler.body()};
      known += " " + handler.path;
    }
    return {MHD_HTTP_NOT_FOUND, kPlainText, "no such path; there is " + known + "\n"};
  }

  const MetricsServerOptions options_;
  std::vector<MHD_Daemon*> daemons_;
  std::thread watchdog_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ ASSAY_GUARDED_BY(mutex_) = false;
  std::map<int, MonotonicTime> deadlines_ ASSAY_GUARDED_BY(mutex_);  // By descriptor.
};

Result<std::unique_ptr<MetricsServer>> MetricsServer::Start(MetricsServerOptions options) {
  std::unique_ptr<MetricsServer> server(new MetricsServer);
  server->impl_ = std::make_unique<Impl>(std::move(options));
  ASSAY_ASSIGN_OR_RETURN(server->address_, server->impl_->Listen());
  return server;
}

MetricsServer::~MetricsServer() = default;

}  // namespace assay::http
