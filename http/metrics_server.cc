#include "http/metrics_server.h"

#include <prometheus/text_serializer.h>

#include <atomic>
#include <exception>
#include <utility>

#include "common/log.h"

namespace assay::http {
namespace {

constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kPlainText[] = "text/plain; charset=utf-8";

std::string Scrape(const std::vector<std::shared_ptr<prometheus::Collectable>>& collectables) {
  std::vector<prometheus::MetricFamily> families;
  for (const auto& collectable : collectables) {
    for (prometheus::MetricFamily& family : collectable->Collect()) {
      families.push_back(std::move(family));
    }
  }
  return prometheus::TextSerializer().Serialize(families);
}

Response Text(int status, const char* content_type, std::string body) {
  return {status, {{"Content-Type", content_type}, {"Cache-Control", "no-store"}}, std::move(body)};
}

bool IsRead(const Request& request) { return request.method == "GET" || request.method == "HEAD"; }

Response Check(const std::function<Status()>& check) {
  const Status health = check ? check() : Status::Ok();
  if (health.ok()) return Text(200, kPlainText, "ok\n");
  return Text(503, kPlainText, health.ToString() + "\n");
}

Response Answer(const MetricsServerOptions& options, const Request& request) {
  if (!IsRead(request)) {
    return Text(405, kPlainText, "only GET and HEAD are answered here\n");
  }
  const std::string& path = request.path;
  if (path == "/metrics") return Text(200, kPrometheusText, Scrape(options.collectables));
  if (path == "/healthz") return Check(options.health);
  if (path == "/readyz") return Check(options.ready);
  std::string known = "/metrics /healthz /readyz";
  for (const GetHandler& handler : options.handlers) known += " " + handler.path;
  return Text(404, kPlainText, "no such path; there is " + known + "\n");
}

void WriteNext(const std::shared_ptr<Exchange>& exchange,
               const std::function<std::string()>& next) {
  std::string part;
  try {
    part = next();
  } catch (const std::exception& error) {
    Log().error("HTTP response of {} breaks off: {}", exchange->request().path, error.what());
    return;
  }
  if (part.empty()) return exchange->End();
  exchange->Write(std::move(part));
  exchange->OnDrained([exchange, next] { WriteNext(exchange, next); });
}

}  // namespace

void RespondWith(Exchange& exchange, const char* content_type, std::string body) {
  exchange.Respond(Text(200, content_type, std::move(body)));
}

void RespondInParts(const std::shared_ptr<Exchange>& exchange, const char* content_type,
                    std::function<std::string()> next) {
  // Avoids generating parts for a client that has closed the connection.
  auto gone = std::make_shared<std::atomic<bool>>(false);
  exchange->OnGone([gone] { *gone = true; });
  exchange->Begin(Text(200, content_type, ""));
  WriteNext(exchange, [gone, next = std::move(next)] { return *gone ? std::string() : next(); });
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::Start(MetricsServerOptions options) {
  ServerOptions server;
  server.address = options.address;
  server.handler = [options = std::move(options)](const std::shared_ptr<Exchange>& exchange) {
    const Request& request = exchange->request();
    for (const GetHandler& handler : options.handlers) {
      if (IsRead(request) && request.path == handler.path) return handler.answer(exchange);
    }
    exchange->Respond(Answer(options, request));
  };
  std::unique_ptr<MetricsServer> started(new MetricsServer);
  ASSAY_ASSIGN_OR_RETURN(started->server_, Server::Start(std::move(server)));
  return started;
}

}  // namespace assay::http
