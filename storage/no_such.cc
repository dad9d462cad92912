#include "storage/no_such.h"

#include "common/text.h"
#include "model/parameter.h"

namespace assay::storage {

Status NoSuch(const std::string& what, const std::string& name,
              const std::vector<std::string>& names) {
  const Status error = NotFound("no " + what + " \"" + name + "\"");
  const std::string closest = ClosestName(name, names);
  return closest.empty() ? error : error.WithHint("did you mean \"" + closest + "\"?");
}

}  // namespace assay::storage
