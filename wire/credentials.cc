#include "wire/credentials.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <utility>

#include "common/file.h"
#include "wire/certificate.h"

namespace assay::rpc {
namespace {

constexpr int kMaxMessageBytes = 16 << 20;
constexpr int kMaxStreams = 100;  // Calls at a time on one connection.
constexpr size_t kMaxBufferBytes = size_t{1} << 30;
// The file of all of a system's authorities has about a quarter of a MiB.
constexpr size_t kMaxPemBytes = 4 << 20;

struct Pem {
  std::string certificate;
  std::string key;
  std::string authorities;
};

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using PrivateKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

// Never asks the terminal for the password of an encrypted key.
int NoPassword(char*, int, int, void*) { return 0; }

Bio OpenPem(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
}

Certificate NextCertificate(BIO* pem) {
  return Certificate(PEM_read_bio_X509(pem, nullptr, NoPassword, nullptr), X509_free);
}

Certificate FirstCertificate(const std::string& pem) { return NextCertificate(OpenPem(pem).get()); }

// Checks that every certificate in a PEM file can be read. gRPC does not report such errors: it
// silently ignores the first unreadable certificate and all those after it. If none is left, gRPC
// later fails to listen or connect without giving a reason.
Status CheckCertificates(const std::string& path, const std::string& pem) {
  const Bio text = OpenPem(pem);
  int count = 0;
  ERR_clear_error();
  while (NextCertificate(text.get())) ++count;
  const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (count == 0) return InvalidArgument(path + " holds no readable certificate");
  if (ended) return Status::Ok();
  return InvalidArgument("certificate " + std::to_string(count + 1) + " in " + path +
                         " cannot be read");
}

// Refuses a certificate that TLS does not accept, because of a short key or a weak signature.
Status CheckStrength(const std::string& path, X509* certificate) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_method()),
                                                                  SSL_CTX_free);
  const bool taken = !context || SSL_CTX_use_certificate(context.get(), certificate) == 1;
  const char* const why = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  if (taken) return Status::Ok();
  return InvalidArgument("OpenSSL refuses " + path +
                         " for TLS: " + (why != nullptr ? why : "no reason given"))
      .WithHint("make one with a longer key (ec P-256, rsa:2048) and signed with SHA-256");
}

// Checks that the private key matches the certificate. gRPC accepts mismatched files, but later
// fails to listen or connect without giving a reason.
Status CheckPair(const TlsFiles& files, const Pem& pem) {
  ASSAY_RETURN_IF_ERROR(CheckCertificates(files.certificate, pem.certificate));
  const Bio key_text = OpenPem(pem.key);
  const Certificate certificate = FirstCertificate(pem.certificate);
  const PrivateKey key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, NoPassword, nullptr),
                       EVP_PKEY_free);
  const bool match =
      certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!key) {
    return InvalidArgument(files.key + " holds no readable private key")
        .WithHint("a key with a password cannot be used");
  }
  if (match) return CheckStrength(files.certificate, certificate.get());
  return InvalidArgument(files.key + " is not the key of the first certificate in " +
                         files.certificate);
}

Result<Pem> ReadPem(const TlsFiles& files) {
  if (files.certificate.empty() != files.key.empty()) {
    return InvalidArgument(files.key.empty() ? "a TLS certificate is given without its key"
                                             : "a TLS key is given without its certificate")
        .WithHint("give both --tls-cert and --tls-key");
  }
  Pem pem;
  const auto read = [](const std::string& path, std::string_view marker,
                       std::string& into) -> Status {
    if (path.empty()) return Status::Ok();
    const Result<std::string> text = ReadFile(path, kMaxPemBytes);
    if (!text.ok()) return InvalidArgument(text.status().message(), Reason::kFileUnreadable);
    into = *text;
    if (into.find(marker) == std::string::npos) {
      return InvalidArgument(path + " is not a PEM file: it has no line with \"" +
                             std::string(marker) + "\"");
    }
    return Status::Ok();
  };
  ASSAY_RETURN_IF_ERROR(read(files.certificate, "-----BEGIN CERTIFICATE-----", pem.certificate));
  ASSAY_RETURN_IF_ERROR(read(files.key, "PRIVATE KEY-----", pem.key));
  ASSAY_RETURN_IF_ERROR(read(files.authorities, "-----BEGIN CERTIFICATE-----", pem.authorities));
  if (!pem.certificate.empty()) ASSAY_RETURN_IF_ERROR(CheckPair(files, pem));
  if (!pem.authorities.empty()) {
    ASSAY_RETURN_IF_ERROR(CheckCertificates(files.authorities, pem.authorities));
  }
  return pem;
}

// Others on this machine must not read the key.
Status CheckKeyMode(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0 || (file.st_mode & S_IRWXO) == 0) return Status::Ok();
  return InvalidArgument("every user of this machine can read the private key " + path,
                         Reason::kFileUnreadable)
      .WithHint("chmod 600 " + path);
}

// Checks that this side may present its certificate, and that its key is private.
Status CheckOwn(const TlsFiles& files, const Pem& pem, CertificateUse use) {
  if (pem.certificate.empty()) return Status::Ok();
  ASSAY_RETURN_IF_ERROR(CheckKeyMode(files.key));
  return CheckLeaf(files.certificate, FirstCertificate(pem.certificate).get(), use);
}

Status PlaintextRefused(const HostPort& address, const char* verb) {
  return FailedPrecondition("will not " + std::string(verb) + " " + address.ToString() +
                                " without TLS: it is not a loopback address",
                            Reason::kTlsRequired)
      .WithHint("give --tls-cert, --tls-key and --tls-ca, or --insecure on a network you trust");
}

}  // namespace

Result<std::optional<Identity>> OwnIdentity(const TlsFiles& files) {
  if (files.certificate.empty()) return std::optional<Identity>();
  ASSAY_ASSIGN_OR_RETURN(const Pem pem, ReadPem(files));
  const Result<Identity> identity = IdentityOf(FirstCertificate(pem.certificate).get());
  if (!identity.ok()) return identity.status().WithContext(files.certificate);
  return std::optional<Identity>(*identity);
}

Result<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(const HostPort& address,
                                                                   const TlsFiles& files,
                                                                   bool insecure,
                                                                   CallerCheck check) {
  if (files.empty()) {
    if (!insecure && !address.IsLoopback()) return PlaintextRefused(address, "listen on");
    return grpc::InsecureServerCredentials();
  }
  ASSAY_ASSIGN_OR_RETURN(const Pem pem, ReadPem(files));
  if (pem.certificate.empty()) {
    return InvalidArgument("a TLS server needs a certificate and its key")
        .WithHint("give --tls-cert and --tls-key");
  }
  ASSAY_RETURN_IF_ERROR(CheckOwn(files, pem, CertificateUse::kServer));
  if (pem.authorities.empty() && !insecure && !address.IsLoopback()) {
    return FailedPrecondition("will not listen on " + address.ToString() +
                                  " without --tls-ca: anyone could call everything",
                              Reason::kTlsRequired)
        .WithHint("give --tls-ca, or --insecure on a network you trust");
  }
  grpc::SslServerCredentialsOptions options(
      pem.authorities.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                              : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_key_cert_pairs.push_back({pem.key, pem.certificate});
  options.pem_root_certs = pem.authorities;
  auto credentials = grpc::SslServerCredentials(options);
  if (!pem.authorities.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const std::optional<Identity> own, OwnIdentity(files));
    credentials->SetAuthMetadataProcessor(NewAccessControl(own->fleet, std::move(check)));
  }
  return credentials;
}

Result<std::shared_ptr<grpc::ChannelCredentials>> ClientCredentials(const HostPort& address,
                                                                    const TlsFiles& files,
                                                                    bool insecure) {
  if (files.empty()) {
    if (!insecure && !address.IsLoopback()) return PlaintextRefused(address, "connect to");
    return grpc::InsecureChannelCredentials();
  }
  ASSAY_ASSIGN_OR_RETURN(const Pem pem, ReadPem(files));
  ASSAY_RETURN_IF_ERROR(CheckOwn(files, pem, CertificateUse::kClient));
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = pem.authorities;
  options.pem_cert_chain = pem.certificate;
  options.pem_private_key = pem.key;
  return grpc::SslCredentials(options);
}

void ApplyServerLimits(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 15'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  grpc::ResourceQuota quota("server");
  quota.Resize(kMaxBufferBytes);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
}

grpc::ChannelArguments ClientArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return arguments;
}

}  // namespace assay::rpc
