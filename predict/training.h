// Costs of training a model: memory, arithmetic, communication, and the bubble (idle time) of a
// pipeline. docs/concepts/predictions.md defines the symbols used in comments.
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

// Returns the memory needed for a model's weights, gradients and optimizer state: 16 bytes per
// parameter in either precision. Tensor and pipeline parallelism divide all of it. Data parallelism
// divides a part of it, depending on the ZeRO level (Rajbhandari 2020):
//   - ZeRO-1: the optimizer state.
//   - ZeRO-2: the optimizer state and the gradients.
//   - ZeRO-3: everything.
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

// Returns the bytes of activations per token that a block of this shape keeps for the backward
// pass. For models of kind "llama", assumes SwiGLU and no dropout.
ActivationShape ActivationsOf(const ModelShape& shape);

struct ActivationPlan {
  double batch = 1;     // B, sequences per micro-batch
  double sequence = 1;  // T
  double tp = 1;        // p
  bool sequence_parallel = false;
  bool flash = false;  // The attention does not write the scores.
  Recompute recompute = Recompute::kNone;
};

// Returns the bytes of activations that each GPU keeps per layer for the backward pass (Korthikanti
// 2022). With sequence parallelism, all of them are divided across the tensor-parallel GPUs. With
// full recomputation, only the layer's inputs are kept.
double ActivationBytesPerLayer(const ActivationShape& shape, const ActivationPlan& plan);

// The training FLOPs per token, by each common definition. The definitions differ in which
// parameters they count and in whether they include the half of attention that a causal mask
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

// Returns the FLOPs for a model of this shape. Counts only active experts in N.
TokenFlops TrainingFlops(const ModelShape& shape, double sequence, Recompute recompute);
// Returns the training FLOPs per token of a model when only its size is known. `width` is the total
// width of all attention heads, which usually equals the hidden size. If `width` is 0, ignores
// attention.
TokenFlops TrainingFlops(double parameters, double layers, double width, double sequence,
                         Recompute recompute);

// Returns the bubble: the fraction of a step that pipeline stages spend waiting for each other. The
// GPipe and 1F1B schedules have the same bubble (Narayanan 2021). `chunks` is the number of chunks
// of layers per stage.
double BubbleShare(double stages, double micro_batches, double chunks = 1);

// Returns the smallest number of micro-batches at which the bubble is strictly below `share`.
double LeastMicroBatches(double stages, double share, double chunks = 1);

// Returns the number of bytes that each data-parallel rank sends per step. `bytes` is the size of
// the gradients, which equals that of the weights. With ZeRO-3 (`zero` = 3), the result grows with
// the number of micro-batches, because each of them gathers the weights twice.
double DataParallelBytes(double bytes, double ranks, int zero, double micro_batches = 1);

}  // namespace assay::predict
