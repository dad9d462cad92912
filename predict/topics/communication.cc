#include "predict/topics/topics.h"

namespace assay::predict {

std::vector<Topic> CommunicationTopics() { return {}; }

}  // namespace assay::predict
