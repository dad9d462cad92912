// Who rents out this machine, from what its provider leaves in a container.
#pragma once

#include <functional>
#include <string>

namespace assay {

// Empty where not known.
struct Rental {
  std::string provider;  // "vast", "runpod", "aws", "gcp" or "azure".
  std::string region;
  std::string instance;  // The provider's id of this rental. It survives restarts.
};

// Detects the provider of this machine. Reads only these variables, of this process and of PID 1,
// because a shell that was opened by ssh does not inherit them:
//   VAST_CONTAINERLABEL, CONTAINER_ID, PUBLIC_IPADDR   Vast.ai
//   RUNPOD_POD_ID, RUNPOD_DC_ID                        RunPod
// Virtual machines of AWS, Google and Azure are known by the firmware's names of vendor and
// product. Lambda's machines have no such name, so that they need --provider. `root` replaces "/"
// in tests.
Rental DetectRental(const std::function<const char*(const char* name)>& variable,
                    const std::string& root = "");

}  // namespace assay
