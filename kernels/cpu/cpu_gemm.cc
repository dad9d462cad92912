// Prepares, runs and verifies the cases of the cpu_gemm benchmark.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/benchmark.h"
#include "kernels/cpu/blas.h"
#include "kernels/cpu/caches.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/host_timer.h"
#include "kernels/cpu/probe.h"
#include "kernels/cpu/thread_team.h"
#include "kernels/cpu/verify_product.h"

namespace assay {
namespace {

struct Shape {
  int64_t m, n, k;
};

template <typename T>
class CpuGemmCase : public Case {
 public:
  CpuGemmCase(const RunContext& context, Shape shape)
      : shape_(shape),
        seed_(context.seed),
        threads_(ThreadCount(Integer(context.parameters, "threads"))),
        sets_(Word(context.parameters, "cache") == "cold" ? ColdSets(SetBytes()) : 1) {}

  Status Allocate() {
    ASSAY_RETURN_IF_ERROR(CheckThreadCount(threads_));
    const auto sets = static_cast<double>(sets_);
    const auto what_fits = [&](double available) {
      const double side = std::sqrt(available / sets / 3 / sizeof(T));
      const std::string most = std::to_string(static_cast<int64_t>(side));
      const bool hot_fits = sets_ > 1 && SetBytes() <= available;
      return "m, n and k of " + most + " would fit" + (hot_fits ? "; so would cache: hot" : "");
    };
    ASSAY_RETURN_IF_ERROR(CheckMemoryFor(sets * SetBytes(), what_fits, kBlasBytes * threads_));
    ASSAY_ASSIGN_OR_RETURN(a_, HostBuffer<T>::Allocate(sets_ * Stride(shape_.m, shape_.k)));
    ASSAY_ASSIGN_OR_RETURN(b_, HostBuffer<T>::Allocate(sets_ * Stride(shape_.k, shape_.n)));
    ASSAY_ASSIGN_OR_RETURN(c_, HostBuffer<T>::Allocate(sets_ * Stride(shape_.m, shape_.n)));
    FillUniform(a_.data(), a_.size(), seed_);
    FillUniform(b_.data(), b_.size(), seed_ + 1);
    SetBlasThreads(threads_);
    return Status::Ok();
  }

  Timing HowTimed() const override {
    const bool hot = StaysInCpuCaches(static_cast<double>(sets_) * SetBytes());
    return {hot ? "hot" : "cold", "random", "host_clock"};
  }

  Result<Verdict> Verify() override {
    std::fill(c_.data(), c_.data() + c_.size(), kPoison);
    last_ = 0;
    Multiply();
    return VerifyLast();
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    PoisonSome();
    const auto iterate = [this] {
      last_ = last_ + 1 < sets_ ? last_ + 1 : 0;
      Multiply();
    };
    TimeByHostClock(samples, batch, iterate, seconds);
    return Status::Ok();
  }

  Result<Verdict> VerifyLast() override {
    return VerifyProduct(shape_.m, shape_.n, shape_.k, A(), B(), C(last_), seed_ + 2);
  }

  Result<Ceilings> MeasureCeilings() override {
    Ceilings ceilings = ProbeCpu(threads_, std::is_same_v<T, double>);
    const T one = 1;
    T product = 0;
    ceilings.fixed_seconds =
        MedianSecondsOf([&] { BlasGemm(1, 1, 1, &one, &one, &product); }, MinSampleSeconds());
    return ceilings;
  }

 private:
  static constexpr T kPoison = std::numeric_limits<T>::quiet_NaN();
  // The address space, in bytes, that OpenBLAS maps per thread. The case checks that it is
  // available, because OpenBLAS would retry a refused mapping forever.
  static constexpr double kBlasBytes = 128.0 * 1024 * 1024;

  // Returns the distance, in elements, between corresponding matrices of two consecutive sets,
  // rounded up to whole cache lines.
  static int64_t Stride(int64_t rows, int64_t columns) {
    constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
    return (rows * columns + kLine - 1) / kLine * kLine;
  }

  double SetBytes() const {
    const auto [m, n, k] = shape_;
    return static_cast<double>(sizeof(T)) *
           static_cast<double>(Stride(m, k) + Stride(k, n) + Stride(m, n));
  }

  const T* A() const { return a_.data() + last_ * Stride(shape_.m, shape_.k); }
  const T* B() const { return b_.data() + last_ * Stride(shape_.k, shape_.n); }
  T* C(int64_t set) { return c_.data() + set * Stride(shape_.m, shape_.n); }

  void Multiply() { BlasGemm(shape_.m, shape_.n, shape_.k, A(), B(), C(last_)); }

  // Writes NaN to one element of every row, to find rows that the timed iterations skip.
  void PoisonSome() {
    for (int64_t set = 0; set < sets_; ++set) {
      for (int64_t row = 0; row < shape_.m; ++row) {
        C(set)[row * shape_.n + row % shape_.n] = kPoison;
      }
    }
  }

  const Shape shape_;
  const uint64_t seed_;
  const int threads_;
  const int64_t sets_;
  HostBuffer<T> a_, b_, c_;
  int64_t last_ = 0;  // The set of the latest iteration.
};

template <typename T>
Result<std::unique_ptr<Case>> PrepareAs(const RunContext& context) {
  const ParameterMap& parameters = context.parameters;
  const Shape shape = {Integer(parameters, "m"), Integer(parameters, "n"),
                       Integer(parameters, "k")};
  auto prepared = std::make_unique<CpuGemmCase<T>>(context, shape);
  ASSAY_RETURN_IF_ERROR(prepared->Allocate());
  return std::unique_ptr<Case>(std::move(prepared));
}

}  // namespace

Result<std::unique_ptr<Case>> NewCpuGemmCase(const RunContext& context) {
  const bool fp64 = Word(context.parameters, "dtype") == "fp64";
  return fp64 ? PrepareAs<double>(context) : PrepareAs<float>(context);
}

}  // namespace assay
