#include "wire/explain_connection.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <string>
#include <string_view>

#include "wire/timestamps.h"
#include "wire/tls_socket.h"

namespace assay::rpc {
namespace {

// A client's first bytes: the preface of HTTP/2 and an empty SETTINGS frame.
constexpr std::string_view kPreface(
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", 33);
constexpr char kAlertRecord = 21;
constexpr unsigned char kAlpn[] = {2, 'h', '2'};

WallTime WallOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return WallTime(std::chrono::seconds(timegm(&parts)));
}

std::string TextOfTime(WallTime time) { return schema::TimeText(schema::ToTimestamp(time)); }

// Returns true if the bytes begin with an HTTP/2 frame, possibly incomplete. The first byte of a
// frame is part of its length and is 0 here. Plain text and TLS records never begin with 0.
bool SpeaksHttp2(std::string_view bytes) { return !bytes.empty() && bytes[0] == 0; }

class Explainer {
 public:
  Explainer(const HostPort& address, const TlsFiles& files)
      : address_(address), files_(files), server_("the server at " + address.ToString()) {}

  Status Run(MonotonicTime deadline) {
    ASSAY_ASSIGN_OR_RETURN(TlsSocket socket, TlsSocket::Connect(address_, deadline));
    if (files_.empty()) return AskInPlaintext(socket);
    const TlsContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    ASSAY_RETURN_IF_ERROR(Configure(context.get()));
    const TlsOutcome handshake = socket.StartTls(context.get(), address_.host);
    ASSAY_RETURN_IF_ERROR(JudgeHandshake(socket, handshake));
    return AskThroughTls(socket);
  }

 private:
  Status AskInPlaintext(TlsSocket& socket) const {
    std::string bytes;
    TlsOutcome outcome = socket.Write(kPreface);
    if (outcome.ok()) outcome = socket.Read(&bytes);
    if (outcome.failure == TlsFailure::kTimeout) return NoAnswer(outcome.message);
    if (SpeaksHttp2(bytes)) return Status::Ok();
    // We sent the server the beginning of HTTP/2 in plaintext. A TLS server mistakes this for a
    // malformed handshake, so it responds with an alert or closes the connection.
    if (bytes.empty() || bytes[0] == kAlertRecord) {
      return FailedPrecondition(server_ + " does not accept plaintext; it seems to speak TLS",
                                Reason::kTlsRequired)
          .WithHint(kGiveTls);
    }
    return NotAssay();
  }

  Status Configure(SSL_CTX* context) {
    X509_VERIFY_PARAM* const parameters = SSL_CTX_get0_param(context);
    if (X509_VERIFY_PARAM_set1_ip_asc(parameters, address_.host.c_str()) != 1) {
      X509_VERIFY_PARAM_set1_host(parameters, address_.host.c_str(), address_.host.size());
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_alpn_protos(context, kAlpn, sizeof kAlpn);
    const bool trusts = files_.authorities.empty()
                            ? SSL_CTX_set_default_verify_paths(context) == 1
                            : SSL_CTX_load_verify_file(context, files_.authorities.c_str()) == 1;
    const bool has_own =
        files_.certificate.empty() ||
        (SSL_CTX_use_certificate_chain_file(context, files_.certificate.c_str()) == 1 &&
         SSL_CTX_use_PrivateKey_file(context, files_.key.c_str(), SSL_FILETYPE_PEM) == 1);
    ERR_clear_error();
    if (!trusts) return InvalidArgument("cannot read the authorities " + files_.authorities);
    if (!has_own) {
      return InvalidArgument("cannot use the certificate " + files_.certificate + " with the key " +
                             files_.key);
    }
    if (X509* const own = SSL_CTX_get0_certificate(context); own != nullptr) {
      begin_ = WallOf(X509_get0_notBefore(own));
      end_ = WallOf(X509_get0_notAfter(own));
    }
    return Status::Ok();
  }

  Status JudgeHandshake(const TlsSocket& socket, const TlsOutcome& outcome) const {
    switch (outcome.failure) {
      case TlsFailure::kNone:
        return Status::Ok();
      case TlsFailure::kTimeout:
        return NoAnswer(outcome.message);
      case TlsFailure::kUntrusted:
        return JudgeServer(SSL_get_verify_result(socket.ssl()));
      case TlsFailure::kNotTls:
        return SpeaksHttp2(socket.first_bytes()) ? SpeaksPlaintext() : NotAssay();
      case TlsFailure::kClosed:
        // The server closed the connection during the TLS handshake. If it sent no bytes before
        // that, it is probably an HTTP/2 server without TLS, which cannot understand the handshake.
        return socket.first_bytes().empty() ? SpeaksPlaintext() : NoAnswer(outcome.message);
      case TlsFailure::kAlert:
        return OwnRefused(outcome.message);
      case TlsFailure::kOther:
        break;
    }
    return FailedPrecondition("no TLS with " + server_ + ": " + outcome.message, Reason::kWrongPeer)
        .WithHint("check the address");
  }

  // Explains why the server's certificate was not accepted.
  Status JudgeServer(long verified) const {
    const auto judged = [&](Reason reason, const std::string& what, const std::string& hint) {
      return FailedPrecondition("the certificate of " + server_ + what, reason).WithHint(hint);
    };
    switch (verified) {
      case X509_V_ERR_HOSTNAME_MISMATCH:
      case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return judged(Reason::kWrongPeer, " is not for the name " + address_.host,
                      "connect by a name that the certificate has, or start the coordinator with "
                      "--advertise " +
                          address_.ToString());
      case X509_V_ERR_CERT_NOT_YET_VALID:
        return judged(Reason::kClockSkew,
                      " is not valid yet by the clock of this machine (" + Now() + ")",
                      "set this machine's clock");
      case X509_V_ERR_CERT_HAS_EXPIRED:
        return judged(Reason::kBadCertificate,
                      " has expired by the clock of this machine (" + Now() + ")",
                      "renew it, or set this machine's clock if it is wrong");
      default:
        return judged(Reason::kWrongPeer,
                      " is not of an authority in " +
                          (files_.authorities.empty() ? "the system's files" : files_.authorities) +
                          ": " + X509_verify_cert_error_string(verified),
                      "check that the address is of this fleet's coordinator; if its --ca folder "
                      "was replaced, join again");
    }
  }

  Status AskThroughTls(TlsSocket& socket) const {
    std::string bytes;
    TlsOutcome outcome = socket.Write(kPreface);
    if (outcome.ok()) outcome = socket.Read(&bytes);
    if (SpeaksHttp2(bytes)) return Status::Ok();
    switch (outcome.failure) {
      case TlsFailure::kNone:
        return bytes.empty() ? OwnRefused("it closed the connection") : NotAssay();
      case TlsFailure::kTimeout:
        return NoAnswer(outcome.message);
      default:
        // gRPC closes the connection of a client whose certificate it refuses, without an alert.
        return OwnRefused(outcome.message);
    }
  }

  Status OwnRefused(const std::string& why) const {
    if (files_.certificate.empty()) {
      return FailedPrecondition(server_ + " wants a certificate of this side", Reason::kTlsRequired)
          .WithHint(kGiveTls);
    }
    const std::string own = "this side's certificate " + files_.certificate;
    const WallTime now = Clock::Real().WallNow();
    if (now >= end_) {
      return FailedPrecondition(own + " expired at " + TextOfTime(end_) + " (now: " + Now() + ")",
                                Reason::kBadCertificate)
          .WithHint("renew it or join again; if the time is wrong, set this machine's clock");
    }
    if (now < begin_) {
      return FailedPrecondition(
                 own + " is valid only from " + TextOfTime(begin_) + " (now: " + Now() + ")",
                 Reason::kClockSkew)
          .WithHint("set this machine's clock");
    }
    return FailedPrecondition(server_ + " refuses " + own + ": " + why, Reason::kBadCertificate)
        .WithHint(
            "use a certificate that the fleet's authority has signed, or join the fleet again");
  }

  Status SpeaksPlaintext() const {
    return FailedPrecondition(server_ + " does not speak TLS", Reason::kWrongPeer)
        .WithHint("connect without the --tls flags, or give the server a certificate");
  }

  Status NotAssay() const {
    return FailedPrecondition(server_ + " is not Assay: it does not speak gRPC", Reason::kWrongPeer)
        .WithHint("by default, a coordinator listens on port 7900 and an agent on 7901");
  }

  Status NoAnswer(const std::string& why) const {
    return Unavailable("no answer from " + server_ + ": " + why, Reason::kUnreachable);
  }

  static std::string Now() {
    return TextOfTime(std::chrono::floor<std::chrono::seconds>(Clock::Real().WallNow()));
  }

  static constexpr char kGiveTls[] =
      "give --tls-ca, and --tls-cert with --tls-key if clients need a certificate";

  const HostPort address_;
  const TlsFiles files_;
  const std::string server_;
  // The period in which this side's certificate is valid.
  WallTime begin_{};
  WallTime end_{};
};

}  // namespace

Status ExplainConnection(const HostPort& address, const TlsFiles& files, Duration patience) {
  return Explainer(address, files).Run(Clock::Real().Now() + patience);
}

}  // namespace assay::rpc
