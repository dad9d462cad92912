#include "http/metrics_server.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <chrono>
#include <exception>
#include <future>
#include <string_view>
#include <utility>

#include "common/log.h"
#include "common/mutex.h"

namespace assay::http {
namespace {

constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kPlainText[] = "text/plain; charset=utf-8";
constexpr char kThreads[] = "2";
constexpr char kRequestTimeoutMs[] = "5000";

struct Response {
  int status = 200;
  std::string content_type = kPlainText;
  std::string body;
};

int Send(mg_connection* connection, const Response& response, bool with_body) {
  mg_printf(connection,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
            response.status, mg_get_response_code_text(connection, response.status),
            response.content_type.c_str(), response.body.size());
  if (with_body) mg_write(connection, response.body.data(), response.body.size());
  return response.status;
}

std::string Scrape(const std::vector<std::shared_ptr<prometheus::Collectable>>& collectables) {
  std::vector<prometheus::MetricFamily> families;
  for (const auto& collectable : collectables) {
    for (prometheus::MetricFamily& family : collectable->Collect()) {
      families.push_back(std::move(family));
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

// Returns an address for civetweb, which does not accept names.
std::string ListeningHost(const HostPort& address) {
  return address.host == "localhost" ? "127.0.0.1" : address.host;
}

// Checks the address here, because civetweb reports an unusable one as an invalid port.
Status CheckAddress(const HostPort& address) {
  const std::string host = ListeningHost(address);
  in6_addr parsed = {};
  if (inet_pton(AF_INET, host.c_str(), &parsed) == 1) return Status::Ok();
  const bool is_ipv6 = inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
  if (is_ipv6 && mg_check_feature(MG_FEATURES_IPV6) != 0) return Status::Ok();
  return InvalidArgument(
             "cannot serve HTTP on " + address.ToString() + ": " +
                 (is_ipv6 ? "the installed civetweb has no IPv6" : host + " is not an IP address"),
             Reason::kHttpAddressUnusable)
      .WithHint(
          "give an IPv4 address: 127.0.0.1 for this machine only, 0.0.0.0 for every interface");
}

}  // namespace

class MetricsServer::Impl {
 public:
  explicit Impl(MetricsServerOptions options) : options_(std::move(options)) {}

  ~Impl() {
    if (context_ == nullptr) return;
    // civetweb's accepting thread checks every two seconds whether to end. A connection wakes it.
    const auto stopped = std::async(std::launch::async, [this] { mg_stop(context_); });
    while (stopped.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) Wake();
  }

  Result<int> Listen() {
    static const unsigned initialised = mg_init_library(0);
    (void)initialised;
    ASSAY_RETURN_IF_ERROR(CheckAddress(options_.address));
    const std::string ports =
        HostPort{ListeningHost(options_.address), options_.address.port}.ToString();
    std::array<const char*, 9> settings = {"listening_ports",
                                           ports.c_str(),
                                           "num_threads",
                                           kThreads,
                                           "request_timeout_ms",
                                           kRequestTimeoutMs,
                                           "enable_directory_listing",
                                           "no",
                                           nullptr};
    mg_callbacks callbacks{};
    callbacks.begin_request = &Impl::Answer;
    callbacks.log_message = &Impl::LogMessage;
    mg_init_data init{&callbacks, this, settings.data()};
    std::array<char, 256> text{};
    // Ignored: the parameter's type differs between versions of the library.
    mg_error_data error{};
    error.text = text.data();
    error.text_buffer_size = text.size();
    context_ = mg_start2(&init, &error);
    if (context_ == nullptr) {
      const std::string why = FirstMessage();
      return InvalidArgument("cannot serve HTTP on " + options_.address.ToString() + ": " +
                                 (why.empty() ? text.data() : why),
                             Reason::kHttpListenFailed)
          .WithHint("give another port, or port 0 for any free one");
    }
    mg_server_port bound{};
    if (mg_get_server_ports(context_, 1, &bound) < 1) {
      return Internal("cannot tell the port of the HTTP server on " + options_.address.ToString());
    }
    port_ = bound.port;
    return port_;
  }

 private:
  void Wake() const {
    const std::string host = ListeningHost(options_.address);
    char ignored[64];
    if (mg_connection* connection =
            mg_connect_client(host.c_str(), port_, /*use_ssl=*/0, ignored, sizeof ignored)) {
      mg_close_connection(connection);
    }
  }

  static Impl& Of(const mg_connection* connection) {
    return *static_cast<Impl*>(mg_get_user_data(mg_get_context(connection)));
  }

  static int LogMessage(const mg_connection* connection, const char* message) {
    Impl& impl = Of(connection);
    Log().debug("HTTP server on {}: {}", impl.options_.address.ToString(), message);
    MutexLock lock(impl.mutex_);
    if (impl.first_message_.empty()) impl.first_message_ = message;
    return 1;
  }

  // Returns the status, which tells civetweb that the request was answered.
  static int Answer(mg_connection* connection) {
    const mg_request_info& request = *mg_get_request_info(connection);
    const std::string_view method = request.request_method;
    if (method != "GET" && method != "HEAD") {
      return Send(connection, {405, kPlainText, "only GET and HEAD are supported\n"}, true);
    }
    Response response;
    try {
      response = Of(connection).Respond(request.local_uri);
    } catch (const std::exception& error) {
      Log().error("HTTP request for {} failed: {}", request.local_uri, error.what());
      response = {500, kPlainText, "internal error; see the program's log\n"};
    }
    return Send(connection, response, method == "GET");
  }

  Response Respond(std::string_view path) const {
    if (path == "/metrics") return {200, kPrometheusText, Scrape(options_.collectables)};
    if (path == "/healthz") {
      const Status health = options_.health ? options_.health() : Status::Ok();
      if (health.ok()) return {200, kPlainText, "ok\n"};
      return {503, kPlainText, health.ToString() + "\n"};
    }
    std::string known = "/metrics /healthz";
    for (const GetHandler& handler : options_.handlers) {
      if (path == handler.path) return {200, handler.content_type, handler.body()};
      known += " " + handler.path;
    }
    return {404, kPlainText, "no such path; the paths are " + known + "\n"};
  }

  std::string FirstMessage() {
    MutexLock lock(mutex_);
    return first_message_;
  }

  const MetricsServerOptions options_;
  mg_context* context_ = nullptr;
  int port_ = 0;
  Mutex mutex_;
  // Civetweb explains a failed start only in its log. The first message is the cause.
  std::string first_message_ ASSAY_GUARDED_BY(mutex_);
};

Result<std::unique_ptr<MetricsServer>> MetricsServer::Start(MetricsServerOptions options) {
  std::unique_ptr<MetricsServer> server(new MetricsServer);
  server->address_ = options.address;
  server->impl_ = std::make_unique<Impl>(std::move(options));
  ASSAY_ASSIGN_OR_RETURN(server->address_.port, server->impl_->Listen());
  return server;
}

MetricsServer::~MetricsServer() = default;

}  // namespace assay::http
