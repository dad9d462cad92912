#include "predict/topics/topics.h"

namespace assay::predict {

std::vector<Topic> PurchaseTopics() { return {}; }

}  // namespace assay::predict
