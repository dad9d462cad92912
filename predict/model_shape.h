// Shapes of language models, and the quantities that follow from the shape alone: parameters, FLOPs
// and bytes per token. Symbols in comments are those of docs/concepts/predictions.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay::predict {

// A decoder-only transformer, from a row of data/models.csv.
struct ModelShape {
  std::string name;
  // "gpt2": learned positions, biases, LayerNorm with bias, two MLP projections. "llama": RMSNorm,
  // three MLP projections (SwiGLU or GeGLU), rotary positions.
  std::string kind = "llama";
  int64_t layers = 0;           // L
  int64_t d = 0;                // d, width of the residual stream
  int64_t heads = 0;            // h, query heads
  int64_t kv_heads = 0;         // g, heads of the KV cache
  int64_t head_dim = 0;         // e; not always d / h
  int64_t ff = 0;               // f, width of the dense MLP; 0 if every layer has experts
  int64_t vocab = 0;            // V
  int64_t positions = 0;        // P, longest context
  bool tied = false;            // One table embeds and is the head.
  bool attention_bias = false;  // Of the projections to Q, K and V.
  bool qk_norm = false;
  int64_t norms = 2;           // RMSNorms per layer, besides qk_norm.
  int64_t experts = 0;         // Per layer; 0: a dense model.
  int64_t active_experts = 0;  // Per token.
  int64_t expert_ff = 0;
  int64_t local_layers = 0;  // Layers that attend to the last `window` tokens only.
  int64_t window = 0;
  int64_t parameters = 0;  // As published.
  std::string source;      // Of the shape and the count.
};

// Returns the total number of parameters.
int64_t CountParameters(const ModelShape& shape);

// Returns the number of parameters that one token uses. These are all parameters except those of
// the experts to which the token is not routed.
int64_t CountActiveParameters(const ModelShape& shape);

// Returns N_mm, the number of parameters that are used in matrix products: L (d h e + 2 d g e + h e
// d + (3|2) d f) + V d. Excludes the embedding's lookup, positions, norms and biases. If
// `active_only`, counts only the experts to which a token is routed (and the router).
int64_t MultiplyingParameters(const ModelShape& shape, bool active_only = true);

// Returns the number of weights that a decode step for `tokens` tokens reads. This includes all
// dense weights and those of the experts to which at least one token is routed. If tokens choose
// experts evenly and independently, the expected number of such experts is experts x (1 - (1 -
// active/experts)^tokens).
double ReadParameters(const ModelShape& shape, double tokens);

// Returns the bytes of keys and values that the cache holds per token: 2 L g e elements of `bytes`
// each. Each of `ranks` tensor-parallel ranks holds ceil(g / ranks) heads. Counts all layers as
// layers without a window; see KvBytes().
double KvBytesPerToken(const ModelShape& shape, double bytes, int64_t ranks = 1);

// Returns the bytes that the KV cache of one sequence of `context` tokens takes on one rank. Layers
// with a window hold at most `window` tokens.
double KvBytes(const ModelShape& shape, double context, double bytes, int64_t ranks = 1);

// Returns the FLOPs of attention (Q K' and P V) for one new token at `context` tokens: 4 h e c per
// layer. Layers with a window attend to at most `window` tokens.
double AttentionFlops(const ModelShape& shape, double context);

// Returns the FLOPs of attention over a prompt of `tokens` tokens: 2 L h e T^2 if causal, else 4 L
// h e T^2. Layers with a window need less.
double PromptAttentionFlops(const ModelShape& shape, double tokens, bool causal = true);

// Returns all shapes, in the order of data/models.csv.
const std::vector<ModelShape>& ModelShapes();

// Returns the shape with this name, or an error with the nearest names if there is none.
Result<const ModelShape*> FindModel(const std::string& name);

// Returns an error that names the first invalid field if the shape is impossible.
Status CheckShape(const ModelShape& shape);

}  // namespace assay::predict
