#include "predict/topics/topics.h"

namespace assay::predict {

std::vector<Topic> SpeculationTopics() { return {}; }

}  // namespace assay::predict
