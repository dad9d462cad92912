#include "predict/topics/topics.h"

namespace assay::predict {

std::vector<Topic> ServingTopics() { return {}; }

}  // namespace assay::predict
