#include "http/metrics_server.h"

#include <prometheus/text_serializer.h>

#include <utility>

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

Response Check(const std::function<Status()>& check) {
  const Status health = check ? check() : Status::Ok();
  if (health.ok()) return Text(200, kPlainText, "ok\n");
  return Text(503, kPlainText, health.ToString() + "\n");
}

Response Answer(const MetricsServerOptions& options, const Request& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    return Text(405, kPlainText, "only GET and HEAD are answered here\n");
  }
  const std::string& path = request.path;
  if (path == "/metrics") return Text(200, kPrometheusText, Scrape(options.collectables));
  if (path == "/healthz") return Check(options.health);
  if (path == "/readyz") return Check(options.ready);
  std::string known = "/metrics /healthz /readyz";
  for (const GetHandler& handler : options.handlers) {
    if (path == handler.path) return Text(200, handler.content_type.c_str(), handler.body());
    known += " " + handler.path;
  }
  return Text(404, kPlainText, "no such path; there is " + known + "\n");
}

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::Start(MetricsServerOptions options) {
  ServerOptions server;
  server.address = options.address;
  server.handler = [options = std::move(options)](const std::shared_ptr<Exchange>& exchange) {
    exchange->Respond(Answer(options, exchange->request()));
  };
  std::unique_ptr<MetricsServer> started(new MetricsServer);
  ASSAY_ASSIGN_OR_RETURN(started->server_, Server::Start(std::move(server)));
  return started;
}

}  // namespace assay::http
