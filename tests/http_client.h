// A client of HTTP/1.1 for tests, which shows what is on the wire.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "common/host_port.h"
#include "common/subprocess.h"

namespace assay {

struct HttpAnswer {
  int status = 0;                              // 0: the server closed without an answer.
  std::map<std::string, std::string> headers;  // Names in lower case; the last of a name.
  std::string body;                            // Without the framing of chunks.
};

// Connects to a server on 127.0.0.1.
inline FileDescriptor ConnectTo(const HostPort& address) {
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(static_cast<uint16_t>(address.port));
  inet_pton(AF_INET, "127.0.0.1", &peer.sin_addr);
  FileDescriptor socket_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(socket_fd.get(), reinterpret_cast<sockaddr*>(&peer), sizeof peer) != 0) {
    return FileDescriptor();
  }
  return socket_fd;
}

inline void SendAll(const FileDescriptor& socket_fd, const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(socket_fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<size_t>(n);
  }
}

// Reads until the server closes.
inline std::string ReadAll(const FileDescriptor& socket_fd) {
  std::string text;
  char buffer[16384];
  for (ssize_t n; (n = read(socket_fd.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

inline HttpAnswer ParseAnswer(const std::string& text) {
  HttpAnswer answer;
  const size_t head_end = text.find("\r\n\r\n");
  if (head_end == text.npos || text.size() < 12) return answer;
  answer.status = std::stoi(text.substr(9, 3));
  for (size_t line = text.find("\r\n") + 2; line < head_end;) {
    const size_t end = text.find("\r\n", line);
    const size_t colon = text.find(": ", line);
    std::string name = text.substr(line, colon - line);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    answer.headers[name] = text.substr(colon + 2, end - colon - 2);
    line = end + 2;
  }
  const std::string rest = text.substr(head_end + 4);
  if (answer.headers["transfer-encoding"] != "chunked") {
    answer.body = rest;
    return answer;
  }
  for (size_t at = 0; at < rest.size();) {
    const size_t line_end = rest.find("\r\n", at);
    const size_t size = std::stoul(rest.substr(at, line_end - at), nullptr, 16);
    if (size == 0) break;
    answer.body += rest.substr(line_end + 2, size);
    at = line_end + 2 + size + 2;
  }
  return answer;
}

// Sends a request and returns the whole answer. `request_line` is "GET /path". Host is "localhost"
// unless `headers` has one.
inline HttpAnswer Fetch(const HostPort& address, const std::string& request_line,
                        std::vector<std::string> headers = {}, const std::string& body = "") {
  const FileDescriptor socket_fd = ConnectTo(address);
  std::string request = request_line + " HTTP/1.1\r\nConnection: close\r\n";
  if (std::none_of(headers.begin(), headers.end(),
                   [](const std::string& header) { return header.rfind("Host:", 0) == 0; })) {
    headers.emplace_back("Host: localhost");
  }
  if (!body.empty()) headers.push_back("Content-Length: " + std::to_string(body.size()));
  for (const std::string& header : headers) request += header + "\r\n";
  SendAll(socket_fd, request + "\r\n" + body);
  return ParseAnswer(ReadAll(socket_fd));
}

}  // namespace assay
