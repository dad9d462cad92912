#include "wire/proxy.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>

#include "common/text.h"

namespace assay::rpc {
namespace {

// The default of curl.
constexpr int kDefaultProxyPort = 1080;

struct Variable {
  std::string name;
  std::string value;
};

Variable FirstSet(const char* lower, const char* upper) {
  for (const char* name : {lower, upper}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return {name, value};
  }
  return {};
}

bool IsExempt(const std::string& target, const std::string& no_proxy) {
  const std::string host = Lower(target);
  for (std::string_view entry : Split(no_proxy, ',')) {
    while (entry.starts_with(' ') || entry.starts_with('.')) entry.remove_prefix(1);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    if (entry.empty()) continue;
    const std::string name = Lower(entry);
    if (name == "*" || name == host || host.ends_with("." + name)) return true;
  }
  return false;
}

// Decodes "%40" and so on.
std::string Unescape(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() &&
                        std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
                        std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0;
    if (!escape) {
      decoded += text[i];
      continue;
    }
    decoded += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
    i += 2;
  }
  return decoded;
}

}  // namespace

Result<std::optional<Proxy>> ProxyFor(const HostPort& target) {
  const Variable variable = FirstSet("https_proxy", "HTTPS_PROXY");
  if (variable.value.empty()) return std::optional<Proxy>();
  if (IsExempt(target.host, FirstSet("no_proxy", "NO_PROXY").value)) return std::optional<Proxy>();
  const auto refused = [&](const std::string& why) {
    return InvalidArgument("the environment variable " + variable.name + why)
        .WithHint("write for example http://proxy.example:3128");
  };
  std::string_view url = variable.value;
  if (const size_t scheme = url.find("://"); scheme != url.npos) {
    if (Lower(url.substr(0, scheme)) != "http") {
      return refused(" names a proxy that is not of type http://");
    }
    url.remove_prefix(scheme + 3);
  }
  url = url.substr(0, url.find_first_of("/?#"));
  Proxy proxy;
  if (const size_t at = url.rfind('@'); at != url.npos) {
    proxy.credentials = Unescape(url.substr(0, at));
    url.remove_prefix(at + 1);
  }
  const bool has_port = url.rfind(':') != url.npos && !url.ends_with(']');
  auto address =
      ParseHostPort(std::string(url) + (has_port ? "" : ":" + std::to_string(kDefaultProxyPort)));
  if (!address.ok() || address->port == 0) return refused(" names no HOST:PORT of a proxy");
  proxy.address = *std::move(address);
  return std::optional<Proxy>(std::move(proxy));
}

void ShareProxyWithGrpc() {
  const std::string value = FirstSet("https_proxy", "HTTPS_PROXY").value;
  if (value.empty()) return;
  const bool has_scheme = value.find("://") != value.npos;
  ::setenv("https_proxy", (has_scheme ? value : "http://" + value).c_str(), 1);
}

}  // namespace assay::rpc
