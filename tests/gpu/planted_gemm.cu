// Wrong products that CheckGemm must detect, of cuBLASLt and of the host.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/gemm/gemm_data.h"
#include "kernels/cuda/gemm/lt_gemm.h"
#include "tests/gpu/host_values.cuh"
#include "tests/gpu/plant.h"
#include "tests/gpu/planted_faults.h"

namespace assay {
namespace {

constexpr uint64_t kSeed = 7;

// Computes A B into D, on the stream or synchronously.
using Multiply = Status (*)(const GemmShape&, const GemmOperands&, cudaStream_t);

// One multiplication whose output is corrupted.
class GemmFaults {
 public:
  GemmFaults(const GemmShape& shape, Multiply multiply, std::string name, bool zeros = false)
      : shape_(shape), multiply_(multiply), name_(std::move(name)) {
    inputs_.seed = kSeed;
    inputs_.zeros = zeros;
  }

  Status Run() {
    ASSAY_RETURN_IF_ERROR(MakeProduct());
    Expect(name_ + ": right", Check(), true);
    const std::vector<unsigned char> nan(Size(), 0xff);
    const int64_t elements = shape_.batch * shape_.m * shape_.n;
    for (const int64_t at : {int64_t{0}, elements / 2, elements - 1}) {
      const Plant plant(Element(at), nan);
      Expect(name_ + ": NaN in element " + std::to_string(at), Check(), false);
    }
    ASSAY_RETURN_IF_ERROR(WrongRow());
    WrongElement();
    // The last tile of the output was never written.
    const auto width = static_cast<size_t>(std::min<int64_t>(shape_.n, 64) * Bytes());
    const int64_t rows = shape_.batch * shape_.m;
    for (int64_t row = std::max<int64_t>(0, rows - 64); row < rows; ++row) {
      ASSAY_RETURN_IF_ERROR(
          PlantNan(Element(row * shape_.n + shape_.n - std::min<int64_t>(shape_.n, 64)), width));
    }
    Expect(name_ + ": last tile unwritten", Check(), false);
    return Status::Ok();
  }

 private:
  Status MakeProduct() {
    ASSAY_ASSIGN_OR_RETURN(stream_, CudaStream::Create());
    ASSAY_ASSIGN_OR_RETURN(a_, DeviceBuffer::Allocate(shape_.ABytes(), "A"));
    ASSAY_ASSIGN_OR_RETURN(b_, DeviceBuffer::Allocate(shape_.BBytes(), "B"));
    ASSAY_ASSIGN_OR_RETURN(d_, DeviceBuffer::Allocate(shape_.DBytes(), "D"));
    ASSAY_RETURN_IF_ERROR(PlantNan(d_.data(), static_cast<size_t>(shape_.DBytes())));
    ASSAY_RETURN_IF_ERROR(FillGemmInputs(shape_, inputs_, 0, a_.data(), b_.data(), stream_.get()));
    ASSAY_RETURN_IF_ERROR(multiply_(shape_, Operands(), stream_.get()));
    ASSAY_CUDA(cudaStreamSynchronize(stream_.get()));
    return Status::Ok();
  }

  // A row of another position: each value is plausible, none is right.
  Status WrongRow() {
    if (inputs_.zeros || shape_.m < 4) return Status::Ok();
    const auto bytes = static_cast<size_t>(shape_.n * Bytes());
    std::vector<unsigned char> other(bytes);
    ASSAY_CUDA(cudaMemcpy(other.data(), Element(0), bytes, cudaMemcpyDefault));
    const Plant plant(Element(2 * shape_.n), other);
    Expect(name_ + ": row 2 is row 0", Check(), false);
    return Status::Ok();
  }

  // A row whose error is far larger than rounding.
  void WrongElement() {
    const std::vector<unsigned char> wrong(Size(), 0x45);
    const Plant plant(Element(std::min(shape_.n * 3 + 5, shape_.m * shape_.n - 1)), wrong);
    Expect(name_ + ": one wrong element", Check(), false);
  }

  // Size of an element of D.
  int64_t Bytes() const { return shape_.OutputBytes(); }
  size_t Size() const { return static_cast<size_t>(Bytes()); }
  void* Element(int64_t at) const { return d_.At(at * Bytes()); }
  GemmOperands Operands() const { return {a_.data(), b_.data(), d_.data()}; }
  Result<Verdict> Check() { return CheckGemm(shape_, inputs_, 0, Operands(), stream_.get()); }

  const GemmShape shape_;
  const Multiply multiply_;
  const std::string name_;
  GemmInputs inputs_;
  CudaStream stream_;
  DeviceBuffer a_, b_, d_;
};

Status ByCublasLt(const GemmShape& shape, const GemmOperands& operands, cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const auto gemm, LtGemm::Create(shape));
  ASSAY_RETURN_IF_ERROR(gemm->Enqueue(operands, stream));
  ASSAY_CUDA(cudaStreamSynchronize(stream));  // Waits while the workspace is still alive.
  return Status::Ok();
}

// In fp64.
template <typename A, typename B = A, typename D = A>
Status ByHost(const GemmShape& shape, const GemmOperands& operands, cudaStream_t stream) {
  const auto [m, n, k] = std::tuple(shape.m, shape.n, shape.k);
  ASSAY_ASSIGN_OR_RETURN(
      const std::vector<A> a,
      ReadFromGpu<A>(operands.a, static_cast<size_t>(shape.batch * m * k), stream));
  ASSAY_ASSIGN_OR_RETURN(
      const std::vector<B> b,
      ReadFromGpu<B>(operands.b, static_cast<size_t>(shape.batch * k * n), stream));
  std::vector<D> d;
  for (int64_t row = 0; row < shape.batch * m; ++row) {
    const A* const of_a = a.data() + row / m * m * k;
    const B* const of_b = b.data() + row / m * k * n;
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        const A left = of_a[shape.a_transposed ? l * m + row % m : row % m * k + l];
        const B right = of_b[shape.b_transposed ? column * k + l : l * n + column];
        sum += ToDouble(left) * ToDouble(right);
      }
      d.push_back(RoundTo<D>(sum));
    }
  }
  return WriteToGpu(operands.d, d);
}

// Checks inputs that are zero.
Status ByNobody(const GemmShape& shape, const GemmOperands& operands, cudaStream_t stream) {
  ASSAY_CUDA(cudaMemsetAsync(operands.d, 0, static_cast<size_t>(shape.DBytes()), stream));
  return Status::Ok();
}

struct TypeOfGemm {
  const char* name;
  GemmType type;
  Multiply by_host;
  std::vector<const char*> layouts;  // Of A and of B; t: stored transposed.
};

const std::vector<TypeOfGemm>& Types() {
  static const std::vector<const char*> all = {"nn", "nt", "tn", "tt"};
  static const std::vector<TypeOfGemm> types = {
      {"fp32", GemmType::kFp32, ByHost<float>, all},
      {"tf32", GemmType::kTf32, ByHost<float>, all},
      {"bf16", GemmType::kBf16, ByHost<__nv_bfloat16>, all},
      {"fp16", GemmType::kFp16, ByHost<__half>, all},
      {"fp64", GemmType::kFp64, ByHost<double>, all},
      {"fp8_e4m3", GemmType::kFp8E4m3, ByHost<__nv_fp8_e4m3, __nv_fp8_e4m3, __nv_bfloat16>, {"nt"}},
      {"fp8_e5m2", GemmType::kFp8E5m2, ByHost<__nv_fp8_e5m2, __nv_fp8_e4m3, __nv_bfloat16>, {"nt"}},
      {"int8", GemmType::kInt8, ByHost<int8_t, int8_t, int32_t>, {"nt"}}};
  return types;
}

// Large enough for Freivalds' method, in every storage order of operands.
Status TestLargeGemm() {
  constexpr int64_t kSide = 16384;
  const std::vector<std::pair<const char*, GemmShape>> shapes = {
      {"bf16 nn", {GemmType::kBf16, kSide, kSide, kSide, false, false}},
      {"bf16 tt", {GemmType::kBf16, kSide, kSide, kSide / 2, true, true}},
      {"fp32 nn", {GemmType::kFp32, kSide, kSide, kSide, false, false}},
      {"fp8_e4m3 nt", {GemmType::kFp8E4m3, kSide, kSide, kSide, false, true}},
      {"int8 nt", {GemmType::kInt8, kSide, kSide, kSide / 2, false, true}}};
  for (const auto& [name, shape] : shapes) {
    ASSAY_RETURN_IF_ERROR(GemmFaults(shape, ByCublasLt, std::string("gemm large ") + name).Run());
  }
  return Status::Ok();
}

}  // namespace

Status TestGemm() {
  for (const TypeOfGemm& type : Types()) {
    for (const char* layout : type.layouts) {
      GemmShape shape{type.type, 1000, 528, 1040, layout[0] == 't', layout[1] == 't'};
      const std::string name = std::string("gemm ") + type.name + " " + layout;
      ASSAY_RETURN_IF_ERROR(GemmFaults(shape, ByCublasLt, name).Run());
      shape.batch = 3;
      shape.fast_accumulation = shape.IsFp8();
      ASSAY_RETURN_IF_ERROR(GemmFaults(shape, ByCublasLt, name + " x 3").Run());
    }
  }
  ASSAY_RETURN_IF_ERROR(
      GemmFaults({GemmType::kBf16, 1000, 520, 1032}, ByCublasLt, "gemm bf16 zeros", true).Run());
  ASSAY_RETURN_IF_ERROR(
      GemmFaults({GemmType::kBf16, 1, 1, 1}, ByCublasLt, "gemm bf16 1x1x1").Run());
  return TestLargeGemm();
}

Status TestHostGemm() {
  for (const TypeOfGemm& type : Types()) {
    for (const char* layout : type.layouts) {
      const std::string name = std::string("host's gemm ") + type.name + " " + layout;
      GemmShape shape{type.type, 70, 131, 37, layout[0] == 't', layout[1] == 't', 2};
      ASSAY_RETURN_IF_ERROR(GemmFaults(shape, type.by_host, name).Run());
      // Checked with Freivalds' method, at a size whose product would take the host hours.
      shape = {type.type, 8192, 16384, 9408, shape.a_transposed, shape.b_transposed};
      ASSAY_RETURN_IF_ERROR(GemmFaults(shape, ByNobody, name + ", large zeros", true).Run());
    }
  }
  return Status::Ok();
}

}  // namespace assay
