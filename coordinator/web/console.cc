#include "coordinator/web/console.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "common/digest.h"
#include "common/file.h"
#include "coordinator/web/assets.h"
#include "coordinator/web/bridge.h"
#include "http/server.h"

namespace assay::coordinator::web {
namespace {

using http::Exchange;
using http::Request;
using http::Response;

constexpr size_t kMinTokenBytes = 16;
constexpr char kCookie[] = "assay_console";

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool IsIpAddress(const std::string& host) {
  unsigned char buffer[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), buffer) == 1 ||
         inet_pton(AF_INET6, host.c_str(), buffer) == 1;
}

// Returns the host of a Host header without its port and without the brackets of IPv6.
std::string HostOf(const std::string& header) {
  if (!header.empty() && header[0] == '[') {
    const size_t end = header.find(']');
    return end == header.npos ? "" : header.substr(1, end - 1);
  }
  return Lower(header.substr(0, header.find(':')));
}

bool Equal(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string CookieOf(const Request& request) {
  const std::string cookies = "; " + http::HeaderOf(request, "cookie");
  const std::string name = std::string("; ") + kCookie + "=";
  const size_t begin = cookies.find(name);
  if (begin == cookies.npos) return "";
  const size_t value = begin + name.size();
  return cookies.substr(value, cookies.find(';', value) - value);
}

// Adds the headers that tell browsers to trust only this server.
void Protect(Response& response, bool tls) {
  static const std::string policy =
      "default-src 'none'; script-src 'self'; style-src 'self'" +
      (StyleSources().empty() ? "" : " " + std::string(StyleSources())) +
      "; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
  response.headers.insert(response.headers.end(),
                          {{"Content-Security-Policy", policy},
                           {"X-Content-Type-Options", "nosniff"},
                           {"Referrer-Policy", "no-referrer"},
                           {"Cross-Origin-Opener-Policy", "same-origin"},
                           {"Cross-Origin-Resource-Policy", "same-origin"}});
  if (tls) response.headers.emplace_back("Strict-Transport-Security", "max-age=31536000");
}

// Returns an error in Connect's format, which the pages and curl show.
Response Refusal(int status, const char* code, const std::string& message) {
  return {status,
          {{"Content-Type", kJson}, {"Cache-Control", "no-store"}},
          nlohmann::json{{"code", code}, {"message", message}}.dump(
              -1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

Response ServeAsset(const Asset& asset, const Request& request) {
  Response response;
  response.headers = {
      {"Content-Type", std::string(asset.content_type)},
      {"ETag", std::string(asset.etag)},
      {"Cache-Control", asset.immutable ? "public, max-age=31536000, immutable" : "no-cache"}};
  if (http::HeaderOf(request, "if-none-match") == asset.etag) {
    response.status = 304;
    return response;
  }
  response.headers.emplace_back("Content-Encoding", "gzip");
  response.body = asset.gzip;
  return response;
}

// An exchange that adds the protective headers to every response.
class ProtectedExchange : public Exchange {
 public:
  ProtectedExchange(std::shared_ptr<Exchange> exchange, bool tls)
      : exchange_(std::move(exchange)), tls_(tls) {}
  const Request& request() const override { return exchange_->request(); }
  void Respond(Response response) override {
    Protect(response, tls_);
    exchange_->Respond(std::move(response));
  }
  void Begin(Response head) override {
    Protect(head, tls_);
    exchange_->Begin(std::move(head));
  }
  void Write(std::string part) override { exchange_->Write(std::move(part)); }
  void End() override { exchange_->End(); }
  void OnGone(std::function<void()> gone) override { exchange_->OnGone(std::move(gone)); }
  void OnDrained(std::function<void()> drained) override {
    exchange_->OnDrained(std::move(drained));
  }

 private:
  const std::shared_ptr<Exchange> exchange_;
  const bool tls_;
};

}  // namespace

Status CheckConsole(const ConsoleOptions& options) {
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return InvalidArgument("--console-tls-cert and --console-tls-key must be given together");
  }
  if (!options.token.empty() && options.token.size() < kMinTokenBytes) {
    return InvalidArgument("ASSAY_CONSOLE_TOKEN is shorter than 16 characters")
        .WithHint("make one with: openssl rand -hex 32");
  }
  if (options.address.IsLoopback()) return Status::Ok();
  if (options.tls_certificate.empty()) {
    return InvalidArgument("the console on " + options.address.ToString() +
                           " needs TLS, because others could read along")
        .WithHint("give --console-tls-cert and --console-tls-key, or listen on 127.0.0.1");
  }
  if (options.token.empty()) {
    return InvalidArgument("the console on " + options.address.ToString() +
                           " needs a token, because anyone could open it")
        .WithHint(
            "set the environment variable ASSAY_CONSOLE_TOKEN, for example to the output of "
            "openssl rand -hex 32, or listen on 127.0.0.1");
  }
  return Status::Ok();
}

class Console::Impl {
 public:
  explicit Impl(ConsoleOptions options)
      : options_(std::move(options)),
        session_(options_.token.empty() ? "" : Sha256Hex("assay console " + options_.token)),
        bridge_(options_.services) {}

  Status Start() {
    http::ServerOptions server;
    server.address = options_.address;
    server.handler = [this](std::shared_ptr<Exchange> exchange) {
      Answer(std::make_shared<ProtectedExchange>(std::move(exchange), tls()));
    };
    // The limits are high because browsers keep up to six connections for a page.
    server.connections = 1024;
    server.connections_per_address = 512;
    server.body_bytes = Bridge::kMaxRequestBytes;
    server.request_patience = std::chrono::seconds(20);
    server.response_patience = std::chrono::seconds(30);
    server.keep_alive = true;
    if (tls()) {
      ASSAY_ASSIGN_OR_RETURN(server.tls_certificate, ReadFile(options_.tls_certificate));
      ASSAY_ASSIGN_OR_RETURN(server.tls_key, ReadFile(options_.tls_key));
    }
    ASSAY_ASSIGN_OR_RETURN(server_, http::Server::Start(std::move(server)));
    return Status::Ok();
  }

  std::string url() const {
    return (tls() ? "https://" : "http://") + server_->address().ToString() + "/";
  }

 private:
  bool tls() const { return !options_.tls_certificate.empty(); }

  bool KnowsHost(const std::string& header) const {
    const std::string host = HostOf(header);
    return host == "localhost" || IsIpAddress(host) || host == Lower(options_.address.host) ||
           std::any_of(options_.hosts.begin(), options_.hosts.end(),
                       [&](const std::string& name) { return host == Lower(name); });
  }

  // Returns true if the request was made by a page of another site. Returns false if the user
  // merely followed a link to the console.
  static bool IsCrossSite(const Request& request) {
    const std::string site = http::HeaderOf(request, "sec-fetch-site");
    if (site.empty() || site == "same-origin" || site == "none") return false;
    return !(request.method == "GET" && request.path == "/" &&
             http::HeaderOf(request, "sec-fetch-mode") == "navigate");
  }

  bool IsLoggedIn(const Request& request) const {
    if (session_.empty()) return true;
    if (Equal(CookieOf(request), session_)) return true;
    return Equal(http::HeaderOf(request, "authorization"), "Bearer " + options_.token);
  }

  void Answer(const std::shared_ptr<Exchange>& exchange) {
    const Request& request = exchange->request();
    if (!KnowsHost(http::HeaderOf(request, "host"))) {
      return exchange->Respond(
          Refusal(421, "permission_denied",
                  "the console is not served under this name; start the coordinator with "
                  "--console-host NAME to allow it"));
    }
    if (IsCrossSite(request)) {
      return exchange->Respond(
          Refusal(403, "permission_denied", "requests from other sites are refused"));
    }
    if (Bridge::IsMethod(request.path)) {
      if (!IsLoggedIn(request)) {
        return exchange->Respond(Refusal(401, "unauthenticated", "the console needs its token"));
      }
      return bridge_.Answer(exchange);
    }
    if (request.path.rfind("/assay.", 0) == 0) {
      return exchange->Respond(Refusal(404, "unimplemented", "there is no such method"));
    }
    exchange->Respond(AnswerPage(request));
  }

  Response AnswerPage(const Request& request) const {
    if (request.path == "/login") return LogIn(request);
    if (request.method != "GET" && request.method != "HEAD") {
      return Refusal(405, "invalid_argument", "only GET and HEAD are answered here");
    }
    if (request.path == "/info") {
      return {200,
              {{"Content-Type", kJson}, {"Cache-Control", "no-store"}},
              nlohmann::json{{"version", options_.version}}.dump()};
    }
    for (const Asset& asset : Assets()) {
      if (request.path == asset.path) return ServeAsset(asset, request);
    }
    return Refusal(404, "not_found", "no such page; the console begins at /");
  }

  // Exchanges the token for a cookie that scripts cannot read.
  Response LogIn(const Request& request) const {
    if (request.method != "POST" || http::HeaderOf(request, "content-type").rfind(kJson, 0) != 0) {
      return Refusal(415, "invalid_argument", "POST with Content-Type: application/json");
    }
    const auto body = nlohmann::json::parse(request.body, nullptr, false);
    const bool has_token = body.is_object() && body.contains("token") && body["token"].is_string();
    if (!has_token || !Equal(body["token"].get<std::string>(), options_.token)) {
      return Refusal(401, "unauthenticated", "this is not the console's token");
    }
    return {204,
            {{"Set-Cookie", std::string(kCookie) + "=" + session_ +
                                "; Path=/; HttpOnly; SameSite=Strict" + (tls() ? "; Secure" : "")},
             {"Cache-Control", "no-store"}},
            ""};
  }

  const ConsoleOptions options_;
  const std::string session_;  // Value of the cookie; empty if no token is needed.
  Bridge bridge_;
  std::unique_ptr<http::Server> server_;
};

Result<std::unique_ptr<Console>> Console::Start(ConsoleOptions options) {
  ASSAY_RETURN_IF_ERROR(CheckConsole(options));
  auto impl = std::make_unique<Impl>(std::move(options));
  ASSAY_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Console>(new Console(std::move(impl)));
}

Console::Console(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Console::~Console() = default;

std::string Console::url() const { return impl_->url(); }

}  // namespace assay::coordinator::web
