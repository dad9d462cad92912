#include "kernels/cpu/blas.h"

#include <cblas.h>

#include <array>
#include <cstdlib>

#include "host/dynamic_library.h"

namespace assay {
namespace {

struct OpenBlas {
  decltype(openblas_get_config)* get_config = nullptr;
  decltype(openblas_get_corename)* get_corename = nullptr;
  decltype(openblas_set_num_threads)* set_num_threads = nullptr;
  decltype(cblas_sgemm)* sgemm = nullptr;
  decltype(cblas_dgemm)* dgemm = nullptr;
};

// An environment variable that is set as long as this object exists.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~EnvironmentVariable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

Result<DynamicLibrary> Open() {
  return DynamicLibrary::Open("libopenblas.so.0", {ASSAY_OPENBLAS_LIBRARY_DIR},
                              "install OpenBLAS, or name its folder in LD_LIBRARY_PATH");
}

Result<OpenBlas> FunctionsOf(const DynamicLibrary& library) {
  OpenBlas blas;
  ASSAY_RETURN_IF_ERROR(library.Load("openblas_get_config", &blas.get_config));
  ASSAY_RETURN_IF_ERROR(library.Load("openblas_get_corename", &blas.get_corename));
  ASSAY_RETURN_IF_ERROR(library.Load("openblas_set_num_threads", &blas.set_num_threads));
  ASSAY_RETURN_IF_ERROR(library.Load("cblas_sgemm", &blas.sgemm));
  ASSAY_RETURN_IF_ERROR(library.Load("cblas_dgemm", &blas.dgemm));
  return blas;
}

// Returns the newest of OpenBLAS's CPU types whose instructions this CPU supports, or "" if the CPU
// does not support AVX2.
std::string CoreByInstructions() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return "";
}

// Loads OpenBLAS. Sets environment variables only while loading the library, because that is when
// OpenBLAS reads them.
Result<OpenBlas> Load() {
  // Keeps OpenBLAS from starting threads before SetBlasThreads() is called.
  const EnvironmentVariable one_thread("OPENBLAS_NUM_THREADS", "1");
  ASSAY_ASSIGN_OR_RETURN(DynamicLibrary library, Open());
  ASSAY_ASSIGN_OR_RETURN(OpenBlas blas, FunctionsOf(library));
  const std::string core = BlasCoreInstead(blas.get_corename(), CoreByInstructions());
  if (core.empty() || std::getenv("OPENBLAS_CORETYPE") != nullptr) return blas;
  const EnvironmentVariable known("OPENBLAS_CORETYPE", core.c_str());
  library.Close();
  ASSAY_ASSIGN_OR_RETURN(library, Open());
  return FunctionsOf(library);
}

const Result<OpenBlas>& Loaded() {
  static const Result<OpenBlas> loaded = Load();
  return loaded;
}

}  // namespace

std::string WhyNoBlas() {
  return Loaded().ok() ? "" : "needs OpenBLAS: " + Loaded().status().message();
}

std::optional<std::string> BlasVersion() {
  if (!Loaded().ok()) return std::nullopt;
  // Takes only name and version from a text such as "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...".
  const std::string config = Loaded()->get_config();
  const size_t name_end = config.find(' ');
  return config.substr(0, config.find(' ', name_end + 1)) + " " + Loaded()->get_corename();
}

void SetBlasThreads(int threads) { Loaded()->set_num_threads(threads); }

void BlasGemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c) {
  const auto [rows, columns, inner] =
      std::array{static_cast<blasint>(m), static_cast<blasint>(n), static_cast<blasint>(k)};
  Loaded()->sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, 1.0F, a, inner,
                  b, columns, 0.0F, c, columns);
}

void BlasGemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c) {
  const auto [rows, columns, inner] =
      std::array{static_cast<blasint>(m), static_cast<blasint>(n), static_cast<blasint>(k)};
  Loaded()->dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, 1.0, a, inner, b,
                  columns, 0.0, c, columns);
}

}  // namespace assay
