// Reads the shape of a model from the file that its authors publish.
#pragma once

#include <string>

#include "common/status.h"
#include "predict/model_shape.h"

namespace assay::cli {

// Reads a model's config.json in the format of Hugging Face's transformers library. Supports the
// architectures gpt2, llama, mistral, mixtral, qwen2, qwen3, qwen3_moe and gemma3. The model is
// named after the file, or after its folder if the file is named config.json. Errors name the file
// and the field.
Result<predict::ModelShape> ReadModelFile(const std::string& path);

}  // namespace assay::cli
