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

// Detects which provider rents out this machine. Recognizes containers of Vast.ai and RunPod by
// environment variables, read from this process and also from PID 1, because shells opened over ssh
// do not inherit them. Recognizes virtual machines of AWS, Google and Azure by names in their
// firmware. Lambda's machines cannot be recognized, so their users must pass --provider. `root`,
// which only tests set, replaces "/".
Rental DetectRental(const std::function<const char*(const char* name)>& variable,
                    const std::string& root = "");

}  // namespace assay
