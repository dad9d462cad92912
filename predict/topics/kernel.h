// Functions that the topics about kernels share.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "predict/topic.h"

namespace assay::predict {

std::vector<Topic> RooflineTopics();  // intensity, roofline
std::vector<Topic> MachineTopics();   // peak, traffic
std::vector<Topic> NumberTopics();    // quantise, text
std::vector<Topic> ProfileTopics();   // profile

// Returns an error unless the input was given. `why` completes "is required ", as in
// "for op attention".
Status NeedInput(const Arguments& arguments, const std::string& name, const std::string& why,
                 const std::string& remedy);

// Peak and memory bandwidth of the GPU that the inputs "gpu", "peak" and "bandwidth" describe.
struct Roof {
  Figure peak;
  Figure bandwidth;
  double Ridge() const { return peak.value / bandwidth.value; }
};

// Returns an error about the input that is missing.
Result<Roof> FindRoof(const Arguments& arguments, const std::string& dtype);

// Returns an error about the input "bandwidth" if the bandwidth of the GPU is not known.
Result<Figure> FindBandwidth(const Arguments& arguments);

}  // namespace assay::predict
