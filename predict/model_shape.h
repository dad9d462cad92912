// Shapes of language models, and quantities that follow from the shape alone, such as the number of
// parameters. docs/concepts/predictions.md defines the symbols used in comments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay::predict {

// A decoder-only transformer, from a row of data/models.csv.
struct ModelShape {
  std::string name;
  // The architecture family. "gpt2" has learned positions, biases, LayerNorm with bias and two MLP
  // projections. "llama" has rotary positions, RMSNorm and three MLP projections (SwiGLU or GeGLU).
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

// Returns the number of parameters used per token. For a mixture of experts, excludes the experts
// that the token is not routed to.
int64_t CountActiveParameters(const ModelShape& shape);

// Returns N_mm, the number of parameters used in matrix products. Excludes embedding lookups,
// positions, norms, biases and, if `active_only` is true, the experts that a token does not use.
int64_t MultiplyingParameters(const ModelShape& shape, bool active_only = true);

// Returns the number of weights read in a decode step for `tokens` tokens. For a mixture of
// experts, counts only the experts that at least one token is routed to. Assumes that tokens choose
// experts evenly and independently.
double ReadParameters(const ModelShape& shape, double tokens);

// Returns the size of the KV cache, in bytes per token, on each of `ranks` tensor-parallel GPUs.
// `bytes` is the size of one element. Ignores sliding windows, unlike KvBytes().
double KvBytesPerToken(const ModelShape& shape, double bytes, int64_t ranks = 1);

// Returns the size in bytes of the KV cache for a sequence of `context` tokens on each of `ranks`
// tensor-parallel GPUs. Layers with a sliding window keep at most `window` tokens.
double KvBytes(const ModelShape& shape, double context, double bytes, int64_t ranks = 1);

// Returns the attention FLOPs for one new token with a context of `context` tokens. Layers with a
// sliding window attend to at most `window` tokens.
double AttentionFlops(const ModelShape& shape, double context);

// Returns the attention FLOPs for a prompt of `tokens` tokens. In layers without a sliding window,
// these grow with the square of `tokens`, and a causal mask halves them.
double PromptAttentionFlops(const ModelShape& shape, double tokens, bool causal = true);

// Returns all shapes, in the order of data/models.csv.
const std::vector<ModelShape>& ModelShapes();

// Returns the shape with this name, or an error with the nearest names if there is none.
Result<const ModelShape*> FindModel(const std::string& name);

// Returns an error that names the first invalid field if the shape is impossible.
Status CheckShape(const ModelShape& shape);

}  // namespace assay::predict
