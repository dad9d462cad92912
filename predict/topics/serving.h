// Inputs and errors that the topics about serving share.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "predict/step.h"
#include "predict/topic.h"

namespace assay::predict {

// The default limit on the number of tokens that a server computes per prefill step, which
// determines how much memory activations need.
constexpr double kPrefillChunk = 2048;

constexpr int64_t kMostServingTp = 128;

// Formats a count for people, as in "8,192".
std::string ServingCount(double value);

// Formats a number of sequences, as in "1 sequence" or "8 sequences".
std::string ServingSequences(double count);

// Appends the inputs for figures of the GPU that have these names.
std::vector<Input> ServingHardware(std::vector<Input> inputs,
                                   const std::vector<std::string>& names);

// Returns the name of the part with the largest value.
std::string LargestServingPart(const std::vector<std::pair<std::string, double>>& parts);

// Returns the inputs tp, weights, kv and launch.
std::vector<Input> ServingInputs(const std::string& launch);

// Reads the inputs declared by ServingInputs(). Returns an error unless the tensor-parallel size
// divides the model's number of heads.
Result<Serving> ReadServing(const Arguments& arguments, const ModelShape& shape);

// Returns an error if `tokens`, the value of `input`, exceeds the model's number of positions.
Status CheckServingTokens(const std::string& input, double tokens, const ModelShape& shape);

// Returns the memory that serving may use on one GPU, or nullopt if the GPU's memory is unknown.
std::optional<double> UsableMemory(const Hardware& gpu);

// Returns an error if `batch` sequences of `context` tokens do not fit in memory. The error names
// an input that the user could change, and its hint says what would fit. `batch_input` and
// `context_input` are the names of the user's inputs for the batch and the context. If the user
// cannot choose the batch, `batch_input` is empty.
Status CheckServingFit(const Hardware& gpu, const ModelShape& shape, const Serving& serving,
                       double batch, double context, double in_flight,
                       const std::string& batch_input, const std::string& context_input);

// Returns the smallest tensor-parallel size, a power of two that divides the number of heads, at
// which the model and its KV cache fit in `room` bytes per GPU. Returns nullopt if there is none.
std::optional<int64_t> LeastServingTp(const ModelShape& shape, Serving serving, double batch,
                                      double context, double in_flight, double room,
                                      int64_t pp = 1);

// Converts an error about an unknown figure of the GPU, such as its bandwidth, into one about the
// input that lets the user supply this figure.
Status RefuseUnknownFigure(const Status& error);

// Adds the terms weights, kv, activations, needed, memory and room of one GPU.
void AddServingMemory(Answer& answer, const Hardware& gpu, const ModelShape& shape,
                      const Serving& serving, const MemoryNeed& need, bool pipelined = false);

// Returns a table with the time of each phase.
Grid StepPhaseGrid(const StepTime& step);

// Returns a note that says how much slower measured steps were than the sheet's figures suggest.
std::string ServingSheetNote();

std::vector<Topic> ServingMemoryTopics();  // kv, fits
std::vector<Topic> ServingRuleTopics();    // decode-rule, serving-price
std::vector<Topic> ServePlanTopics();      // plan serve

}  // namespace assay::predict
