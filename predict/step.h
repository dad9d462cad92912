// Estimates the times of a language model's decode and prefill steps, and the memory needed to
// serve it. docs/concepts/predictions.md defines the symbols used in comments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "predict/cost.h"
#include "predict/hardware.h"
#include "predict/model_shape.h"

namespace assay::predict {

// The time that each kernel launch adds to a step, in seconds, measured on H200 SXM. kGraphLaunch
// applies to kernels in a CUDA graph, and kStreamLaunch to kernels launched on a stream.
constexpr double kGraphLaunch = 0.6e-6;
constexpr double kStreamLaunch = 2.5e-6;

// The way in which a model is served.
struct Serving {
  int64_t tp = 1;                // p, tensor-parallel GPUs of one node; must divide the heads.
  std::string weights = "bf16";  // "bf16", "fp16", "fp8", "int8" or "int4".
  std::string kv = "bf16";       // Type of the elements of the KV cache.
  double launch = kGraphLaunch;  // Seconds per kernel.
};

// Returns the bytes per weight in the transformer blocks, such as 2 for "bf16". For "int4", this is
// 0.53125, because every 128 weights share a 16-bit scale and a 16-bit zero point.
double BlockWeightBytes(const std::string& dtype);

// Returns the bytes per weight in the embedding table and the output head, which stay in bf16 when
// the blocks are quantized, as in GPTQ, AWQ and FP8 checkpoints.
double TableWeightBytes(const std::string& dtype);

// Returns the bytes of all weights.
double WeightBytes(const ModelShape& shape, const std::string& dtype);

// Returns the type in which the GPU multiplies weights of the given type. For example, fp8 weights
// are multiplied in fp8 if the GPU has a peak for fp8, and in a 16-bit type otherwise.
std::string ArithmeticOf(const Hardware& gpu, const std::string& weights);

// Returns a copy of `gpu` with the bandwidth of the link between `tp` GPUs. If the spec sheet lists
// no link for that many GPUs, assumes PCI Express x16 of the generation in the sheet, and notes
// this in the source. If the generation is unknown, leaves the link unchanged.
Hardware WithLink(Hardware gpu, int64_t tp);

// One phase of a step, summed over the layers, on one GPU.
struct StepPhase {
  std::string name;  // "projections", "attention", "output", "mlp" or "experts", "head".
  double flops = 0;
  double bytes = 0;  // Read from memory; in prefill also activations, read and written.
  double compute_seconds = 0;
  double memory_seconds = 0;
  double seconds = 0;  // Sum over its products of the larger of both.
};

// The time of one step on `tp` GPUs. All numbers are of one GPU.
struct StepTime {
  std::vector<StepPhase> phases;
  double flops = 0;
  double weight_bytes = 0;  // Read in the step: N_mm w / p, and of experts those that are chosen.
  double kv_bytes = 0;      // Read in the step.
  double compute_seconds = 0;  // Sum of F / peak.
  double weight_seconds = 0;   // Time to read the weights alone.
  double kv_seconds = 0;       // Time to read the KV cache alone.
  double busy_seconds = 0;     // Sum over the phases of max(compute, memory).
  double nodes = 0;            // Kernels of the step.
  double launch_seconds = 0;
  AllReduceTime all_reduce;  // One of them; there are 2 L.
  double communication_seconds = 0;
  double seconds = 0;  // busy + launch + communication.
  Figure peak;         // Of the products.
  Figure bandwidth;
  double efficiency = 1;  // Of the products, weighted by time: ideal time / estimated time.
  std::string source;     // Of the product that takes longest.
};

// Estimates the time of one decode step for `batch` sequences, each with a context of `context`
// tokens, including the new token. `tokens` is the number of tokens computed per sequence: normally
// 1, but K + 1 when speculative decoding verifies K proposed tokens. The KV cache is read once for
// all of them. Assumes that activations stay in the L2 cache. Returns an error if a required figure
// of the GPU is unknown.
Result<StepTime> DecodeStep(const Hardware& gpu, const ModelShape& shape, const Serving& serving,
                            double batch, double context, double tokens = 1);

// Estimates the time to prefill one prompt of `tokens` tokens. If `chunk` is greater than 0, the
// prompt is processed in chunks of that many tokens, each of which reads the weights and the cache
// of all earlier tokens. The output head is computed only for the last token of each chunk.
Result<StepTime> PrefillStep(const Hardware& gpu, const ModelShape& shape, const Serving& serving,
                             double tokens, double chunk = 0);

// The bytes that one GPU must hold: weights/(p pp) + KV + activations + reserve.
struct MemoryNeed {
  double weights = 0;
  double kv = 0;
  double activations = 0;
  double reserve = 0;  // CUDA context, NCCL and the allocator: 1.5 GiB.
  double total = 0;
};

// Share of the GPU's memory that serving may use.
constexpr double kUsableMemory = 0.92;

// Returns the memory needed on each GPU to serve `batch` sequences of `context` tokens. `in_flight`
// is the largest number of tokens per prefill step, that is, the chunk size.
MemoryNeed ServingMemory(const ModelShape& shape, const Serving& serving, double batch,
                         double context, double in_flight, int64_t pp = 1);

// Returns the largest number of sequences of `context` tokens that fit in `room` bytes per GPU, or
// 0 if not even one fits.
double LargestBatch(const ModelShape& shape, const Serving& serving, double context,
                    double in_flight, double room, int64_t pp = 1);

// Returns the longest context, up to the model's number of positions, at which `batch` sequences
// fit in `room` bytes per GPU. Returns 0 if no context fits.
double LongestContext(const ModelShape& shape, const Serving& serving, double batch,
                      double in_flight, double room, int64_t pp = 1);

}  // namespace assay::predict
