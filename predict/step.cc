#include "predict/step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/numbers.h"
#include "roofline/prediction.h"

namespace assay::predict {
namespace {

constexpr double kServingReserve = 1.5 * 1024 * 1024 * 1024;
constexpr double kStepActivationBytes = 2;  // Activations are bf16 or fp16.

bool HasQuantisedBlocks(const std::string& dtype) { return BytesOf(dtype) < 2; }

double StepDouble(int64_t value) { return static_cast<double>(value); }

// Matrix products of one shape that a step repeats.
struct StepLinearWork {
  double m = 0;
  double n = 0;
  double k = 0;
  double count = 0;
  double weight = 0;  // Bytes per weight.
  // Embedding, head and the router of experts stay in 16 bits if the blocks are quantized.
  bool is_table = false;
};

struct StepLinearPhase {
  std::string name;
  std::vector<StepLinearWork> works;
};

// Returns the matrix products that one GPU computes in a step of `rows` tokens. Only `head_rows` of
// the tokens go through the output head.
std::vector<StepLinearPhase> StepLinears(const ModelShape& shape, const Serving& serving,
                                         double rows, double head_rows) {
  const double p = StepDouble(serving.tp);
  const double layers = StepDouble(shape.layers);
  const double d = StepDouble(shape.d);
  const double e = StepDouble(shape.head_dim);
  const double query = StepDouble(shape.heads) * e / p;
  const double cached = StepDouble((shape.kv_heads + serving.tp - 1) / serving.tp) * e;
  const double weight = BlockWeightBytes(serving.weights);
  const double gates = shape.kind == "gpt2" ? 1 : 2;
  std::vector<StepLinearPhase> phases;
  phases.push_back({"projections", {{rows, query + 2 * cached, d, layers, weight}}});
  phases.push_back({"output", {{rows, d, query, layers, weight}}});
  if (shape.ff > 0) {
    const double f = StepDouble(shape.ff) / p;
    phases.push_back({"mlp", {{rows, gates * f, d, layers, weight}, {rows, d, f, layers, weight}}});
  }
  if (shape.experts > 0) {
    const double experts = StepDouble(shape.experts);
    const double f = StepDouble(shape.expert_ff) / p;
    // The number of experts to which at least one token is routed; see ReadParameters().
    const double distinct = (ReadParameters(shape, rows) - ReadParameters(shape, 0)) /
                            (layers * 3 * d * StepDouble(shape.expert_ff));
    const double each = rows * StepDouble(shape.active_experts) / distinct;
    phases.push_back({"experts",
                      {{rows, experts, d, layers, TableWeightBytes(serving.weights), true},
                       {each, gates * f, d, layers * distinct, weight},
                       {each, d, f, layers * distinct, weight}}});
  }
  phases.push_back(
      {"head",
       {{head_rows, StepDouble(shape.vocab) / p, d, 1, TableWeightBytes(serving.weights), true}}});
  return phases;
}

// A builder of a StepTime. Its functions add something that a step repeats `times` times.
class StepBuilder {
 public:
  StepBuilder(const Hardware& gpu, const ModelShape& shape, const Serving& serving)
      : gpu_(WithLink(gpu, serving.tp)),
        shape_(shape),
        serving_(serving),
        dtype_(ArithmeticOf(gpu, serving.weights)) {}

  // Adds the matrix products. If `activations`, also counts the bytes of their inputs and outputs.
  Status AddLinears(double rows, double head_rows, double times, bool activations) {
    for (const StepLinearPhase& phase : StepLinears(shape_, serving_, rows, head_rows)) {
      for (StepLinearWork work : phase.works) {
        work.count *= times;
        ASSAY_RETURN_IF_ERROR(AddLinear(phase.name, work, activations));
      }
    }
    return Status::Ok();
  }

  Status AddAttention(double flops, double kv_bytes, double other_bytes) {
    ASSAY_ASSIGN_OR_RETURN(const Figure peak, gpu_.Peak(ArithmeticOf(gpu_, "bf16")));
    StepPhase& phase = Phase("attention");
    const double bandwidth = gpu_.memory_bandwidth->value;
    const double compute = flops / peak.value;
    const double memory = (kv_bytes + other_bytes) / bandwidth;
    phase.flops += flops;
    phase.bytes += kv_bytes + other_bytes;
    phase.compute_seconds += compute;
    phase.memory_seconds += memory;
    phase.seconds += std::max(compute, memory);
    step_.kv_bytes += kv_bytes;
    step_.kv_seconds += kv_bytes / bandwidth;
    return Status::Ok();
  }

  void AddElementwise(double bytes) {
    StepPhase& phase = Phase("elementwise");
    phase.bytes += bytes;
    phase.memory_seconds += bytes / gpu_.memory_bandwidth->value;
    phase.seconds = phase.memory_seconds;
  }

  // Adds the launches and the 2 L all-reduces of `times` steps that compute `rows` tokens each.
  Status AddOverhead(double rows, double times) {
    const double layers = StepDouble(shape_.layers);
    const double nodes = 10 * layers + 3 + (serving_.tp > 1 ? 2 * layers : 0);
    step_.nodes += times * nodes;
    step_.launch_seconds = step_.nodes * serving_.launch;
    const double bytes = rows * StepDouble(shape_.d) * kStepActivationBytes;
    ASSAY_ASSIGN_OR_RETURN(const AllReduceTime reduce, EstimateAllReduce(gpu_, bytes, serving_.tp));
    if (step_.all_reduce.seconds < reduce.seconds) step_.all_reduce = reduce;
    step_.communication_seconds += times * 2 * layers * reduce.seconds;
    return Status::Ok();
  }

  Result<StepTime> Finish() {
    ASSAY_ASSIGN_OR_RETURN(step_.peak, gpu_.Peak(dtype_));
    step_.bandwidth = *gpu_.memory_bandwidth;
    for (const StepPhase& phase : step_.phases) {
      step_.flops += phase.flops;
      step_.compute_seconds += phase.compute_seconds;
      step_.busy_seconds += phase.seconds;
    }
    step_.efficiency = linear_seconds_ > 0 ? ideal_seconds_ / linear_seconds_ : 1;
    step_.seconds = step_.busy_seconds + step_.launch_seconds + step_.communication_seconds;
    return std::move(step_);
  }

 private:
  StepPhase& Phase(const std::string& name) {
    for (StepPhase& phase : step_.phases) {
      if (phase.name == name) return phase;
    }
    step_.phases.emplace_back().name = name;
    return step_.phases.back();
  }

  Status AddLinear(const std::string& name, const StepLinearWork& work, bool activations) {
    const std::string dtype = work.is_table ? ArithmeticOf(gpu_, "bf16") : dtype_;
    const Product product{work.m, work.n, work.k, dtype, work.is_table ? "" : serving_.weights};
    ASSAY_ASSIGN_OR_RETURN(const ProductTime time, Estimate(gpu_, product));
    const double weights = work.weight * work.n * work.k;
    double bytes = weights;
    if (activations) bytes += kStepActivationBytes * work.m * (work.n + work.k);
    const double memory = bytes * time.memory_seconds / time.bytes;
    const double seconds =
        work.count * (std::max(time.compute_seconds, memory) + time.fixed_seconds);
    StepPhase& phase = Phase(name);
    phase.flops += work.count * time.flops;
    phase.bytes += work.count * bytes;
    phase.compute_seconds += work.count * time.compute_seconds;
    phase.memory_seconds += work.count * memory;
    phase.seconds += seconds;
    step_.weight_bytes += work.count * weights;
    step_.weight_seconds += work.count * memory * weights / bytes;
    linear_seconds_ += seconds;
    ideal_seconds_ += seconds * time.efficiency;
    if (seconds > longest_) {
      longest_ = seconds;
      step_.source = time.source;
    }
    return Status::Ok();
  }

  const Hardware gpu_;
  const ModelShape& shape_;
  const Serving& serving_;
  const std::string dtype_;
  StepTime step_;
  double linear_seconds_ = 0;
  double ideal_seconds_ = 0;
  double longest_ = 0;
};

// Returns the largest whole number from 0 to `most` for which `fits` holds, found by bisection.
// `fits` must hold for all smaller numbers and for no larger one.
template <typename Fits>
double LargestWhole(double most, const Fits& fits) {
  double low = 0;
  double high = std::floor(most) + 1;
  while (high - low > 1) {
    const double middle = std::floor(low + (high - low) / 2);
    if (middle <= low || middle >= high) break;  // Beyond the whole numbers of a double.
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

double BlockWeightBytes(const std::string& dtype) {
  return dtype == "int4" ? (4 + 2 * 16.0 / 128) / 8 : BytesOf(dtype);
}

double TableWeightBytes(const std::string& dtype) {
  return HasQuantisedBlocks(dtype) ? 2 : BytesOf(dtype);
}

double WeightBytes(const ModelShape& shape, const std::string& dtype) {
  const int64_t learned = shape.kind == "gpt2" ? shape.positions * shape.d : 0;
  const int64_t tables = (shape.tied ? 1 : 2) * shape.vocab * shape.d + learned;
  return StepDouble(tables) * TableWeightBytes(dtype) +
         StepDouble(CountParameters(shape) - tables) * BlockWeightBytes(dtype);
}

std::string ArithmeticOf(const Hardware& gpu, const std::string& weights) {
  if (weights == "fp8" && gpu.peaks.count("fp8") > 0) return "fp8";
  const bool bf16 = gpu.peaks.count("bf16") > 0 || gpu.peaks.count("fp16") == 0;
  return weights == "fp16" || !bf16 ? "fp16" : "bf16";
}

Hardware WithLink(Hardware gpu, int64_t tp) {
  const GpuSpec* const spec = SheetNamed(gpu.name);
  if (tp == 1 || spec == nullptr) return gpu;
  // Accelerators of other vendors have their own links, which the sheet may not list.
  if (spec->kind != "cuda") return gpu;
  const bool too_many = spec->nvlink_gpus && tp > *spec->nvlink_gpus;
  const bool from_sheet = gpu.link_bandwidth && gpu.link_bandwidth->source.substr(0, 5) == "sheet";
  if (gpu.link_bandwidth && !(too_many && from_sheet)) return gpu;
  const std::optional<double> pcie = PcieBytesPerSecond(*spec);
  if (!pcie) return gpu;
  const double rate = *pcie;
  const std::string source = "assumed: PCI Express " + std::to_string(*spec->pcie_generation) +
                             ".0 x16, " + FormatSignificant(rate / 1e9, 3) +
                             " GB/s in one direction";
  gpu.link_bandwidth = Figure{rate, rate, rate, source};
  return gpu;
}

Result<StepTime> DecodeStep(const Hardware& gpu, const ModelShape& shape, const Serving& serving,
                            double batch, double context, double tokens) {
  StepBuilder builder(gpu, shape, serving);
  const double rows = batch * tokens;
  ASSAY_RETURN_IF_ERROR(builder.AddLinears(rows, rows, 1, false));
  ASSAY_RETURN_IF_ERROR(
      builder.AddAttention(rows * AttentionFlops(shape, context) / StepDouble(serving.tp),
                           batch * KvBytes(shape, context, BytesOf(serving.kv), serving.tp), 0));
  ASSAY_RETURN_IF_ERROR(builder.AddOverhead(rows, 1));
  return builder.Finish();
}

Result<StepTime> PrefillStep(const Hardware& gpu, const ModelShape& shape, const Serving& serving,
                             double tokens, double chunk) {
  StepBuilder builder(gpu, shape, serving);
  const double p = StepDouble(serving.tp);
  const double layers = StepDouble(shape.layers);
  const double e = StepDouble(shape.head_dim);
  const double step = chunk > 0 ? std::min(chunk, tokens) : tokens;
  const double whole = std::floor(tokens / step);
  const double rest = tokens - whole * step;
  ASSAY_RETURN_IF_ERROR(builder.AddLinears(step, 1, whole, true));
  ASSAY_RETURN_IF_ERROR(builder.AddOverhead(step, whole));
  if (rest > 0) {
    ASSAY_RETURN_IF_ERROR(builder.AddLinears(rest, 1, 1, true));
    ASSAY_RETURN_IF_ERROR(builder.AddOverhead(rest, 1));
  }
  double done_flops = 0;
  for (double end = std::min(step, tokens), begin = 0; begin < tokens;) {
    const double flops = PromptAttentionFlops(shape, end);
    const double query_bytes =
        2 * layers * (end - begin) * StepDouble(shape.heads) * e / p * kStepActivationBytes;
    ASSAY_RETURN_IF_ERROR(builder.AddAttention((flops - done_flops) / p,
                                               KvBytes(shape, end, BytesOf(serving.kv), serving.tp),
                                               query_bytes));
    done_flops = flops;
    begin = end;
    end = std::min(end + step, tokens);
  }
  // The number of elements that elementwise kernels read and write per token and layer: 4 d for
  // each of two residual adds (fused with norms), 3 f for the activation function, and the rest for
  // the rotation of queries and keys.
  const double active = StepDouble(shape.active_experts * shape.expert_ff + shape.ff);
  const double elements = 8 * StepDouble(shape.d) + 3 * active / p +
                          2 * StepDouble(shape.heads + shape.kv_heads) * e / p;
  builder.AddElementwise(tokens * layers * elements * kStepActivationBytes);
  return builder.Finish();
}

MemoryNeed ServingMemory(const ModelShape& shape, const Serving& serving, double batch,
                         double context, double in_flight, int64_t pp) {
  const double p = StepDouble(serving.tp);
  const double stages = StepDouble(pp);
  MemoryNeed need;
  need.weights = WeightBytes(shape, serving.weights) / (p * stages);
  need.kv = batch * KvBytes(shape, context, BytesOf(serving.kv), serving.tp) / stages;
  // The activations in memory are the residual stream, its normalized copy, and the largest
  // intermediate result of the MLP (gate, up and their product). The logits are also kept, in fp32.
  const double active = StepDouble(shape.active_experts * shape.expert_ff + shape.ff);
  need.activations = std::max(in_flight, batch) * (2 * StepDouble(shape.d) + 3 * active / p) *
                         kStepActivationBytes +
                     batch * StepDouble(shape.vocab) / p * 4;
  need.reserve = kServingReserve;
  need.total = need.weights + need.kv + need.activations + need.reserve;
  return need;
}

double LargestBatch(const ModelShape& shape, const Serving& serving, double context,
                    double in_flight, double room, int64_t pp) {
  return LargestWhole(1e15, [&](double batch) {
    return ServingMemory(shape, serving, batch, context, in_flight, pp).total <= room;
  });
}

double LongestContext(const ModelShape& shape, const Serving& serving, double batch,
                      double in_flight, double room, int64_t pp) {
  return LargestWhole(StepDouble(shape.positions), [&](double context) {
    return ServingMemory(shape, serving, batch, context, in_flight, pp).total <= room;
  });
}

}  // namespace assay::predict
