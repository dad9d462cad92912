// The costs of training: memory, arithmetic, communication, and the bubble of a pipeline. Symbols
// in comments are those of docs/concepts/predictions.md.
#pragma once

#include "predict/model_shape.h"

namespace assay::predict {

// The division of a model over GPUs.
struct Parallelism {
  double tp = 1;  // p, tensor-parallel ranks
  double pp = 1;  // pp, pipeline stages
  double dp = 1;  // n, data-parallel ranks
  int zero = 0;   // Stage of ZeRO: what the data-parallel ranks share. 3 is FSDP.
};

enum class Precision {
  kMixed,  // 2-byte weights and gradients; fp32 master copy, momentum and variance.
  kFp32,   // All in fp32, with Adam.
};

// The memory per GPU, in bytes, that is in use during the whole training.
struct TrainingState {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double Total() const { return weights + gradients + optimizer; }
};

// Returns the state for `parameters` parameters of a model, which takes 16 bytes per parameter in
// both precisions. ZeRO-1 divides the optimizer's part by n, ZeRO-2 also that of the gradients, and
// ZeRO-3 also that of the weights (Rajbhandari 2020). TP and PP divide all parts.
TrainingState TrainingStateOf(double parameters, const Parallelism& parallelism,
                              Precision precision = Precision::kMixed);

enum class Recompute {
  kNone,
  kSelective,  // The attention scores.
  kFull,       // Whole blocks, from their inputs.
};

// The bytes of 16-bit activations per token that one layer keeps for the backward pass.
struct ActivationShape {
  double whole = 0;    // Kept by each tensor-parallel rank, or divided like the sequence.
  double divided = 0;  // Divided over tensor-parallel ranks.
  double input = 0;    // The layer's input, 2 d.
  double heads = 0;    // h
};

// Returns the activations of a GPT block: 10 d and 24 d bytes (Korthikanti 2022).
ActivationShape GptActivations(double d, double heads);

// Returns the activations of the shape's block. With SwiGLU and without dropout, these are 8 d for
// the inputs of norms and projections, and 4 h e + 4 g e + 6 f for Q, K, V, the output of attention
// and the MLP.
ActivationShape ActivationsOf(const ModelShape& shape);

struct ActivationPlan {
  double batch = 1;     // B, sequences per micro-batch
  double sequence = 1;  // T
  double tp = 1;        // p
  bool sequence_parallel = false;
  bool flash = false;  // The attention does not write the scores.
  Recompute recompute = Recompute::kNone;
};

// Returns the bytes of activations per layer and GPU (Korthikanti 2022): B T d (10 + 24/p + 5 h
// T/(p d)). Sequence parallelism divides all terms by p. If the scores are not kept, the last term
// is 0. With full recomputation, the result is 2 B T d.
double ActivationBytesPerLayer(const ActivationShape& shape, const ActivationPlan& plan);

// The FLOPs per token of training, by each definition in use. The definitions differ in which
// parameters they count, and in whether they count the half of attention that a causal mask
// removes.
struct TokenFlops {
  double forward = 0;   // 2 N_mm + 2 L h e T
  double mfu = 0;       // 3 x forward
  double mfu_full = 0;  // 6 N + 12 L h e T (PaLM)
  double mfu_6n = 0;    // 6 N
  double hfu = 0;       // mfu, with recomputed FLOPs
  double llm_c = 0;     // 6 N + 6 L d T
  double nanogpt = 0;   // 6 (N - P d) + 12 L h e T
  double megatron = 0;  // mfu, with the vocabulary padded to a multiple of 128
  double foundry = 0;   // 6 N + 12 L d T
};

// Counts only active experts in N.
TokenFlops TrainingFlops(const ModelShape& shape, double sequence, Recompute recompute);
// Returns the FLOPs for a model of which only the size is known. `width` is h e, which usually
// equals d. If it is 0, attention is not counted.
TokenFlops TrainingFlops(double parameters, double layers, double width, double sequence,
                         Recompute recompute);

// Returns the fraction of a step in which pipeline stages wait for each other: (pp - 1)/(v m + pp -
// 1) for m micro-batches with v chunks of layers per stage. It is the same for GPipe and 1F1B
// (Narayanan 2021).
double BubbleShare(double stages, double micro_batches, double chunks = 1);

// Returns the smallest number of micro-batches at which the bubble is strictly below `share`.
double LeastMicroBatches(double stages, double share, double chunks = 1);

// Returns the bytes that each of n data-parallel ranks sends per step for `bytes` of gradients (and
// as many bytes of weights). Up to ZeRO-2, this is 2 (n-1)/n times `bytes`. ZeRO-3 gathers the
// weights twice per micro-batch and reduces the gradients once, which is (2 m + 1) (n-1)/n times
// `bytes`.
double DataParallelBytes(double bytes, double ranks, int zero, double micro_batches = 1);

}  // namespace assay::predict
