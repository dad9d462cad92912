#include "kernels/cuda/gemm/lt_gemm.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "common/mutex.h"
#include "kernels/benchmark.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/gemm/cublas_types.h"

namespace assay {
namespace {

constexpr int kMaxAlgorithms = 64;

// Durations of the steps of tuning, in seconds: the warm-up, the first timing of one algorithm, and
// the maximum for all first timings together. The warm-up is long because clocks settle slowly. A
// previously idle H200 exceeds its power limit for 0.2 s. Within the first second, its clocks then
// drop to one sixth below their final value.
constexpr double kWarmupSeconds = 1.0;
constexpr double kSprintSeconds = 0.02;
constexpr double kSprintBudgetSeconds = 1.0;
// Factors that shorten the warm-up and the comparison of algorithms if multiplications are too
// small to drive the GPU to its power limit.
constexpr double kBriefWarmup = 0.1;
constexpr double kBriefTurns = 0.025;

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Returns how many iterations take about `seconds` if each takes `one` seconds, but no more than
// 50000, a limit that only very short multiplications reach.
int64_t IterationsIn(double seconds, double one) {
  return std::clamp<int64_t>(static_cast<int64_t>(seconds / one), 1, 50000);
}

// The algorithms that this process has chosen. Thread-safe; lives until the program ends.
class TunedAlgorithms {
 public:
  using Key =
      std::tuple<int, GemmType, int64_t, int64_t, int64_t, int64_t, bool, bool, bool, std::string>;

  static TunedAlgorithms& Instance() {
    static TunedAlgorithms instance;
    return instance;
  }

  // Returns the key of a shape on the current GPU.
  static Result<Key> KeyOf(const GemmShape& shape, const std::string& conditions) {
    int gpu = 0;
    ASSAY_CUDA(cudaGetDevice(&gpu));
    return Key(gpu, shape.type, shape.m, shape.n, shape.k, shape.batch, shape.a_transposed,
               shape.b_transposed, shape.fast_accumulation, conditions);
  }

  std::optional<cublasLtMatmulAlgo_t> Find(const Key& key) {
    MutexLock lock(mutex_);
    const auto found = algorithms_.find(key);
    if (found == algorithms_.end()) return std::nullopt;
    return found->second;
  }

  void Put(const Key& key, const cublasLtMatmulAlgo_t& algorithm) {
    MutexLock lock(mutex_);
    algorithms_[key] = algorithm;
  }

 private:
  Mutex mutex_;
  std::map<Key, cublasLtMatmulAlgo_t> algorithms_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace

LtGemm::~LtGemm() {
  if (output_ != nullptr) lt_.matrix_layout_destroy(output_);
  if (right_ != nullptr) lt_.matrix_layout_destroy(right_);
  if (left_ != nullptr) lt_.matrix_layout_destroy(left_);
  if (matmul_ != nullptr) lt_.matmul_desc_destroy(matmul_);
  if (handle_ != nullptr) lt_.destroy(handle_);
}

Result<std::unique_ptr<LtGemm>> LtGemm::Create(const GemmShape& shape, const void* bias) {
  ASSAY_ASSIGN_OR_RETURN(const CublasLt* lt, LoadCublasLt());
  std::unique_ptr<LtGemm> gemm(new LtGemm(*lt, shape, bias));
  ASSAY_ASSIGN_OR_RETURN(gemm->workspace_,
                         DeviceBuffer::Allocate(kCublasWorkspaceBytes, "the cuBLASLt workspace"));
  ASSAY_CUBLAS(*lt, create(&gemm->handle_));
  ASSAY_RETURN_IF_ERROR(gemm->Describe());
  ASSAY_RETURN_IF_ERROR(gemm->FindAlgorithms());
  return gemm;
}

// Describes the product of row-major matrices to cuBLASLt, which expects column-major matrices and
// therefore sees their transposes. It is asked to compute D' = op(B)' op(A)', with B as the left
// operand and A as the right one. The transposition flags of A and B stay the same.
Status LtGemm::Describe() {
  const CublasTypes types = CublasTypesOf(shape_.type);
  ASSAY_CUBLAS(lt_, matmul_desc_create(&matmul_, types.compute, types.scale));
  const cublasOperation_t left_op = shape_.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t right_op = shape_.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  ASSAY_CUBLAS(lt_, matmul_desc_set_attribute(matmul_, CUBLASLT_MATMUL_DESC_TRANSA, &left_op,
                                              sizeof left_op));
  ASSAY_CUBLAS(lt_, matmul_desc_set_attribute(matmul_, CUBLASLT_MATMUL_DESC_TRANSB, &right_op,
                                              sizeof right_op));
  const int8_t fast = shape_.fast_accumulation ? 1 : 0;
  ASSAY_CUBLAS(
      lt_, matmul_desc_set_attribute(matmul_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
  if (bias_ != nullptr) {
    // The bias follows the rows of D', which are the columns of D.
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    ASSAY_CUBLAS(lt_, matmul_desc_set_attribute(matmul_, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                                sizeof epilogue));
    ASSAY_CUBLAS(lt_, matmul_desc_set_attribute(matmul_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias_,
                                                sizeof bias_));
  }
  const auto [m, n, k] = std::tuple(shape_.m, shape_.n, shape_.k);
  const bool left_t = shape_.b_transposed;
  const bool right_t = shape_.a_transposed;
  ASSAY_RETURN_IF_ERROR(DescribeMatrix(types.b, left_t ? k : n, left_t ? n : k, &left_));
  ASSAY_RETURN_IF_ERROR(DescribeMatrix(types.a, right_t ? m : k, right_t ? k : m, &right_));
  return DescribeMatrix(types.d, n, m, &output_);
}

Status LtGemm::DescribeMatrix(cudaDataType_t type, int64_t rows, int64_t columns,
                              cublasLtMatrixLayout_t* layout) {
  ASSAY_CUBLAS(lt_, matrix_layout_create(layout, type, static_cast<uint64_t>(rows),
                                         static_cast<uint64_t>(columns), rows));
  if (shape_.batch == 1) return Status::Ok();
  const auto count = static_cast<int32_t>(shape_.batch);
  const int64_t stride = rows * columns;
  ASSAY_CUBLAS(lt_, matrix_layout_set_attribute(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                sizeof count));
  ASSAY_CUBLAS(lt_,
               matrix_layout_set_attribute(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                           &stride, sizeof stride));
  return Status::Ok();
}

Status LtGemm::FindAlgorithms() {
  cublasLtMatmulPreference_t preference = nullptr;
  ASSAY_CUBLAS(lt_, preference_create(&preference));
  const auto workspace = static_cast<size_t>(kCublasWorkspaceBytes);
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
  const cudaDataType_t scale = CublasTypesOf(shape_.type).scale;
  ASSAY_CUBLAS(
      lt_, matmul(handle_, matmul_, kCublasScalars.Get(scale, 0), operands.b, left_, operands.a,
                  right_, kCublasScalars.Get(scale, 1), operands.d, output_, operands.d, output_,
                  &algorithms_[chosen_], workspace_.data(), kCublasWorkspaceBytes, stream));
  return Status::Ok();
}

Result<double> LtGemm::TimeChosen(int64_t iterations, const std::function<GemmOperands()>& next,
                                  cudaStream_t stream) {
  std::vector<double> seconds;
  ASSAY_RETURN_IF_ERROR(timer_.Time(
      stream, 1, iterations, [&] { return Enqueue(next(), stream); }, &seconds));
  return seconds.front();
}

// Times every algorithm once, most promising first, until kSprintBudgetSeconds have passed. Skips
// algorithms that fail to start.
Result<std::vector<Candidate>> LtGemm::Sprint(const std::function<GemmOperands()>& next,
                                              cudaStream_t stream) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Candidate> timed;
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

Status LtGemm::Compete(const std::function<GemmOperands()>& next, cudaStream_t stream) {
  const bool sustained = shape_.IsSustained();
  const double warmup = sustained ? kWarmupSeconds : kBriefWarmup * kWarmupSeconds;
  ASSAY_ASSIGN_OR_RETURN(const double first, TimeChosen(1, next, stream));
  const auto begin = std::chrono::steady_clock::now();
  while (SecondsSince(begin) < warmup) {
    ASSAY_RETURN_IF_ERROR(TimeChosen(IterationsIn(warmup / 8, first), next, stream).status());
  }
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Candidate> timed, Sprint(next, stream));
  CandidateRule rule;
  if (!sustained) {
    rule.follow_seconds *= kBriefTurns;
    rule.timed_seconds *= kBriefTurns;
  }
  const auto turn = [&](const Candidate& candidate, const CandidateRule& of) -> Result<double> {
    chosen_ = candidate.index;
    const int64_t following = IterationsIn(of.follow_seconds, candidate.seconds);
    ASSAY_RETURN_IF_ERROR(TimeChosen(following, next, stream).status());
    return TimeChosen(IterationsIn(of.timed_seconds, candidate.seconds), next, stream);
  };
  ASSAY_ASSIGN_OR_RETURN(chosen_, FastestCandidate(timed, rule, turn));
  return Status::Ok();
}

Result<bool> LtGemm::Tune(const std::function<GemmOperands()>& next, const std::string& conditions,
                          cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(
      const auto key,
      TunedAlgorithms::KeyOf(shape_, conditions + (bias_ != nullptr ? " bias" : "")));
  if (const auto known = TunedAlgorithms::Instance().Find(key)) {
    algorithms_ = {*known};
    chosen_ = 0;
    return false;
  }
  ASSAY_RETURN_IF_ERROR(Compete(next, stream));
  TunedAlgorithms::Instance().Put(key, algorithms_[chosen_]);
  return true;
}

}  // namespace assay
