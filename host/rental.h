// Detects which cloud provider rents out this machine.
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

// Detects the provider of this machine. Containers are recognized by the following environment
// variables. They are read from this process and from PID 1, because a shell that was opened by ssh
// does not inherit them:
//   VAST_CONTAINERLABEL, CONTAINER_ID, PUBLIC_IPADDR   Vast.ai
//   RUNPOD_POD_ID, RUNPOD_DC_ID                        RunPod
// Virtual machines of AWS, Google and Azure are recognized by vendor, product or asset names in
// their firmware. Machines of Lambda have no such name, so their users must pass --provider. Tests
// pass `root`, which replaces "/".
Rental DetectRental(const std::function<const char*(const char* name)>& variable,
                    const std::string& root = "");

}  // namespace assay
