// An HTTP/1.1 server whose responses may come later, from any thread, and in parts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/host_port.h"
#include "common/status.h"

namespace assay::http {

struct Request {
  std::string method;
  std::string path;                                        // Without the query.
  std::vector<std::pair<std::string, std::string>> query;  // Decoded, in order.
  std::map<std::string, std::string> headers;              // Names in lower case.
  std::string body;
  std::string peer;  // The client's IP address.
};

// Returns the value of a header, whose name is in lower case, or "".
std::string HeaderOf(const Request& request, const std::string& name);

struct Response {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// Returns a response of plain text.
Response PlainText(int status, std::string text);

// A request that waits for its response. Call either Respond once, or Begin, then Write any number
// of times, and End. Thread-safe; the methods do not block. After the client has gone or the server
// stops, they have no effect. An Exchange that is dropped without a response closes its connection.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  virtual void Respond(Response response) = 0;
  // Starts a response of unknown length. `head.body` is its first part.
  virtual void Begin(Response head) = 0;
  virtual void Write(std::string part) = 0;
  virtual void End() = 0;
  // Calls `gone` once, when the client has closed the connection, has not read a part in time, or
  // the server stops. It is not called after a complete response. A closed connection is noticed at
  // the next Write. Runs on a thread of the server, or at once if the client is gone already.
  virtual void OnGone(std::function<void()> gone) = 0;
  // Calls `drained` when all parts so far were handed to the network, on a thread of the server or
  // at once. A new call replaces an earlier one that has not run yet.
  virtual void OnDrained(std::function<void()> drained) = 0;
};

struct ServerOptions {
  HostPort address;  // Port 0 selects a free port.
  // Called on the server's threads, at most `threads` at once, with complete requests.
  std::function<void(std::shared_ptr<Exchange>)> handler;
  unsigned threads = 2;
  unsigned connections = 512;
  unsigned connections_per_address = 512;
  size_t body_bytes = 0;  // A larger body is answered with 413.
  // Time to send a request, from the connection or the previous response on.
  Duration request_patience = std::chrono::seconds(5);
  // Time to read a response, or each part of one.
  Duration response_patience = std::chrono::seconds(5);
  bool keep_alive = false;
  // Texts in PEM. Both or neither; without them the server speaks plain HTTP.
  std::string tls_certificate;
  std::string tls_key;
};

// Serves until it is destroyed. Thread-safe.
class Server {
 public:
  // Starts a server. The error names the address and the reason.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options);

  // Ends open exchanges, whose OnGone is called, and waits for running handlers.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns the listening address with the actual port.
  const HostPort& address() const { return address_; }

 private:
  class Impl;
  Server() = default;

  HostPort address_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::http
