// Inputs and refusals that the topics about serving share.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "predict/step.h"
#include "predict/topic.h"

namespace assay::predict {

// Tokens that one step of a server computes at most while it prefills, where no input says so. It
// sizes the activations.
constexpr double kPrefillChunk = 2048;

constexpr int64_t kMostServingTp = 128;

// Returns a count for people: "8,192".
std::string ServingCount(double value);

// Returns "1 sequence" or "8 sequences".
std::string ServingSequences(double count);

// Appends the inputs for figures of the GPU with these names.
std::vector<Input> ServingHardware(std::vector<Input> inputs,
                                   const std::vector<std::string>& names);

// Returns the name of the largest part.
std::string LargestServingPart(const std::vector<std::pair<std::string, double>>& parts);

// The inputs tp, weights, kv and launch.
std::vector<Input> ServingInputs(const std::string& launch);

// Reads them. Refuses tensor-parallel sizes that do not divide the heads.
Result<Serving> ReadServing(const Arguments& arguments, const ModelShape& shape);

// Refuses a number of tokens, the value of `input`, beyond the model's positions.
Status CheckServingTokens(const std::string& input, double tokens, const ModelShape& shape);

// Returns the memory that serving may use on one GPU. Nullopt: the GPU's memory is not known.
std::optional<double> UsableMemory(const Hardware& gpu);

// Refuses a configuration that does not fit. The field is "tp" if the weights alone are too much,
// else `batch` or `context`, inputs that can be reduced; `batch` may be empty. The hint says what
// fits.
Status CheckServingFit(const Hardware& gpu, const ModelShape& shape, const Serving& serving,
                       double batch, double context, double in_flight,
                       const std::string& batch_input, const std::string& context_input);

// Returns the smallest tensor-parallel size that is a power of two, divides the heads and fits.
// Nullopt: none does.
std::optional<int64_t> LeastServingTp(const ModelShape& shape, Serving serving, double batch,
                                      double context, double in_flight, double room,
                                      int64_t pp = 1);

// Turns an error about an unknown figure of the GPU into a refusal of the input that gives it.
Status RefuseUnknownFigure(const Status& error);

// Adds weights, kv, activations, needed, memory and room of one GPU.
void AddServingMemory(Answer& answer, const Hardware& gpu, const ModelShape& shape,
                      const Serving& serving, const MemoryNeed& need, bool pipelined = false);

// A table with the time of each phase.
Grid StepPhaseGrid(const StepTime& step);

// Says how far below sheet figures measured steps were.
std::string ServingSheetNote();

std::vector<Topic> ServingMemoryTopics();  // kv, fits
std::vector<Topic> ServingRuleTopics();    // decode-rule, serving-price
std::vector<Topic> ServePlanTopics();      // plan serve

}  // namespace assay::predict
