#include "kernels/cuda/lt_gemm.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "kernels/benchmark.h"
#include "kernels/cuda/cuda_check.h"

namespace assay {
namespace {

// cuBLAS's own default on Hopper is 32 MiB; twice that leaves no algorithm out.
constexpr int64_t kWorkspaceBytes = int64_t{64} << 20;
constexpr int kMaxAlgorithms = 64;

// Tuning, in seconds: load before anything is compared, one algorithm's first
// timing and the bound on all of these.
constexpr double kWarmupSeconds = 0.3;
constexpr double kSprintSeconds = 0.02;
constexpr double kSprintBudgetSeconds = 2.0;
// The finals: who takes part beside the heuristics' favourite, and how often each
// runs how long, after a time for power to follow the change.
constexpr size_t kFinalists = 4;
constexpr int kTurns = 2;
constexpr double kTurnSeconds = 0.25;
constexpr double kFollowSeconds = 0.15;
// Another algorithm than the favourite must be this much faster: turns of the same
// algorithm differ by up to 1%, since clocks at the power limit move in steps.
constexpr double kClearly = 0.99;
// Multiplications that never reach the power limit need less time.
constexpr double kBriefly = 0.1;

cudaDataType_t DataType(GemmType type) {
  switch (type) {
    case GemmType::kBf16:
      return CUDA_R_16BF;
    case GemmType::kFp16:
      return CUDA_R_16F;
    case GemmType::kFp32:
    case GemmType::kTf32:
      return CUDA_R_32F;
  }
  return CUDA_R_32F;
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int64_t IterationsIn(double seconds, double one) {
  return std::clamp<int64_t>(static_cast<int64_t>(seconds / one), 1, 5000);
}

}  // namespace

LtGemm::~LtGemm() {
  if (output_ != nullptr) lt_.matrix_layout_destroy(output_);
  if (right_ != nullptr) lt_.matrix_layout_destroy(right_);
  if (left_ != nullptr) lt_.matrix_layout_destroy(left_);
  if (matmul_ != nullptr) lt_.matmul_desc_destroy(matmul_);
  if (handle_ != nullptr) lt_.destroy(handle_);
}

Result<std::unique_ptr<LtGemm>> LtGemm::Create(const GemmShape& shape) {
  ASSAY_ASSIGN_OR_RETURN(const CublasLt* lt, LoadCublasLt());
  std::unique_ptr<LtGemm> gemm(new LtGemm(*lt, shape));
  ASSAY_ASSIGN_OR_RETURN(gemm->workspace_,
                         DeviceBuffer::Allocate(kWorkspaceBytes, "the cuBLASLt workspace"));
  ASSAY_CUBLAS(*lt, create(&gemm->handle_));
  ASSAY_RETURN_IF_ERROR(gemm->Describe());
  ASSAY_RETURN_IF_ERROR(gemm->FindAlgorithms());
  return gemm;
}

// cuBLASLt is column-major, where a row-major matrix reads as its transpose: it
// computes D' = op(B)' op(A)', an n x m matrix, from left operand B and right
// operand A, neither of them transposed if they were not to begin with.
Status LtGemm::Describe() {
  const cudaDataType_t type = DataType(shape_.type);
  const cublasComputeType_t compute =
      shape_.type == GemmType::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  ASSAY_CUBLAS(lt_, matmul_desc_create(&matmul_, compute, CUDA_R_32F));
  const cublasOperation_t left_op = shape_.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t right_op = shape_.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  ASSAY_CUBLAS(lt_, matmul_desc_set_attribute(matmul_, CUBLASLT_MATMUL_DESC_TRANSA, &left_op,
                                              sizeof left_op));
  ASSAY_CUBLAS(lt_, matmul_desc_set_attribute(matmul_, CUBLASLT_MATMUL_DESC_TRANSB, &right_op,
                                              sizeof right_op));
  const auto m = static_cast<uint64_t>(shape_.m);
  const auto n = static_cast<uint64_t>(shape_.n);
  const auto k = static_cast<uint64_t>(shape_.k);
  const auto left_rows = shape_.b_transposed ? k : n;
  const auto right_rows = shape_.a_transposed ? m : k;
  ASSAY_CUBLAS(lt_, matrix_layout_create(&left_, type, left_rows, shape_.b_transposed ? n : k,
                                         static_cast<int64_t>(left_rows)));
  ASSAY_CUBLAS(lt_, matrix_layout_create(&right_, type, right_rows, shape_.a_transposed ? k : m,
                                         static_cast<int64_t>(right_rows)));
  ASSAY_CUBLAS(lt_, matrix_layout_create(&output_, type, n, m, shape_.n));
  return Status::Ok();
}

Status LtGemm::FindAlgorithms() {
  cublasLtMatmulPreference_t preference = nullptr;
  ASSAY_CUBLAS(lt_, preference_create(&preference));
  const auto workspace = static_cast<size_t>(kWorkspaceBytes);
  std::array<cublasLtMatmulHeuristicResult_t, kMaxAlgorithms> results{};
  int found = 0;
  cublasStatus_t status = lt_.preference_set_attribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = lt_.algo_get_heuristic(handle_, matmul_, left_, right_, output_, output_, preference,
                                    kMaxAlgorithms, results.data(), &found);
  }
  lt_.preference_destroy(preference);
  ASSAY_RETURN_IF_ERROR(CublasStatus(lt_, status, "algo_get_heuristic", __FILE__, __LINE__));
  for (int i = 0; i < found; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = results[static_cast<size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS) algorithms_.push_back(result.algo);
  }
  if (algorithms_.empty()) {
    return Unsupported("cuBLASLt has no algorithm for this shape and type on this GPU");
  }
  return Status::Ok();
}

Status LtGemm::Enqueue(const GemmOperands& operands, cudaStream_t stream) {
  const float alpha = 1;
  const float beta = 0;
  ASSAY_CUBLAS(lt_, matmul(handle_, matmul_, &alpha, operands.b, left_, operands.a, right_, &beta,
                           operands.d, output_, operands.d, output_, &algorithms_[chosen_],
                           workspace_.data(), kWorkspaceBytes, stream));
  return Status::Ok();
}

Result<double> LtGemm::TimeChosen(int64_t iterations, const std::function<GemmOperands()>& next,
                                  cudaStream_t stream) {
  std::vector<double> seconds;
  ASSAY_RETURN_IF_ERROR(timer_.Time(
      stream, 1, iterations, [&] { return Enqueue(next(), stream); }, &seconds));
  return seconds.front();
}

// Every algorithm once, in the heuristics' order (most promising first), as far as
// the time reaches. One that fails to start is left out.
Result<std::vector<LtGemm::Timed>> LtGemm::Sprint(const std::function<GemmOperands()>& next,
                                                  cudaStream_t stream) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Timed> timed;
  for (chosen_ = 0; chosen_ < algorithms_.size(); ++chosen_) {
    const Result<double> first = TimeChosen(1, next, stream);
    if (!first.ok()) {
      if (cudaStreamSynchronize(stream) != cudaSuccess) return first.status();
      continue;
    }
    ASSAY_ASSIGN_OR_RETURN(const double seconds,
                           TimeChosen(IterationsIn(kSprintSeconds, *first), next, stream));
    timed.push_back({chosen_, seconds});
    if (SecondsSince(begin) > kSprintBudgetSeconds) break;
  }
  chosen_ = 0;
  if (timed.empty()) return Unsupported("none of cuBLASLt's algorithms runs on this GPU");
  return timed;
}

Status LtGemm::Tune(const std::function<GemmOperands()>& next, cudaStream_t stream) {
  const double pace = shape_.IsSustained() ? 1 : kBriefly;
  ASSAY_ASSIGN_OR_RETURN(const double first, TimeChosen(1, next, stream));
  const auto begin = std::chrono::steady_clock::now();
  while (SecondsSince(begin) < pace * kWarmupSeconds) {
    ASSAY_RETURN_IF_ERROR(
        TimeChosen(IterationsIn(pace * kWarmupSeconds / 4, first), next, stream).status());
  }
  ASSAY_ASSIGN_OR_RETURN(std::vector<Timed> timed, Sprint(next, stream));
  const auto faster = [](const Timed& x, const Timed& y) { return x.seconds < y.seconds; };
  std::sort(timed.begin(), timed.end(), faster);
  std::vector<Timed> finalists;
  for (const Timed& entry : timed) {
    if (finalists.size() < kFinalists || entry.algorithm == 0) finalists.push_back(entry);
  }
  for (Timed& finalist : finalists) {
    const double one = std::exchange(finalist.seconds, 0);
    finalist.iterations = IterationsIn(pace * kTurnSeconds, one);
    finalist.following = IterationsIn(pace * kFollowSeconds, one);
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Timed& finalist : finalists) {
      chosen_ = finalist.algorithm;
      ASSAY_RETURN_IF_ERROR(TimeChosen(finalist.following, next, stream).status());
      ASSAY_ASSIGN_OR_RETURN(const double seconds, TimeChosen(finalist.iterations, next, stream));
      finalist.seconds += seconds;
    }
  }
  const Timed& best = *std::min_element(finalists.begin(), finalists.end(), faster);
  const auto favourite = std::find_if(finalists.begin(), finalists.end(),
                                      [](const Timed& entry) { return entry.algorithm == 0; });
  const bool keep = favourite != finalists.end() && best.seconds > kClearly * favourite->seconds;
  chosen_ = keep ? 0 : best.algorithm;
  return Status::Ok();
}

}  // namespace assay
