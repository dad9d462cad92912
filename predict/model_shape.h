// Shapes of language models, and what follows from a shape alone: parameters, FLOPs and bytes per
// token. Symbols in comments are those of docs/concepts/predictions.md.
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

// Returns the number of parameters, from the shape.
int64_t CountParameters(const ModelShape& shape);

// Returns the parameters that a token uses: all but those of the experts that it is not sent to.
int64_t CountActiveParameters(const ModelShape& shape);

// Returns N_mm, the parameters that multiply: L (d h e + 2 d g e + h e d + (3|2) d f) + V d. Leaves
// out the embedding's lookup, positions, norms and biases. If `active_only`, counts only the
// experts that a token is sent to (and the router).
int64_t MultiplyingParameters(const ModelShape& shape, bool active_only = true);

// Returns the weights of the blocks that are read to decode for `tokens` tokens: all dense ones,
// and those of the distinct experts expected if tokens choose experts evenly and independently,
// experts x (1 - (1 - active/experts)^tokens).
double ReadParameters(const ModelShape& shape, double tokens);

// Returns the bytes of keys and values that the cache holds per token, 2 L g e x `bytes` each.
// With `ranks` tensor-parallel ranks each holds ceil(g / ranks) heads. Counts all layers as full;
// see KvBytes().
double KvBytesPerToken(const ModelShape& shape, double bytes, int64_t ranks = 1);

// Returns the bytes of KV cache of one sequence of `context` tokens on one rank. Layers with a
// window hold at most the window.
double KvBytes(const ModelShape& shape, double context, double bytes, int64_t ranks = 1);

// Returns FLOPs of attention (Q K' and P V) for one new token at `context` tokens: 4 h e c per
// layer, with windows as in KvBytes().
double AttentionFlops(const ModelShape& shape, double context);

// Returns FLOPs of attention over a prompt of `tokens`: causal 2 L h e T^2, full 4 L h e T^2. With
// windows, less.
double PromptAttentionFlops(const ModelShape& shape, double tokens, bool causal = true);

// Returns all shapes, in the order of data/models.csv.
const std::vector<ModelShape>& ModelShapes();

// Returns the shape with this name. Returns an error with the nearest names if there is none.
Result<const ModelShape*> FindModel(const std::string& name);

// Returns an error that names the first field of an impossible shape.
Status CheckShape(const ModelShape& shape);

}  // namespace assay::predict
