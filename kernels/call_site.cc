#include "kernels/call_site.h"

#include <string_view>

namespace assay {

std::string CallSite(const char* expression, const char* file, int line) {
  std::string_view path = file;
  // Drop the folders above the root of the source tree, because they differ between build machines.
  if (const size_t root = path.rfind("/kernels/"); root != std::string_view::npos) {
    path.remove_prefix(root + 1);
  }
  return std::string(expression) + " at " + std::string(path) + ":" + std::to_string(line);
}

}  // namespace assay
