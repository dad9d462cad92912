#include <algorithm>
#include <tuple>
#include <utility>

#include "predict/topics/topics.h"

namespace assay::predict {

std::vector<Topic> AllTopics() {
  std::vector<Topic> all;
  for (std::vector<Topic> (*const topics)() :
       {ShapeTopics, ServingTopics, TrainingTopics, TrainTopics, CommunicationTopics, MatmulTopics,
        KernelTopics, SpeculationTopics, PurchaseTopics}) {
    for (Topic& topic : topics()) all.push_back(std::move(topic));
  }
  std::sort(all.begin(), all.end(), [](const Topic& a, const Topic& b) {
    return std::tie(a.command, a.name) < std::tie(b.command, b.name);
  });
  return all;
}

}  // namespace assay::predict
