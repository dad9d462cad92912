#include "gang/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <cstring>
#include <string_view>
#include <utility>

namespace assay {
namespace {

constexpr std::string_view kIdentity = "assay-gang/1";
// TLS_AES_128_GCM_SHA256, for which OpenSSL has no constant.
constexpr unsigned char kCipherSuite[] = {0x13, 0x01};

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* connection) const { SSL_free(connection); }
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
};

// Returns this thread's oldest OpenSSL error.
std::string WhyTlsFailed() {
  const char* const reason = ERR_reason_error_string(ERR_get_error());
  return std::string("TLS: ") + (reason == nullptr ? "unknown error" : reason);
}

// The functions through which OpenSSL reads from and writes to a connection (a BIO).
class Wire {
 public:
  explicit Wire(int fd) : fd_(fd) {}

  // The error that ended the connection; OK if none did.
  const Status& lost() const { return lost_; }

  // Stores the number of bytes moved. Returns 1, or -1 if no byte could be moved.
  int Note(BIO* bio, const Result<size_t>& result, int retry, size_t* moved) {
    BIO_clear_retry_flags(bio);
    if (!result.ok()) {
      lost_ = result.status();
      return -1;
    }
    *moved = *result;
    if (*moved > 0) return 1;
    BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
    return -1;
  }

  static Wire& Of(BIO* bio) { return *static_cast<Wire*>(BIO_get_data(bio)); }

  static int Read(BIO* bio, char* data, size_t size, size_t* got) {
    return Of(bio).Note(bio, ReceiveFrom(Of(bio).fd_, data, size), BIO_FLAGS_READ, got);
  }
  static int Write(BIO* bio, const char* data, size_t size, size_t* sent) {
    return Of(bio).Note(bio, SendTo(Of(bio).fd_, data, size), BIO_FLAGS_WRITE, sent);
  }
  // Answers OpenSSL's control commands. Nothing is buffered here, so every flush succeeds.
  static long Control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

 private:
  const int fd_;
  Status lost_;
};

// Returns the OpenSSL transport type (BIO) that sends and receives with class Wire. OpenSSL's own
// type for sockets is unsuitable: it does not use MSG_NOSIGNAL, so writing to a closed connection
// would raise SIGPIPE.
const BIO_METHOD* WireMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "rank");
    if (made == nullptr) return made;
    BIO_meth_set_read_ex(made, Wire::Read);
    BIO_meth_set_write_ex(made, Wire::Write);
    BIO_meth_set_ctrl(made, Wire::Control);
    return made;
  }();
  return method;
}

class TlsCipher : public Cipher {
 public:
  TlsCipher(SSL_CTX* context, int fd) : wire_(fd), ssl_(SSL_new(context)) {}

  // Lets OpenSSL use the connection. Call first, once.
  Status Attach() {
    BIO* const bio = ssl_ == nullptr ? nullptr : BIO_new(WireMethod());
    if (bio == nullptr) return Internal(WhyTlsFailed());
    BIO_set_data(bio, &wire_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    return Status::Ok();
  }

  SSL* ssl() const { return ssl_.get(); }

  Status Handshake(int fd, MonotonicTime deadline) {
    for (;;) {
      ERR_clear_error();
      const int result = SSL_do_handshake(ssl_.get());
      if (result == 1) return Proven();
      const int error = SSL_get_error(ssl_.get(), result);
      ASSAY_RETURN_IF_ERROR(ErrorOf(error));
      ASSAY_RETURN_IF_ERROR(WaitFor(fd, error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline));
    }
  }

  Result<size_t> Receive(void* data, size_t size) override {
    ERR_clear_error();
    size_t got = 0;
    const int result = SSL_read_ex(ssl_.get(), data, size, &got);
    if (result != 1) {
      ASSAY_RETURN_IF_ERROR(ErrorOf(SSL_get_error(ssl_.get(), result)));
      return size_t{0};
    }
    ASSAY_RETURN_IF_ERROR(Proven());
    return got;
  }

  Result<size_t> Send(const void* data, size_t size) override {
    ERR_clear_error();
    size_t sent = 0;
    const int result = SSL_write_ex(ssl_.get(), data, size, &sent);
    if (result == 1) return sent;
    ASSAY_RETURN_IF_ERROR(ErrorOf(SSL_get_error(ssl_.get(), result)));
    return size_t{0};
  }

 private:
  // Returns OK if OpenSSL only has to wait.
  Status ErrorOf(int error) const {
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return Status::Ok();
    if (!wire_.lost().ok()) return wire_.lost();
    return PeerLost(error == SSL_ERROR_ZERO_RETURN ? "the connection was closed" : WhyTlsFailed());
  }

  // Returns OK if the other end has proven that it knows the gang's key. OpenSSL treats a
  // connection with a pre-shared key as a resumed session, so the function checks for that. A
  // handshake without the key fails anyway, because neither end has or accepts a certificate.
  Status Proven() const {
    return SSL_session_reused(ssl_.get()) == 1 ? Status::Ok() : PeerLost("TLS: without the key");
  }

  Wire wire_;
  const std::unique_ptr<SSL, Free> ssl_;  // Uses wire_.
};

class OpenSslGangTls : public GangTls {
 public:
  OpenSslGangTls(std::string key, std::unique_ptr<SSL_CTX, Free> context)
      : key_(std::move(key)), context_(std::move(context)) {}

  Status Configure() {
    SSL_CTX* const context = context_.get();
    const bool configured = SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                            SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
                            SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1 &&
                            SSL_CTX_set_num_tickets(context, 0) == 1 &&
                            SSL_CTX_set_app_data(context, const_cast<std::string*>(&key_)) == 1;
    if (!configured) return Internal(WhyTlsFailed());
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_psk_use_session_callback(context, UseKey);
    SSL_CTX_set_psk_find_session_callback(context, FindKey);
    return Status::Ok();
  }

  Status Connect(Socket* socket, MonotonicTime deadline) const override {
    ASSAY_ASSIGN_OR_RETURN(auto cipher, NewCipher(socket->fd()));
    // Require the other end to prove its identity. No certificate is trusted, so the gang's key is
    // the only possible proof.
    SSL_set_verify(cipher->ssl(), SSL_VERIFY_PEER, nullptr);
    SSL_set_connect_state(cipher->ssl());
    ASSAY_RETURN_IF_ERROR(cipher->Handshake(socket->fd(), deadline));
    socket->Encrypt(std::move(cipher));
    return Status::Ok();
  }

  Status Accept(Socket* socket) const override {
    ASSAY_ASSIGN_OR_RETURN(auto cipher, NewCipher(socket->fd()));
    SSL_set_accept_state(cipher->ssl());
    socket->Encrypt(std::move(cipher));
    return Status::Ok();
  }

 private:
  Result<std::unique_ptr<TlsCipher>> NewCipher(int fd) const {
    auto cipher = std::make_unique<TlsCipher>(context_.get(), fd);
    ASSAY_RETURN_IF_ERROR(cipher->Attach());
    return cipher;
  }

  // Returns a session that begins with the key; null on failure. The caller owns it.
  static SSL_SESSION* SessionOf(SSL* connection) {
    const auto& key =
        *static_cast<const std::string*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(connection)));
    SSL_SESSION* const session = SSL_SESSION_new();
    if (session == nullptr) return nullptr;
    const SSL_CIPHER* const suite = SSL_CIPHER_find(connection, kCipherSuite);
    const bool made =
        suite != nullptr &&
        SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key.data()),
                                    key.size()) == 1 &&
        SSL_SESSION_set_cipher(session, suite) == 1 &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
    if (made) return session;
    SSL_SESSION_free(session);
    return nullptr;
  }

  static int UseKey(SSL* connection, const EVP_MD*, const unsigned char** identity, size_t* size,
                    SSL_SESSION** session) {
    *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());
    *size = kIdentity.size();
    *session = SessionOf(connection);
    return *session != nullptr ? 1 : 0;
  }

  static int FindKey(SSL* connection, const unsigned char* identity, size_t size,
                     SSL_SESSION** session) {
    const std::string_view given(reinterpret_cast<const char*>(identity), size);
    *session = given == kIdentity ? SessionOf(connection) : nullptr;
    return 1;
  }

  const std::string key_;
  const std::unique_ptr<SSL_CTX, Free> context_;
};

}  // namespace

Result<std::unique_ptr<GangTls>> GangTls::Create(const std::string& key) {
  std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_method()));
  if (context == nullptr) return Internal(WhyTlsFailed());
  auto tls = std::make_unique<OpenSslGangTls>(key, std::move(context));
  ASSAY_RETURN_IF_ERROR(tls->Configure());
  return std::unique_ptr<GangTls>(std::move(tls));
}

}  // namespace assay
