// Implements the attention benchmark: selects the kernel, fills Q, K and V, and checks O.
#include <algorithm>
#include <cmath>
#include <vector>

#include "common/units.h"
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/execution/sustained_load.h"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/gpu_case.h"

namespace assay {
namespace {

constexpr uint64_t kStreamQ = 1;
constexpr uint64_t kStreamK = 2;
constexpr uint64_t kStreamV = 3;
constexpr int kHostRows = 4;

AttentionShape ShapeOf(const ParameterMap& parameters) {
  AttentionShape shape;
  shape.dtype = Word(parameters, "dtype");
  shape.heads = Integer(parameters, "b") * Integer(parameters, "h");
  shape.n = static_cast<int>(Integer(parameters, "n"));
  shape.d = static_cast<int>(Integer(parameters, "d"));
  shape.causal = Word(parameters, "causal") == "true";
  return shape;
}

double FlopsOf(const AttentionShape& shape) {
  const double all = 4.0 * static_cast<double>(shape.heads) * shape.n * shape.n * shape.d;
  return shape.causal ? all / 2 : all;
}

// Returns how far the output may deviate from the reference:
// - bf16 and fp16: half of epsilon (2^-7 for bf16, 2^-10 for fp16), because the softmax and the
//   output are both rounded, each with an error of about 0.2 epsilon.
// - fp32: a limit that grows with sqrt(n), because each output element is a sum over n keys, whose
//   rounding errors add up like a random walk.
ErrorLimits LimitsOf(const AttentionShape& shape) {
  const double tolerance = shape.dtype == "bf16"   ? 4e-3
                           : shape.dtype == "fp16" ? 5e-4
                                                   : 2e-6 + 1e-7 * std::sqrt(shape.n);
  return {tolerance, 8 * tolerance, 1.0};
}

// Computes one row on the host from newly generated inputs.
class HostRow {
 public:
  HostRow(const AttentionShape& shape, uint64_t seed, bool zeros, int64_t set)
      : shape_(shape), seed_(seed), zeros_(zeros), first_(set * shape.Elements()) {}

  // Returns row `row` of `head` of O in fp64.
  std::vector<double> Compute(int64_t head, int row) const {
    const int keys = shape_.causal ? row + 1 : shape_.n;
    const int64_t head_first = first_ + head * shape_.n * shape_.d;
    std::vector<double> q(static_cast<size_t>(shape_.d));
    for (int c = 0; c < shape_.d; ++c) {
      q[static_cast<size_t>(c)] = Value(kStreamQ, head_first + int64_t{row} * shape_.d + c);
    }
    std::vector<double> weights(static_cast<size_t>(keys));
    for (int key = 0; key < keys; ++key) {
      double sum = 0;
      for (int c = 0; c < shape_.d; ++c) {
        sum +=
            q[static_cast<size_t>(c)] * Value(kStreamK, head_first + int64_t{key} * shape_.d + c);
      }
      weights[static_cast<size_t>(key)] = sum / std::sqrt(static_cast<double>(shape_.d));
    }
    const double maximum = *std::max_element(weights.begin(), weights.end());
    double total = 0;
    for (double& weight : weights) total += weight = std::exp(weight - maximum);
    std::vector<double> out(static_cast<size_t>(shape_.d));
    for (int key = 0; key < keys; ++key) {
      const double weight = weights[static_cast<size_t>(key)] / total;
      for (int c = 0; c < shape_.d; ++c) {
        out[static_cast<size_t>(c)] +=
            weight * Value(kStreamV, head_first + int64_t{key} * shape_.d + c);
      }
    }
    return out;
  }

 private:
  double Value(uint64_t stream, int64_t index) const {
    if (zeros_) return 0;
    return WithElementType(shape_.dtype, [&](auto tag) {
      return Widen(RandomElement<typename decltype(tag)::Type>(seed_, stream, index));
    });
  }

  const AttentionShape& shape_;
  const uint64_t seed_;
  const bool zeros_;
  const int64_t first_;
};

class AttentionCase : public GpuCase {
 public:
  explicit AttentionCase(const RunContext& context)
      : GpuCase(context),
        variant_(Word(context.parameters, "variant")),
        shape_(ShapeOf(context.parameters)) {}

  void AdjustRule(MeasureRule* rule) const override { AdjustRuleForLoad(FlopsOf(shape_), rule); }

 protected:
  Status SetUp() override {
    if (variant_ == "flash") ASSAY_RETURN_IF_ERROR(PrepareFlashAttention(shape_, device()));
    if (variant_ == "flash_mma") ASSAY_RETURN_IF_ERROR(PrepareMmaAttention(shape_, device()));
    if (variant_ == "flash_wgmma") ASSAY_RETURN_IF_ERROR(PrepareWgmmaAttention(shape_, device()));
    const int64_t bytes = shape_.Elements() * ElementBytes(shape_.dtype);
    for (int array = 0; array < 4; ++array) AddArray(bytes);
    std::string what = "Q, K, V and O of " + std::to_string(shape_.heads) + " x " +
                       std::to_string(shape_.n) + " x " + std::to_string(shape_.d);
    if (variant_ == "naive") {
      AddArray(shape_.heads * shape_.n * shape_.n * int64_t{sizeof(float)});
      what +=
          " and S of " + std::to_string(shape_.n) + " x " + std::to_string(shape_.n) + " a head";
    }
    ASSAY_RETURN_IF_ERROR(AllocateSets(what));
    if (variant_ == "flash_wgmma") {
      for (int64_t set = 0; set < sets(); ++set) {
        ASSAY_ASSIGN_OR_RETURN(maps_.emplace_back(), EncodeAttentionMaps(shape_, ArraysOf(set)));
      }
    }
    return WithElementType(shape_.dtype,
                           [this](auto tag) { return Fill<typename decltype(tag)::Type>(); });
  }

  Status Enqueue(int64_t set) override {
    const AttentionArrays arrays = ArraysOf(set);
    if (variant_ == "naive") {
      return EnqueueNaiveAttention(shape_, arrays, Array<float>(set, kScores), stream());
    }
    if (variant_ == "flash") return EnqueueFlashAttention(shape_, arrays, stream());
    if (variant_ == "flash_mma") return EnqueueMmaAttention(shape_, arrays, stream());
    return EnqueueWgmmaAttention(shape_, maps_[static_cast<size_t>(set)], device().sm_count,
                                 stream());
  }

  OutputRange Output(int64_t set) override {
    return {Array<void>(set, kO), shape_.Elements() * ElementBytes(shape_.dtype)};
  }

  Result<Verdict> Check(int64_t set) override {
    ASSAY_ASSIGN_OR_RETURN(Verdict verdict,
                           CheckAttention(shape_, ArraysOf(set), LimitsOf(shape_), stream()));
    verdict.reference += ", and " + std::to_string(kHostRows) + " rows on host";
    if (verdict.passed) ASSAY_RETURN_IF_ERROR(CheckOnHost(set, &verdict));
    return verdict;
  }

 private:
  enum ArrayNumber { kO, kQ, kK, kV, kScores };

  AttentionArrays ArraysOf(int64_t set) const {
    return {Array<void>(set, kQ), Array<void>(set, kK), Array<void>(set, kV), Array<void>(set, kO)};
  }

  template <typename T>
  Status Fill() {
    const int64_t count = shape_.Elements();
    for (int64_t set = 0; set < sets(); ++set) {
      ASSAY_RETURN_IF_ERROR(
          FillElements(Array<T>(set, kQ), count, zeros(), seed(), kStreamQ, set * count, stream()));
      ASSAY_RETURN_IF_ERROR(
          FillElements(Array<T>(set, kK), count, zeros(), seed(), kStreamK, set * count, stream()));
      ASSAY_RETURN_IF_ERROR(
          FillElements(Array<T>(set, kV), count, zeros(), seed(), kStreamV, set * count, stream()));
    }
    return Status::Ok();
  }

  // Checks the first row, the last row and some rows in between against values computed on the
  // host, without using the inputs in device memory or the device's reference.
  Status CheckOnHost(int64_t set, Verdict* verdict) {
    const HostRow host(shape_, seed(), zeros(), set);
    const ErrorLimits limits = LimitsOf(shape_);
    for (int i = 0; i < kHostRows; ++i) {
      const int64_t head = (shape_.heads - 1) * i / (kHostRows - 1);
      const auto row = static_cast<int>(int64_t{shape_.n - 1} * i / (kHostRows - 1));
      const std::vector<double> expected = host.Compute(head, row);
      ASSAY_ASSIGN_OR_RETURN(const std::vector<double> actual, ReadRow(set, head, row));
      const double size = std::min(1.0, std::sqrt(M_E / (shape_.causal ? row + 1 : shape_.n)));
      for (size_t c = 0; c < expected.size(); ++c) {
        const double error = std::fabs(actual[c] - expected[c]);
        // Negated, so that NaN fails.
        if (error <= limits.element * std::max(std::fabs(expected[c]), size)) continue;
        verdict->passed = false;
        verdict->detail = "row " + std::to_string(row) + " of head " + std::to_string(head) +
                          " has " + NumberText(actual[c], 9) + " at " + std::to_string(c) +
                          ", the host " + NumberText(expected[c], 9);
        return Status::Ok();
      }
    }
    return Status::Ok();
  }

  Result<std::vector<double>> ReadRow(int64_t set, int64_t head, int row) {
    const int64_t at = (head * shape_.n + row) * shape_.d;
    return WithElementType(shape_.dtype, [&](auto tag) -> Result<std::vector<double>> {
      using T = typename decltype(tag)::Type;
      std::vector<T> elements(static_cast<size_t>(shape_.d));
      ASSAY_CUDA(cudaMemcpyAsync(elements.data(), Array<T>(set, kO) + at,
                                 elements.size() * sizeof(T), cudaMemcpyDefault, stream()));
      ASSAY_CUDA(cudaStreamSynchronize(stream()));
      std::vector<double> wide;
      for (const T element : elements) wide.push_back(Widen(element));
      return wide;
    });
  }

  const std::string variant_;
  const AttentionShape shape_;
  std::vector<AttentionTensorMaps> maps_;  // flash_wgmma: one per set of arrays.
};

}  // namespace

Result<std::unique_ptr<Case>> NewAttentionCase(const RunContext& context) {
  return PrepareCase<AttentionCase>(context);
}

}  // namespace assay
