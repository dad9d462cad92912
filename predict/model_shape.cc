#include "predict/model_shape.h"

#include <algorithm>
#include <cmath>

#include "common/text.h"
#include "predict/embedded.h"
#include "roofline/csv.h"

namespace assay::predict {
namespace {

int64_t Whole(const CsvRow& row, const char* column) {
  return static_cast<int64_t>(CsvNumber(row, column).value_or(0));
}

ModelShape ShapeOf(const CsvRow& row) {
  ModelShape shape;
  shape.name = row.at("name");
  shape.kind = row.at("kind");
  shape.layers = Whole(row, "layers");
  shape.d = Whole(row, "d");
  shape.heads = Whole(row, "heads");
  shape.kv_heads = Whole(row, "kv_heads");
  shape.head_dim = Whole(row, "head_dim");
  shape.ff = Whole(row, "ff");
  shape.vocab = Whole(row, "vocab");
  shape.positions = Whole(row, "positions");
  shape.tied = Whole(row, "tied") != 0;
  shape.attention_bias = Whole(row, "attention_bias") != 0;
  shape.qk_norm = Whole(row, "qk_norm") != 0;
  shape.norms = Whole(row, "norms");
  shape.experts = Whole(row, "experts");
  shape.active_experts = Whole(row, "active_experts");
  shape.expert_ff = Whole(row, "expert_ff");
  shape.local_layers = Whole(row, "local_layers");
  shape.window = Whole(row, "window");
  shape.parameters = Whole(row, "parameters");
  shape.source = row.at("source");
  return shape;
}

// Returns the number of weights of the Q, K, V and output projections of attention in one layer.
int64_t AttentionWeights(const ModelShape& shape) {
  return 2 * shape.d * shape.heads * shape.head_dim + 2 * shape.d * shape.kv_heads * shape.head_dim;
}

// Returns the number of weights in one layer that are used in matrix products. For a mixture of
// experts, counts only `experts` of the experts.
int64_t LayerWeights(const ModelShape& shape, int64_t experts) {
  const int64_t projections = shape.kind == "gpt2" ? 2 : 3;
  return AttentionWeights(shape) + projections * shape.d * shape.ff + shape.d * shape.experts +
         3 * experts * shape.d * shape.expert_ff;
}

// Returns the number of parameters of one layer outside of its matrix products: norms and biases.
int64_t LayerRest(const ModelShape& shape) {
  if (shape.kind == "gpt2") {
    // Biases of Q, K, V, output and both projections; two LayerNorms with bias.
    return 4 * shape.d + shape.ff + shape.d + 4 * shape.d;
  }
  return shape.norms * shape.d + (shape.qk_norm ? 2 * shape.head_dim : 0) +
         (shape.attention_bias ? (shape.heads + 2 * shape.kv_heads) * shape.head_dim : 0);
}

int64_t Count(const ModelShape& shape, int64_t experts) {
  const int64_t layers = shape.layers * (LayerWeights(shape, experts) + LayerRest(shape));
  const int64_t tables = (shape.tied ? 1 : 2) * shape.vocab * shape.d;
  // gpt2's last LayerNorm has a bias.
  const int64_t last = shape.kind == "gpt2" ? 2 * shape.d + shape.positions * shape.d : shape.d;
  return layers + tables + last;
}

// Returns the sum, over all layers, of the number of tokens to which a new token attends.
double AttendedTokens(const ModelShape& shape, double context) {
  const auto local = static_cast<double>(shape.local_layers);
  const double near = std::min(context, static_cast<double>(shape.window));
  return (static_cast<double>(shape.layers) - local) * context + local * near;
}

}  // namespace

int64_t CountParameters(const ModelShape& shape) { return Count(shape, shape.experts); }

int64_t CountActiveParameters(const ModelShape& shape) {
  return Count(shape, shape.active_experts);
}

int64_t MultiplyingParameters(const ModelShape& shape, bool active_only) {
  const int64_t experts = active_only ? shape.active_experts : shape.experts;
  return shape.layers * LayerWeights(shape, experts) + shape.vocab * shape.d;
}

double ReadParameters(const ModelShape& shape, double tokens) {
  const auto dense =
      static_cast<double>(shape.layers * LayerWeights(shape, 0) + shape.vocab * shape.d);
  if (shape.experts == 0) return dense;
  const auto experts = static_cast<double>(shape.experts);
  const double chosen = static_cast<double>(shape.active_experts) / experts;
  const double distinct = experts * (1 - std::pow(1 - chosen, tokens));
  return dense + static_cast<double>(shape.layers * 3 * shape.d * shape.expert_ff) * distinct;
}

double KvBytesPerToken(const ModelShape& shape, double bytes, int64_t ranks) {
  const int64_t heads = (shape.kv_heads + ranks - 1) / ranks;
  return 2.0 * static_cast<double>(shape.layers * heads * shape.head_dim) * bytes;
}

double KvBytes(const ModelShape& shape, double context, double bytes, int64_t ranks) {
  const double per_layer = KvBytesPerToken(shape, bytes, ranks) / static_cast<double>(shape.layers);
  return per_layer * AttendedTokens(shape, context);
}

double AttentionFlops(const ModelShape& shape, double context) {
  return 4.0 * static_cast<double>(shape.heads * shape.head_dim) * AttendedTokens(shape, context);
}

double PromptAttentionFlops(const ModelShape& shape, double tokens, bool causal) {
  const auto local = static_cast<double>(shape.local_layers);
  const double whole = static_cast<double>(shape.layers) - local;
  // The number of query-key pairs. In a local layer, which has sliding-window attention, each query
  // attends only to the last `window` tokens.
  const double window = std::min(tokens, static_cast<double>(shape.window));
  const double full_pairs = causal ? tokens * tokens / 2 : tokens * tokens;
  const double local_pairs =
      (causal ? window * window / 2 : window * window) + (tokens - window) * window;
  return 4.0 * static_cast<double>(shape.heads * shape.head_dim) *
         (whole * full_pairs + local * local_pairs);
}

const std::vector<ModelShape>& ModelShapes() {
  static const std::vector<ModelShape> shapes = [] {
    std::vector<ModelShape> all;
    for (const CsvRow& row : ParseCsv(kModelsCsv)) all.push_back(ShapeOf(row));
    return all;
  }();
  return shapes;
}

Result<const ModelShape*> FindModel(const std::string& name) {
  std::vector<std::string> names;
  for (const ModelShape& shape : ModelShapes()) {
    if (shape.name == Lower(name)) return &shape;
    names.push_back(shape.name);
  }
  return NotFound("unknown model " + Quote(name))
      .WithHint("\"assay model list\" shows all of them; " + Suggest(Lower(name), names));
}

Status CheckShape(const ModelShape& shape) {
  const struct {
    const char* field;
    int64_t value;
    int64_t least;
  } bounds[] = {{"layers", shape.layers, 1},      {"d", shape.d, 1},
                {"heads", shape.heads, 1},        {"kv_heads", shape.kv_heads, 1},
                {"head_dim", shape.head_dim, 1},  {"ff", shape.ff, shape.experts > 0 ? 0 : 1},
                {"vocab", shape.vocab, 1},        {"positions", shape.positions, 1},
                {"experts", shape.experts, 0},    {"active_experts", shape.active_experts, 0},
                {"expert_ff", shape.expert_ff, 0}};
  constexpr int64_t kMost = 10'000'000;
  for (const auto& [field, value, least] : bounds) {
    if (value < least || value > kMost) {
      return InvalidArgument(std::string(field) + " must be from " + std::to_string(least) +
                             " to " + std::to_string(kMost) + ", not " + std::to_string(value));
    }
  }
  if (shape.heads % shape.kv_heads != 0) {
    return InvalidArgument("heads (" + std::to_string(shape.heads) +
                           ") must be a multiple of kv_heads (" + std::to_string(shape.kv_heads) +
                           ")");
  }
  if (shape.experts > 0 &&
      (shape.active_experts < 1 || shape.active_experts > shape.experts || shape.expert_ff < 1)) {
    return InvalidArgument(
        "with experts, active_experts must be from 1 to experts, and expert_ff "
        "at least 1");
  }
  // Computed in floating point, because the product of such sizes may overflow an integer.
  const double parameters =
      static_cast<double>(shape.layers) * static_cast<double>(shape.d) *
          (4.0 * static_cast<double>(shape.heads) * static_cast<double>(shape.head_dim) +
           3.0 * static_cast<double>(shape.ff) +
           3.0 * static_cast<double>(shape.experts) * static_cast<double>(shape.expert_ff)) +
      2.0 * static_cast<double>(shape.vocab) * static_cast<double>(shape.d);
  constexpr double kMostParameters = 1e15;
  if (parameters > kMostParameters) {
    return InvalidArgument("the sizes together make more than 1e15 parameters");
  }
  return Status::Ok();
}

}  // namespace assay::predict
