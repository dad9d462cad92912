#include "cli/deploy/host_file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <map>

#include "cli/commands/invites.h"
#include "common/host_port.h"
#include "common/text.h"
#include "wire/bounds.h"
#include "wire/node_labels.h"

namespace assay::cli {
namespace {

// ssh's own checks come too late: a name that begins with "-" would be an option.
bool IsSshName(const std::string& text, const char* punctuation) {
  return !text.empty() && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [&](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || std::strchr(punctuation, c) != nullptr);
         });
}

std::vector<std::string> WordsOf(std::string_view line) {
  std::vector<std::string> words(1);
  for (const char c : line) {
    if (c != ' ' && c != '\t' && c != '\r') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

Status ReadAddress(const std::string& word, DeployHost& host) {
  std::string address = word;
  if (const size_t at = word.find('@'); at != std::string::npos) {
    host.user = word.substr(0, at);
    address = word.substr(at + 1);
    if (!IsSshName(host.user, "._-")) {
      return InvalidArgument(Quote(host.user) + " is not the name of a user");
    }
  }
  // A single colon begins a port. More are an IPv6 address.
  const bool bracketed = address.starts_with('[');
  if (bracketed ? !address.ends_with(']') : std::count(address.begin(), address.end(), ':') == 1) {
    const Result<HostPort> parsed = ParseHostPort(address);
    if (!parsed.ok() || parsed->port == 0) {
      return InvalidArgument(Quote(word) + " is not [USER@]HOST[:PORT]");
    }
    host.host = parsed->host;
    host.port = parsed->port;
  } else {
    host.host = bracketed ? address.substr(1, address.size() - 2) : address;
  }
  if (IsSshName(host.host, "._-:%")) return Status::Ok();
  return InvalidArgument(Quote(word) + " is not [USER@]HOST[:PORT]");
}

Result<DeployHost> ReadLine(const std::vector<std::string>& words) {
  DeployHost host;
  ASSAY_RETURN_IF_ERROR(ReadAddress(words[0], host));
  host.scope.set_role("node");
  host.scope.set_name(host.host);
  std::vector<std::string> labels;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    if (value.empty() || (key != "name" && key != "label" && key != "price")) {
      return InvalidArgument(Quote(words[i]) +
                             " is not name=NAME, label=KEY=VALUE or price=DOLLARS_PER_HOUR");
    }
    if (key == "name") {
      host.scope.set_name(value);
    } else if (key == "label") {
      labels.push_back(value);
    } else {
      double price = 0;
      const char* end = value.data() + value.size();
      const auto read = std::from_chars(value.data(), end, price);
      if (read.ec != std::errc() || read.ptr != end) {
        return InvalidArgument("price " + Quote(value) + " is not a number");
      }
      ASSAY_RETURN_IF_ERROR(schema::CheckPrice(price));
      host.scope.set_price_per_hour(price);
    }
  }
  if (!schema::IsNodeName(host.scope.name())) {
    return InvalidArgument(Quote(host.scope.name()) + " is not the name of a node");
  }
  ASSAY_RETURN_IF_ERROR(AddLabels(labels, host.scope));
  for (const auto& [key, value] : host.scope.labels()) {
    ASSAY_RETURN_IF_ERROR(schema::CheckLabel(key, value));
  }
  return host;
}

}  // namespace

std::string DeployHost::ToString() const {
  const std::string address = port == 0 ? host : HostPort{host, port}.ToString();
  return (user.empty() ? "" : user + "@") + address;
}

std::vector<std::string> DeployHost::SshCommand() const {
  std::vector<std::string> command = {"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15",
                                      // Do not share connections: the master process of a shared
                                      // connection would keep our pipe open.
                                      "-o", "ControlMaster=no"};
  if (port != 0) command.insert(command.end(), {"-p", std::to_string(port)});
  if (!user.empty()) command.insert(command.end(), {"-l", user});
  command.insert(command.end(), {"--", host, "sh -s"});
  return command;
}

Result<std::vector<DeployHost>> ParseHostFile(std::string_view text, const std::string& path) {
  std::vector<DeployHost> hosts;
  std::vector<Violation> violations;
  std::map<std::string, int> lines;  // By the name of the node.
  int line = 0;
  for (const std::string_view raw : Split(text, '\n')) {
    ++line;
    const std::vector<std::string> words = WordsOf(raw.substr(0, raw.find('#')));
    if (words.empty()) continue;
    const auto bad = [&](const std::string& why) {
      violations.push_back({"line " + std::to_string(line), why, line});
    };
    if (!IsPlainText(Join(words, " "))) {
      bad("is not plain text");
      continue;
    }
    Result<DeployHost> host = ReadLine(words);
    if (!host.ok()) {
      bad(host.status().message());
      continue;
    }
    const auto [found, added] = lines.insert({host->scope.name(), line});
    if (!added) {
      bad("name " + Quote(host->scope.name()) + " is given in line " +
          std::to_string(found->second) + " already; give each host another with name=NAME");
      continue;
    }
    host->line = line;
    hosts.push_back(*std::move(host));
  }
  if (violations.empty() && hosts.empty()) {
    violations.push_back({"", "lists no hosts; write one [USER@]HOST[:PORT] per line", 0});
  }
  if (violations.empty()) return hosts;
  return InvalidArgument("the list of hosts, " + path + ", has errors", Reason::kBadFile)
      .WithViolations(std::move(violations));
}

}  // namespace assay::cli
