// The list of machines that `assay deploy` adds to a fleet, one per line:
//
//   # Comments and empty lines are ignored.
//   root@10.0.0.7:2222  name=gpu-7 label=rack=3 label=row=b price=2.49
//   gpu-8.example.com
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/v1/identity_service.pb.h"
#include "common/status.h"

namespace assay::cli {

struct DeployHost {
  int line = 0;
  std::string user;  // Empty: ssh decides.
  std::string host;
  int port = 0;  // 0: ssh decides.
  // The role ("node"), name, labels and price that the invite for this host grants. The node has
  // the host's name, unless the line specifies another.
  v1::InviteScope scope;

  // Returns "[USER@]HOST[:PORT]".
  std::string ToString() const;
  // Returns an ssh command that runs a shell on the host. The shell reads its script from standard
  // input. Prevents ssh from mistaking the host or user for an option.
  std::vector<std::string> SshCommand() const;
};

// Parses a list of hosts. Returns INVALID_ARGUMENT with a violation per bad line.
Result<std::vector<DeployHost>> ParseHostFile(std::string_view text, const std::string& path);

}  // namespace assay::cli
