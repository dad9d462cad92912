// A join listener for tests: one thread that answers connections one after the other.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "common/listener.h"
#include "identity/authority.h"
#include "tests/temporary_folder.h"

namespace assay::identity {

class JoinServer {
 public:
  // Gets the request, head and body, and returns all bytes of the response.
  using Handler = std::function<std::string(const std::string& request)>;

  explicit JoinServer(Handler handler, bool tls = true)
      : handler_(std::move(handler)),
        listener_(std::move(ListenOn({"127.0.0.1", 0}).value())),
        authority_(std::move(
            Authority::Open(folder_.path() + "/ca", "assay", Clock::Real().WallNow()).value())),
        certificate_(authority_->IssueServer("c", {"localhost"}, Clock::Real().WallNow()).value()),
        tls_(tls) {
    ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to clients that have gone.
    SSL_CTX_use_certificate_chain_file(context_.get(), certificate_.certificate_file.c_str());
    SSL_CTX_use_PrivateKey_file(context_.get(), certificate_.key_file.c_str(), SSL_FILETYPE_PEM);
    thread_ = std::thread([this] { Serve(); });
  }
  ~JoinServer() {
    stopped_ = true;
    thread_.join();
  }

  static std::string Http(int status, const std::string& body) {
    return "HTTP/1.1 " + std::to_string(status) +
           " Text\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  int port() const { return listener_.address.port; }
  std::string url() const { return "https://127.0.0.1:" + std::to_string(port()); }
  const std::string& pin() const { return pin_; }
  const Authority& authority() const { return *authority_; }
  // Connections that reached the handler.
  int requests() const { return requests_; }

 private:
  // A client that sends nothing must not hang the test.
  static constexpr timeval kPatience{10, 0};

  void Serve() {
    while (!stopped_) {
      pollfd wanted{listener_.sockets.front().get(), POLLIN, 0};
      if (::poll(&wanted, 1, 20) <= 0) continue;
      const FileDescriptor socket(::accept4(wanted.fd, nullptr, nullptr, SOCK_CLOEXEC));
      ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
      if (tls_) {
        Answer(socket.get());
      } else {
        const std::string response = handler_(Received(socket.get()));
        ::send(socket.get(), response.data(), response.size(), MSG_NOSIGNAL);
      }
    }
  }

  static std::string Received(int socket) {
    std::string bytes(4096, '\0');
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    return bytes.substr(0, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  }

  void Answer(int socket) {
    const std::unique_ptr<SSL, OpenSslDeleter<SSL_free>> ssl(SSL_new(context_.get()));
    SSL_set_fd(ssl.get(), socket);
    if (SSL_accept(ssl.get()) != 1) return;
    std::string request;
    while (request.find("\r\n\r\n") == request.npos || !request.ends_with("}")) {
      std::string part(4096, '\0');
      const int got = SSL_read(ssl.get(), part.data(), static_cast<int>(part.size()));
      if (got <= 0) return;
      request += part.substr(0, static_cast<size_t>(got));
    }
    ++requests_;
    const std::string response = handler_(request);
    if (!response.empty()) {
      SSL_write(ssl.get(), response.data(), static_cast<int>(response.size()));
    }
    SSL_shutdown(ssl.get());
  }

  TemporaryFolder folder_;
  const Handler handler_;
  const Listener listener_;
  const std::unique_ptr<Authority> authority_;
  const ServerCertificate certificate_;
  const std::string pin_ = authority_->ServerPin().value();
  const bool tls_;
  std::unique_ptr<SSL_CTX, OpenSslDeleter<SSL_CTX_free>> context_{SSL_CTX_new(TLS_server_method())};
  std::atomic<bool> stopped_ = false;
  std::atomic<int> requests_ = 0;
  std::thread thread_;
};

}  // namespace assay::identity
