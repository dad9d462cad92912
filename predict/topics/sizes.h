// Functions that several topics share, mainly for the input that gives the size of a model.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "predict/topic.h"
#include "predict/training.h"

namespace assay::predict {

struct ModelSize {
  double parameters = 0;              // N
  double active = 0;                  // N of the experts that a token is sent to, and all else.
  const ModelShape* shape = nullptr;  // Null if only the number is known.
};

// Returns the inputs "model" and "parameters".
std::vector<Input> SizeInputs();

// Reads the inputs of SizeInputs(). Returns an error unless exactly one of them is given.
Result<ModelSize> ModelSizeOf(const Arguments& arguments);

// Returns the GPU's peak rate for a type, or an error about the input "peak" if it is unknown.
Result<Figure> RequiredPeak(const Hardware& gpu, const std::string& dtype);

// Converts an error about unknown hardware into one about `input`, which lets the user supply the
// missing figure.
Status AsRefusal(const std::string& input, const Status& error);

// Appends `more` to `inputs`.
void AppendInputs(std::vector<Input>& inputs, std::vector<Input> more);

// Returns the input "recompute". RecomputeOf() returns the recomputation that it selects.
Input RecomputeInput();
Recompute RecomputeOf(const Arguments& arguments);

}  // namespace assay::predict
