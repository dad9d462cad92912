#include "predict/training.h"

#include <algorithm>
#include <cmath>

namespace assay::predict {
namespace {

// The multiple to which Megatron pads the vocabulary by default, with one tensor-parallel rank.
constexpr double kVocabularyMultiple = 128;

double RecomputedFlops(const TokenFlops& flops, double head, double attention,
                       Recompute recompute) {
  if (recompute == Recompute::kFull) return flops.forward - 2 * head;
  return recompute == Recompute::kSelective ? attention : 0;
}

}  // namespace

TrainingState TrainingStateOf(double parameters, const Parallelism& parallelism,
                              Precision precision) {
  const double own = parameters / (parallelism.tp * parallelism.pp);
  const double width = precision == Precision::kMixed ? 2 : 4;
  const auto shared = [&](int from) { return parallelism.zero >= from ? parallelism.dp : 1.0; };
  TrainingState state;
  state.weights = width * own / shared(3);
  state.gradients = width * own / shared(2);
  state.optimizer = (16 - 2 * width) * own / shared(1);
  return state;
}

ActivationShape GptActivations(double d, double heads) { return {10 * d, 24 * d, 2 * d, heads}; }

ActivationShape ActivationsOf(const ModelShape& shape) {
  const auto d = static_cast<double>(shape.d);
  const auto heads = static_cast<double>(shape.heads);
  if (shape.kind == "gpt2") return GptActivations(d, heads);
  const auto head_dim = static_cast<double>(shape.head_dim);
  const auto ff = static_cast<double>(shape.ff) +
                  static_cast<double>(shape.active_experts) * static_cast<double>(shape.expert_ff);
  const double attention = 4 * (heads + static_cast<double>(shape.kv_heads)) * head_dim;
  return {8 * d, attention + 6 * ff, 2 * d, heads};
}

double ActivationBytesPerLayer(const ActivationShape& shape, const ActivationPlan& plan) {
  const double tokens = plan.batch * plan.sequence;
  const double replicas = plan.sequence_parallel ? plan.tp : 1;
  if (plan.recompute == Recompute::kFull) return tokens * shape.input / replicas;
  const bool scores = plan.recompute == Recompute::kNone && !plan.flash;
  return tokens * (shape.whole / replicas + shape.divided / plan.tp +
                   (scores ? 5 * shape.heads * plan.sequence / plan.tp : 0));
}

TokenFlops TrainingFlops(const ModelShape& shape, double sequence, Recompute recompute) {
  const auto d = static_cast<double>(shape.d);
  const auto layers = static_cast<double>(shape.layers);
  const auto multiplying = static_cast<double>(MultiplyingParameters(shape));
  const auto n = static_cast<double>(CountActiveParameters(shape));
  const double causal = PromptAttentionFlops(shape, sequence) / sequence;
  const double full = PromptAttentionFlops(shape, sequence, false) / sequence;
  const double positions = shape.kind == "gpt2" ? static_cast<double>(shape.positions) * d : 0;
  const auto vocab = static_cast<double>(shape.vocab);
  const double padded = std::ceil(vocab / kVocabularyMultiple) * kVocabularyMultiple;
  TokenFlops flops;
  flops.forward = 2 * multiplying + causal;
  flops.mfu = 3 * flops.forward;
  flops.mfu_full = 6 * n + 3 * full;
  flops.mfu_6n = 6 * n;
  flops.hfu = flops.mfu + RecomputedFlops(flops, vocab * d, causal, recompute);
  flops.llm_c = 6 * n + 6 * layers * d * sequence;
  flops.nanogpt = 6 * (n - positions) + 3 * full;
  flops.megatron = flops.mfu + 6 * (padded - vocab) * d;
  flops.foundry = 6 * n + 12 * layers * d * sequence;
  return flops;
}

TokenFlops TrainingFlops(double parameters, double layers, double width, double sequence,
                         Recompute recompute) {
  const double causal = 2 * layers * width * sequence;
  TokenFlops flops;
  flops.forward = 2 * parameters + causal;
  flops.mfu = 3 * flops.forward;
  flops.mfu_6n = 6 * parameters;
  flops.mfu_full = flops.mfu_6n + 6 * causal;
  flops.hfu = flops.mfu + RecomputedFlops(flops, 0, causal, recompute);
  flops.llm_c = flops.mfu;
  flops.nanogpt = flops.mfu_full;
  flops.megatron = flops.mfu;
  flops.foundry = flops.mfu_full;
  return flops;
}

double BubbleShare(double stages, double micro_batches, double chunks) {
  return (stages - 1) / (chunks * micro_batches + stages - 1);
}

double LeastMicroBatches(double stages, double share, double chunks) {
  // With `equal` micro-batches, the bubble is exactly `share`, so return the next larger whole
  // number. If `equal` should be a whole number but rounding left it just below one, the factor
  // corrects this.
  const double equal = (stages - 1) * (1 - share) / share / chunks;
  return std::floor(equal * (1 + 1e-12)) + 1;
}

double DataParallelBytes(double bytes, double ranks, int zero, double micro_batches) {
  return (zero == 3 ? 2 * micro_batches + 1 : 2) * (ranks - 1) / ranks * bytes;
}

}  // namespace assay::predict
