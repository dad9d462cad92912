#include "coordinator/core/invite_lines.h"

#include <fmt/format.h>

namespace assay::coordinator {
namespace {

// Returns `pem` with escaped line ends, as printf's %b reads it.
std::string Escaped(const std::string& pem) {
  std::string escaped;
  for (const char c : pem) {
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

void AddCommands(const JoinAddress& join, v1::CreateInviteResponse& response) {
  const std::string& token = response.token();
  if (response.invite().scope().role() != "node") {
    response.set_command(fmt::format("assay login {} --pin {} {}", join.url, join.pin, token));
    return;
  }
  response.set_command(fmt::format("curl -fsSk --pinnedpubkey sha256//{} {}/join | sh -s -- {}",
                                   join.pin, join.url, token));
  response.set_wget_command(
      fmt::format("ca=$(mktemp) && printf %b '{}' > \"$ca\" && "
                  "wget -nv -O- --ca-certificate=\"$ca\" {}/join | sh -s -- {}",
                  Escaped(join.authority), join.url, token));
}

}  // namespace assay::coordinator
