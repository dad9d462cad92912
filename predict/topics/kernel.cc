#include "predict/topics/topics.h"

namespace assay::predict {

std::vector<Topic> KernelTopics() { return {}; }

}  // namespace assay::predict
