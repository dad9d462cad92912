// The list of all topics. Each function is defined in the file about its subject.
#pragma once

#include <vector>

#include "predict/topic.h"

namespace assay::predict {

std::vector<Topic> AllTopics();

// Returns the topics of one subject.
std::vector<Topic> ShapeTopics();          // model show
std::vector<Topic> ServingTopics();        // decode, prefill, kv, fits, plan serve ...
std::vector<Topic> TrainingTopics();       // mfu, flops, activations ...
std::vector<Topic> TrainTopics();          // train, plan train
std::vector<Topic> CommunicationTopics();  // allreduce, pipeline, experts ...
std::vector<Topic> MatmulTopics();         // matmul, intensity, roofline, peak ...
std::vector<Topic> KernelTopics();         // occupancy, traffic, overlap, quantise ...
std::vector<Topic> SpeculationTopics();    // speculate, batching
std::vector<Topic> PurchaseTopics();       // plan compare, plan build

}  // namespace assay::predict
