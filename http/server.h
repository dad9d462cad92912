// An HTTP/1.1 server whose handlers may respond later, from any thread and in parts.
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

// A request awaiting its response. To respond, call Respond once, or call Begin once, then Write
// any number of times, then End. All methods are thread-safe and non-blocking. They have no effect
// once the client has closed the connection or the server has stopped. Destroying an Exchange
// without responding closes the connection.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  virtual void Respond(Response response) = 0;
  // Starts a response of unknown length. `head.body` is its first part.
  virtual void Begin(Response head) = 0;
  virtual void Write(std::string part) = 0;
  virtual void End() = 0;
  // Calls `gone` once if the connection closes before the response is complete: because the client
  // closed it or did not read a part in time, or because the server is stopping. `gone` runs on a
  // server thread or, if the connection has already closed, before OnGone returns.
  //
  // While a streamed response waits for its next part, the server checks every second whether the
  // client has closed the connection.
  virtual void OnGone(std::function<void()> gone) = 0;
  // Calls `drained` once all parts written so far have been handed to the network, either on a
  // server thread or before OnDrained returns. Replaces any earlier `drained` that has not been
  // called yet.
  virtual void OnDrained(std::function<void()> drained) = 0;
};

struct ServerOptions {
  HostPort address;  // Port 0 selects a free port.
  // Handles a complete request. Called on the server's threads, at most `threads` at once.
  std::function<void(std::shared_ptr<Exchange>)> handler;
  unsigned threads = 2;
  unsigned connections = 512;
  unsigned connections_per_address = 512;
  size_t body_bytes = 0;  // A larger body is answered with 413.
  // Time limit for a client to send a request, counted from the start of the connection or from the
  // previous response.
  Duration request_patience = std::chrono::seconds(5);
  // The time that a client has to read a response or, if it is streamed, each part of the response.
  Duration response_patience = std::chrono::seconds(5);
  bool keep_alive = false;
  // The server's certificate and key in PEM. If both are empty, the server speaks plain HTTP.
  std::string tls_certificate;
  std::string tls_key;
};

// An HTTP server that runs until it is destroyed. Thread-safe.
class Server {
 public:
  // Starts a server. The error names the address and the reason.
  static Result<std::unique_ptr<Server>> Start(ServerOptions options);

  // Ends open exchanges, which calls their `gone` callbacks, and waits for running handlers.
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
