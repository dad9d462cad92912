#include "predict/topics/topics.h"

namespace assay::predict {

std::vector<Topic> TrainingTopics() { return {}; }

}  // namespace assay::predict
