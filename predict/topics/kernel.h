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

// Returns an error if the user did not supply the input `name`. `why` is the end of the message,
// such as "for op attention" in "is required for op attention".
Status NeedInput(const Arguments& arguments, const std::string& name, const std::string& why,
                 const std::string& remedy);

// The roofline of a GPU: its peak rate and memory bandwidth, which come from the inputs "gpu",
// "peak" and "bandwidth".
struct Roof {
  Figure peak;
  Figure bandwidth;
  double Ridge() const { return peak.value / bandwidth.value; }
};

// Returns the GPU's roofline, or an error about the input that is missing.
Result<Roof> FindRoof(const Arguments& arguments, const std::string& dtype);

// Returns the GPU's memory bandwidth, or an error about the input "bandwidth" if it is unknown.
Result<Figure> FindBandwidth(const Arguments& arguments);

}  // namespace assay::predict
