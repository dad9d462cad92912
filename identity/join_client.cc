#include "identity/join_client.h"

#include <google/protobuf/util/json_util.h>
#include <openssl/evp.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "common/text.h"
#include "identity/openssl.h"
#include "wire/reasons.h"
#include "wire/tls_socket.h"

namespace assay::identity {
namespace {

constexpr size_t kMaxHeadBytes = 16 << 10;
constexpr size_t kMaxBodyBytes = 256 << 10;
constexpr size_t kMaxTextBytes = 2000;
constexpr size_t kMaxViolations = 20;
// The length of a SHA-256 digest in base64.
constexpr size_t kPinLength = 44;
constexpr std::string_view kScheme = "https://";

struct HttpResponse {
  int status = 0;
  std::string body;
};

Result<HostPort> AddressOf(const std::string& url) {
  const auto refused = [&](const std::string& why) {
    const std::string what = Quote(url, 200) + why;
    return InvalidArgument(what)
        .WithViolations({{"url", what, 0}})
        .WithHint("write https://HOST:PORT, as in the printed line");
  };
  if (!Lower(url).starts_with(kScheme)) return refused(" does not begin with https://");
  std::string text = url.substr(kScheme.size());
  while (text.ends_with('/')) text.pop_back();
  auto address = ParseHostPort(text);
  if (!address.ok() || address->port == 0) return refused(" is not https://HOST:PORT");
  return address;
}

Status CheckPin(const std::string& pin) {
  const bool whole = pin.size() == kPinLength && pin.ends_with('=') &&
                     std::all_of(pin.begin(), pin.end() - 1, [](unsigned char c) {
                       return c < 0x80 && (std::isalnum(c) != 0 || c == '+' || c == '/');
                     });
  if (whole) return Status::Ok();
  const std::string what = "the pin has " + std::to_string(pin.size()) +
                           " characters and is not a SHA-256 digest in base64, which has 44";
  return InvalidArgument(what)
      .WithViolations({{"pin", what, 0}})
      .WithHint("copy the whole line that was printed");
}

// An HTTPS connection to a join listener.
class Connection {
 public:
  static Result<Connection> Open(const JoinPoint& join, MonotonicTime deadline) {
    ASSAY_RETURN_IF_ERROR(CheckPin(join.pin));
    ASSAY_ASSIGN_OR_RETURN(const HostPort address, AddressOf(join.url));
    Result<rpc::TlsSocket> socket = rpc::TlsSocket::Connect(address, deadline);
    if (!socket.ok()) {
      const Status& error = socket.status();
      return error.hint().empty() ? error.WithHint(
                                        "check that the coordinator runs with --join, and that no "
                                        "firewall blocks the port; behind a proxy, set https_proxy")
                                  : error;
    }
    Connection connection(*std::move(socket), address.ToString());
    ASSAY_RETURN_IF_ERROR(connection.Prove(address.host, join.pin));
    return connection;
  }

  Result<HttpResponse> Post(const std::string& path, const std::string& body) {
    const std::string request =
        "POST " + path + " HTTP/1.1\r\nHost: " + address_ +
        "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\nConnection: close\r\n\r\n" + body;
    // Read the response even if sending failed. A server that refuses a request may respond and
    // close the connection before it has read the whole request.
    const rpc::TlsOutcome sent = socket_.Write(request);
    if (sent.failure == rpc::TlsFailure::kTimeout) return NoAnswer(sent.message);
    return ReadResponse();
  }

 private:
  Connection(rpc::TlsSocket socket, std::string address)
      : socket_(std::move(socket)), address_(std::move(address)) {}

  // Does the handshake and compares the server's key with the pin.
  Status Prove(const std::string& host, const std::string& pin) {
    const rpc::TlsContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    if (!context) return OpenSslError("cannot start TLS");
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    // Do not verify the certificate chain. Instead, compare the server's key with the pin below.
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
    const rpc::TlsOutcome outcome = socket_.StartTls(context.get(), host);
    switch (outcome.failure) {
      case rpc::TlsFailure::kNone:
        break;
      case rpc::TlsFailure::kTimeout:
        return NoAnswer(outcome.message);
      case rpc::TlsFailure::kNotTls:
        return WrongPeer("does not speak TLS",
                         "the join listener of a coordinator is by default at port 7943");
      default:
        // If the server closed the connection without sending a byte, it may not support TLS or may
        // be shutting down.
        return socket_.first_bytes().empty()
                   ? NoAnswer(outcome.message + " when TLS began")
                         .WithHint("check the port: the join listener is by default at 7943")
                   : WrongPeer("ended the TLS handshake: " + outcome.message, "");
    }
    const Certificate certificate(SSL_get1_peer_certificate(socket_.ssl()));
    EVP_PKEY* const key = certificate ? X509_get0_pubkey(certificate.get()) : nullptr;
    if (key != nullptr && KeyPin(key) == pin) return Status::Ok();
    return WrongPeer("has another key than the pin " + pin + " says",
                     "if the coordinator's --ca folder was replaced, print a new line with `assay "
                     "node invite`; if not, somebody may be between this machine and it");
  }

  Result<HttpResponse> ReadResponse() {
    std::string bytes;
    while (true) {
      const size_t end = bytes.find("\r\n\r\n");
      if (end != bytes.npos) return ReadBody(bytes.substr(0, end), bytes.substr(end + 4));
      if (bytes.size() > kMaxHeadBytes) return NotAssay("its HTTP header is too long");
      ASSAY_RETURN_IF_ERROR(ReadMore(&bytes));
    }
  }

  Result<HttpResponse> ReadBody(const std::string& head, std::string body) {
    const std::vector<std::string_view> lines = Split(head, '\n');
    HttpResponse response;
    const std::string_view first = lines.front();
    if (!first.starts_with("HTTP/1.") || first.size() < 12 ||
        std::from_chars(&first[9], &first[12], response.status).ptr != &first[12]) {
      return NotAssay("it does not speak HTTP/1.1");
    }
    std::optional<size_t> length;
    for (const std::string_view line : lines) {
      const size_t colon = line.find(':');
      if (colon == line.npos || Lower(line.substr(0, colon)) != "content-length") continue;
      std::string_view value = line.substr(colon + 1);
      while (value.starts_with(' ')) value.remove_prefix(1);
      size_t number = 0;
      if (std::from_chars(value.data(), value.data() + value.size(), number).ec == std::errc()) {
        length = number;
      }
    }
    if (!length) return NotAssay("its response has no Content-Length");
    if (*length > kMaxBodyBytes) {
      return NotAssay("its response has " + std::to_string(*length) + " bytes");
    }
    while (body.size() < *length) ASSAY_RETURN_IF_ERROR(ReadMore(&body));
    body.resize(*length);
    response.body = std::move(body);
    return response;
  }

  Status ReadMore(std::string* bytes) {
    std::string part;
    const rpc::TlsOutcome outcome = socket_.Read(&part);
    if (!outcome.ok()) return NoAnswer(outcome.message);
    if (part.empty()) return NoAnswer("the connection ended before the whole response");
    *bytes += part;
    return Status::Ok();
  }

  Status NoAnswer(const std::string& why) const {
    return Unavailable("no response from " + address_ + ": " + why, Reason::kUnreachable)
        .WithHint("run the same command again; an invite that has reached this key is not lost");
  }

  Status WrongPeer(const std::string& what, const std::string& hint) const {
    return FailedPrecondition("the server at " + address_ + " " + what, Reason::kWrongPeer)
        .WithHint(hint);
  }

  Status NotAssay(const std::string& why) const {
    return WrongPeer("is not an Assay coordinator: " + why, "copy the whole line that was printed");
  }

  rpc::TlsSocket socket_;
  std::string address_;
};

// Returns a text of the server, which must not fill or confuse a terminal.
std::string TextOf(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return "";
  return Sanitize(Cut(found->get<std::string>(), kMaxTextBytes));
}

// Returns the error that the coordinator has sent as JSON; nullopt if `body` is something else.
std::optional<Status> SentError(const std::string& body) {
  const nlohmann::json sent = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!sent.is_object()) return std::nullopt;
  const std::string word = TextOf(sent, "code");
  auto code = Code::kOk;
  for (int number = 1; number <= static_cast<int>(Code::kUnauthenticated); ++number) {
    if (CodeName(static_cast<Code>(number)) == word) code = static_cast<Code>(number);
  }
  if (code == Code::kOk) return std::nullopt;
  const std::string reason_word = TextOf(sent, "reason");
  Reason reason = Reason::kNone;
  for (const ReasonInfo& one : AllReasons()) {
    if (one.word == reason_word) reason = FromWire(one.reason);
  }
  std::vector<Violation> violations;
  if (const auto listed = sent.find("violations"); listed != sent.end() && listed->is_array()) {
    for (const nlohmann::json& one : *listed) {
      if (!one.is_object() || violations.size() == kMaxViolations) continue;
      violations.push_back({TextOf(one, "field"), TextOf(one, "description"), 0});
    }
  }
  return Status(code, reason, TextOf(sent, "message"))
      .WithHint(TextOf(sent, "hint"))
      .WithViolations(std::move(violations));
}

Status NotAssay(const JoinPoint& join, const std::string& why) {
  return FailedPrecondition("the server at " + join.url + " is not an Assay coordinator: " + why,
                            Reason::kWrongPeer)
      .WithHint("copy the whole line that was printed");
}

}  // namespace

Result<v1::EnrolResponse> PostEnrol(const JoinPoint& join, const v1::EnrolRequest& request,
                                    Duration patience) {
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(request, &json).ok()) {
    return InvalidArgument("the request has text that is not UTF-8");
  }
  ASSAY_ASSIGN_OR_RETURN(Connection connection,
                         Connection::Open(join, Clock::Real().Now() + patience));
  ASSAY_ASSIGN_OR_RETURN(const HttpResponse answer, connection.Post("/enrol", json));
  if (answer.status != 200) {
    if (answer.status == 429 || answer.status == 503) {
      return Unavailable("the coordinator at " + join.url + " is busy", Reason::kOverloaded)
          .WithHint("try again in a minute");
    }
    if (const std::optional<Status> sent = SentError(answer.body)) return *sent;
    return NotAssay(join, "it answered with HTTP status " + std::to_string(answer.status));
  }
  v1::EnrolResponse response;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // Of a newer coordinator.
  if (!google::protobuf::util::JsonStringToMessage(answer.body, &response, options).ok()) {
    return NotAssay(join, "its response cannot be parsed");
  }
  return response;
}

}  // namespace assay::identity
