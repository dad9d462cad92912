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

// Detects which provider rents out this machine. Containers of Vast.ai and RunPod are recognized
// by environment variables. These are read from this process and also from PID 1, because a shell
// that was opened by ssh does not inherit them. Virtual machines of AWS, Google and Azure are
// recognized by names in their firmware. Machines of Lambda cannot be recognized, so their users
// must pass --provider. Tests pass `root`, which replaces "/".
Rental DetectRental(const std::function<const char*(const char* name)>& variable,
                    const std::string& root = "");

}  // namespace assay
