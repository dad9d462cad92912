#include "cli/commands/model_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "common/file.h"
#include "common/text.h"

namespace assay::cli {
namespace {

using predict::ModelShape;

constexpr size_t kMostBytes = 1 << 20;

// Reads fields of a config.json. Remembers the first error.
class ConfigReader {
 public:
  explicit ConfigReader(const nlohmann::json& config) : config_(config) {}

  // Returns the value of a field whose name varies between models. Uses the first of `names` that
  // is in the file. If there is none, returns `fallback`. If there is no fallback either, records
  // an error and returns 0.
  int64_t Number(const std::vector<const char*>& names,
                 std::optional<int64_t> fallback = std::nullopt) {
    for (const char* name : names) {
      const auto found = config_.find(name);
      if (found == config_.end() || found->is_null()) continue;
      const double value = found->is_number_integer() ? found->get<double>() : -1;
      constexpr double kMost = 1e12;
      if (value < 0 || value > kMost) {
        Note(std::string(name) + " must be a whole number, at least 0");
        return 0;
      }
      return static_cast<int64_t>(value);
    }
    if (!fallback) Note(std::string("the field ") + names.front() + " is missing");
    return fallback.value_or(0);
  }

  bool Flag(const char* name, bool fallback) {
    const auto found = config_.find(name);
    if (found == config_.end() || found->is_null()) return fallback;
    if (found->is_boolean()) return found->get<bool>();
    Note(std::string(name) + " must be true or false");
    return fallback;
  }

  const Status& status() const { return status_; }

 private:
  void Note(const std::string& problem) {
    if (status_.ok()) status_ = InvalidArgument(problem);
  }

  const nlohmann::json& config_;
  Status status_;
};

Result<std::string> TypeOf(const nlohmann::json& config) {
  static const std::vector<std::string> kKnown = {"gpt2",  "llama", "mistral",   "mixtral",
                                                  "qwen2", "qwen3", "qwen3_moe", "gemma3_text"};
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) {
    return InvalidArgument("the field model_type is missing");
  }
  const auto name = type->get<std::string>();
  if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) {
    return InvalidArgument("model_type " + Quote(name) + " is not known")
        .WithHint("known: " + Join(kKnown) +
                  "; a model with the same layers may be given under one of these names");
  }
  return name;
}

ModelShape Gpt2Shape(ConfigReader& reader) {
  ModelShape shape;
  shape.kind = "gpt2";
  shape.layers = reader.Number({"n_layer"});
  shape.d = reader.Number({"n_embd"});
  shape.heads = shape.kv_heads = reader.Number({"n_head"});
  shape.head_dim = shape.heads > 0 ? shape.d / shape.heads : 0;
  shape.ff = reader.Number({"n_inner"}, 4 * shape.d);
  shape.vocab = reader.Number({"vocab_size"});
  shape.positions = reader.Number({"n_positions", "n_ctx"});
  shape.tied = true;
  shape.attention_bias = true;
  return shape;
}

ModelShape LlamaShape(ConfigReader& reader, const std::string& type) {
  ModelShape shape;
  shape.layers = reader.Number({"num_hidden_layers"});
  shape.d = reader.Number({"hidden_size"});
  // Published files of Gemma 3 leave out what transformers has as default.
  const bool gemma = type == "gemma3_text";
  const auto or_gemmas = [&](int64_t value) {
    return gemma ? std::optional<int64_t>(value) : std::nullopt;
  };
  shape.heads = reader.Number({"num_attention_heads"}, or_gemmas(8));
  shape.kv_heads = reader.Number({"num_key_value_heads"}, gemma ? 4 : shape.heads);
  const int64_t quotient = shape.heads > 0 ? shape.d / shape.heads : 0;
  shape.head_dim = reader.Number({"head_dim"}, gemma ? 256 : quotient);
  shape.vocab = reader.Number({"vocab_size"}, or_gemmas(262208));
  shape.positions = reader.Number({"max_position_embeddings"}, or_gemmas(131072));
  shape.tied = reader.Flag("tie_word_embeddings", gemma);
  // Qwen2 has these biases without saying so.
  shape.attention_bias = reader.Flag("attention_bias", type == "qwen2");
  shape.qk_norm = gemma || type.starts_with("qwen3");
  shape.norms = gemma ? 4 : 2;
  shape.experts = reader.Number({"num_local_experts", "num_experts"}, 0);
  if (shape.experts > 0) {
    shape.active_experts = reader.Number({"num_experts_per_tok"});
    shape.expert_ff = reader.Number({"moe_intermediate_size", "intermediate_size"});
  } else {
    shape.ff = reader.Number({"intermediate_size"});
  }
  if (gemma) {
    // In Gemma 3, every sixth layer attends to the whole context, while the others use a sliding
    // window.
    const int64_t pattern = reader.Number({"sliding_window_pattern"}, 6);
    shape.window = reader.Number({"sliding_window"}, 1024);
    if (shape.window > 0 && pattern > 0) shape.local_layers = shape.layers - shape.layers / pattern;
  }
  if (type == "mistral" || type == "mixtral") {
    shape.window = reader.Number({"sliding_window"}, 0);
    if (shape.window > 0) shape.local_layers = shape.layers;
  }
  return shape;
}

std::string NameOf(const std::string& path) {
  const std::filesystem::path file(path);
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path().filename();
  return file.filename() == "config.json" && !folder.empty() ? folder.string()
                                                             : file.stem().string();
}

Result<ModelShape> ShapeIn(const std::string& text) {
  nlohmann::json config = nlohmann::json::parse(text, nullptr, false);
  if (!config.is_object()) return InvalidArgument("the file is not a JSON object");
  // Models with vision store the fields of the language model in a nested object.
  if (const auto inner = config.find("text_config"); inner != config.end() && inner->is_object()) {
    const nlohmann::json language = *inner;
    config = language;
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string type, TypeOf(config));
  ConfigReader reader(config);
  ModelShape shape = type == "gpt2" ? Gpt2Shape(reader) : LlamaShape(reader, type);
  ASSAY_RETURN_IF_ERROR(reader.status());
  ASSAY_RETURN_IF_ERROR(CheckShape(shape));
  return shape;
}

}  // namespace

Result<ModelShape> ReadModelFile(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMostBytes);
  if (!text.ok()) {
    return InvalidArgument("--model-file: " + text.status().message())
        .WithHint("name a model's config.json");
  }
  Result<ModelShape> shape = ShapeIn(*text);
  if (!shape.ok()) return shape.status().WithContext(path);
  shape->name = NameOf(path);
  shape->source = path;
  shape->parameters = predict::CountParameters(*shape);
  return shape;
}

}  // namespace assay::cli
