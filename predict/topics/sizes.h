// The size of a model, as several topics ask for it: by name, or as a number of parameters.
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

// The inputs "model" and "parameters".
std::vector<Input> SizeInputs();

// Reads them. Returns an error unless exactly one is given.
Result<ModelSize> ModelSizeOf(const Arguments& arguments);

// Returns the dense peak, or a refusal of the input "peak" that says why there is no answer.
Result<Figure> RequiredPeak(const Hardware& gpu, const std::string& dtype);

// Turns an error about unknown hardware into a refusal of the input that would give it.
Status AsRefusal(const std::string& input, const Status& error);

// Appends `more` to `inputs`.
void AppendInputs(std::vector<Input>& inputs, std::vector<Input> more);

// The recomputation that the input "recompute" names.
Input RecomputeInput();
Recompute RecomputeOf(const Arguments& arguments);

}  // namespace assay::predict
