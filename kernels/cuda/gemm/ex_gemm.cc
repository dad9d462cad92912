#include "kernels/cuda/gemm/ex_gemm.h"

#include <cublas_v2.h>

#include <string>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/toolkit_library.h"
#include "kernels/cuda/gemm/cublas_lt.h"
#include "kernels/cuda/gemm/cublas_types.h"

namespace assay {

// The functions of libcublas that Assay calls.
#define ASSAY_CUBLAS_FUNCTIONS(X)   \
  X(create, cublasCreate_v2)        \
  X(destroy, cublasDestroy_v2)      \
  X(set_stream, cublasSetStream_v2) \
  X(set_workspace, cublasSetWorkspace_v2)
// The types of `gemm` and `batched_gemm` are written out, because cuBLAS overloads these functions.
struct Cublas {
  ASSAY_CUBLAS_FUNCTIONS(ASSAY_FUNCTION_MEMBER)
  cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k,
                         const void* alpha, const void* a, cudaDataType, int lda, const void* b,
                         cudaDataType, int ldb, const void* beta, void* c, cudaDataType, int ldc,
                         cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
  cublasStatus_t (*batched_gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n,
                                 int k, const void* alpha, const void* a, cudaDataType, int lda,
                                 long long stride_a, const void* b, cudaDataType, int ldb,
                                 long long stride_b, const void* beta, void* c, cudaDataType,
                                 int ldc, long long stride_c, int count, cublasComputeType_t,
                                 cublasGemmAlgo_t) = nullptr;
};

namespace {

// libcublas needs libcublasLt, and finds the one that this process has loaded already.
Result<Cublas> LoadFunctions() {
  ASSAY_RETURN_IF_ERROR(LoadCublasLt().status());
  ASSAY_ASSIGN_OR_RETURN(const DynamicLibrary library,
                         OpenToolkitLibrary("libcublas.so." + std::to_string(CUBLAS_VER_MAJOR)));
  Cublas cublas;
  Cublas* const table = &cublas;
  ASSAY_CUBLAS_FUNCTIONS(ASSAY_LOAD_FUNCTION)
  ASSAY_RETURN_IF_ERROR(library.Load("cublasGemmEx", &table->gemm));
  ASSAY_RETURN_IF_ERROR(library.Load("cublasGemmStridedBatchedEx", &table->batched_gemm));
  return cublas;
}

// Loads the library on the first call and never unloads it. Thread-safe.
Result<const Cublas*> LoadCublas() {
  static const Result<Cublas> loaded = LoadFunctions();
  if (!loaded.ok()) return Unsupported(MessageWithHint(loaded.status()));
  return &*loaded;
}

}  // namespace

ExGemm::~ExGemm() {
  if (handle_ != nullptr) cublas_.destroy(handle_);
}

Result<std::unique_ptr<ExGemm>> ExGemm::Create(const GemmShape& shape, cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const Cublas* cublas, LoadCublas());
  ASSAY_ASSIGN_OR_RETURN(const CublasLt* lt, LoadCublasLt());
  std::unique_ptr<ExGemm> gemm(new ExGemm(*lt, *cublas, shape));
  ASSAY_ASSIGN_OR_RETURN(gemm->workspace_,
                         DeviceBuffer::Allocate(kCublasWorkspaceBytes, "the cuBLAS workspace"));
  const auto check = [&](cublasStatus_t status, const char* function) {
    return CublasStatus(*lt, status, function, __FILE__, __LINE__);
  };
  ASSAY_RETURN_IF_ERROR(check(cublas->create(&gemm->handle_), "cublasCreate"));
  // Set the stream before the workspace, because setting the stream resets the workspace.
  ASSAY_RETURN_IF_ERROR(check(cublas->set_stream(gemm->handle_, stream), "cublasSetStream"));
  ASSAY_RETURN_IF_ERROR(check(cublas->set_workspace(gemm->handle_, gemm->workspace_.data(),
                                                    static_cast<size_t>(kCublasWorkspaceBytes)),
                              "cublasSetWorkspace"));
  return gemm;
}

// Describes the row-major product in column-major order: D' = op(B)' op(A)', as LtGemm does.
Status ExGemm::Enqueue(const GemmOperands& operands) {
  const CublasTypes types = CublasTypesOf(shape_.type);
  const cublasOperation_t left = shape_.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t right = shape_.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const auto m = static_cast<int>(shape_.m);
  const auto n = static_cast<int>(shape_.n);
  const auto k = static_cast<int>(shape_.k);
  const int left_rows = shape_.b_transposed ? k : n;
  const int right_rows = shape_.a_transposed ? m : k;
  const void* const one = kCublasScalars.Get(types.scale, 0);
  const void* const zero = kCublasScalars.Get(types.scale, 1);
  if (shape_.batch == 1) {
    return CublasStatus(lt_,
                        cublas_.gemm(handle_, left, right, n, m, k, one, operands.b, types.b,
                                     left_rows, operands.a, types.a, right_rows, zero, operands.d,
                                     types.d, n, types.compute, CUBLAS_GEMM_DEFAULT),
                        "cublasGemmEx", __FILE__, __LINE__);
  }
  return CublasStatus(
      lt_,
      cublas_.batched_gemm(handle_, left, right, n, m, k, one, operands.b, types.b, left_rows,
                           shape_.k * shape_.n, operands.a, types.a, right_rows,
                           shape_.m * shape_.k, zero, operands.d, types.d, n, shape_.m * shape_.n,
                           static_cast<int>(shape_.batch), types.compute, CUBLAS_GEMM_DEFAULT),
      "cublasGemmStridedBatchedEx", __FILE__, __LINE__);
}

}  // namespace assay
