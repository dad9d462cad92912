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

// Detects which provider rents out this machine:
//   - Vast.ai and RunPod, by environment variables of this process and of PID 1. The latter is
//     needed because shells opened over ssh do not inherit these variables.
//   - AWS, Google and Azure, by names in the firmware of their virtual machines.
// Lambda's machines cannot be recognized, so their users must pass --provider. `root`, which only
// tests set, replaces "/".
Rental DetectRental(const std::function<const char*(const char* name)>& variable,
                    const std::string& root = "");

}  // namespace assay
