// The gemv benchmark: y = x W', where x has only a few rows (m), as when a language model generates
// tokens. W' is the transpose of W. Each weight is read once and used only once per row of x, so
// memory bandwidth limits the speed.
// - Multiple rows of bf16 or fp16 use tensor cores: wgmma on Hopper (gemv_wgmma.cuh), and mma.sync
//   on all other GPUs since Ampere (gemv_kernel.cuh).
// - All other products use fused multiply-adds: those with a single row, those of fp32 elements,
//   and those whose rows are not aligned to 16 bytes.
// On Hopper and newer GPUs, successive iterations overlap like the layers of a model: each kernel
// loads its first weights before the previous one has finished.
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cuda/frame/async_copy.cuh"
#include "kernels/cuda/frame/dependent_launch.cuh"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/frame/tensor_core.cuh"
#include "kernels/cuda/gemm/gemm_data.h"
#include "kernels/cuda/gemm/gemm_values.cuh"
#include "kernels/cuda/gemv/gemv_kernel.cuh"
#include "kernels/cuda/gemv/gemv_launch.cuh"
#include "kernels/cuda/gemv/gemv_wgmma.cuh"

namespace assay {
namespace {

// Sizes for FmaGemvKernel. The threads of a block process the same kStripRows rows of W and split k
// among themselves.
constexpr int kThreads = 128;
constexpr int kStripRows = 4;
// The number of resident blocks per multiprocessor that keeps enough loads of W in flight.
constexpr int kResident = 4;

template <typename T, int length>
struct Vector {
  T element[length];
};
// Several elements packed into one integer, so that a single instruction loads them. They are
// unpacked only where they are used, because unpacked 16-bit elements would each occupy a whole
// register, and fewer blocks would fit on a multiprocessor.
template <typename T, int length>
using Packed =
    std::conditional_t<sizeof(T) * length == 16, uint4,
                       std::conditional_t<sizeof(T) * length == 4, uint32_t, unsigned short>>;

// Loads the vector at from[at], or returns zeros if `at` is at or beyond `end`. Set `once` for data
// that is read only once, so that its cache lines are the first to be evicted.
template <typename T, int length, bool once>
__device__ Packed<T, length> LoadVector(const T* from, int64_t at, int64_t end) {
  if (at >= end) return {};
  const auto* packed = reinterpret_cast<const Packed<T, length>*>(from + at);
  return once ? __ldcs(packed) : *packed;
}

template <typename T, int length>
__device__ Vector<T, length> Unpack(const Packed<T, length>& packed) {
  Vector<T, length> vector;
  memcpy(&vector, &packed, sizeof vector);
  return vector;
}

// Computes y = x W' with fused multiply-adds. A block multiplies `rows` rows of x by a strip of
// kStripRows rows of W. Consecutive blocks use the same strip, so they share it in the L2 cache. To
// keep many loads in flight, a thread loads `ahead` vectors from each row of W before using the
// first of them.
template <typename T, int length, int rows, int ahead>
__global__ void __launch_bounds__(kThreads, kResident)
    FmaGemvKernel(const T* x, const T* w, T* y, int64_t m, int64_t n, int64_t k,
                  int64_t row_blocks) {
  constexpr int kStep = kThreads * length;
  const int64_t row0 = blockIdx.x % row_blocks * rows;
  const int64_t column0 = blockIdx.x / row_blocks * kStripRows;
  float sum[rows][kStripRows] = {};
  // Rows beyond the last one are copies of the last row. Their results are not stored.
  const T* x_row[rows];
  const T* w_row[kStripRows];
#pragma unroll
  for (int i = 0; i < rows; ++i) x_row[i] = x + min(row0 + i, m - 1) * k;
#pragma unroll
  for (int j = 0; j < kStripRows; ++j) w_row[j] = w + min(column0 + j, n - 1) * k;
  AllowNext();
  bool waited = false;
  for (int64_t at = int64_t{threadIdx.x} * length; at < k; at += ahead * kStep) {
    Packed<T, length> weights[ahead][kStripRows];
#pragma unroll
    for (int step = 0; step < ahead; ++step) {
#pragma unroll
      for (int j = 0; j < kStripRows; ++j) {
        weights[step][j] = LoadVector<T, length, rows == 1>(w_row[j], at + step * kStep, k);
      }
    }
    if (!waited) WaitForPrevious();
    waited = true;
#pragma unroll
    for (int step = 0; step < ahead; ++step) {
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        const Vector<T, length> values =
            Unpack<T, length>(LoadVector<T, length, false>(x_row[i], at + step * kStep, k));
#pragma unroll
        for (int j = 0; j < kStripRows; ++j) {
          const Vector<T, length> w_values = Unpack<T, length>(weights[step][j]);
#pragma unroll
          for (int e = 0; e < length; ++e) {
            sum[i][j] +=
                static_cast<float>(values.element[e]) * static_cast<float>(w_values.element[e]);
          }
        }
      }
    }
  }
  if (!waited) WaitForPrevious();
  __shared__ float sums[kThreads / 32][rows * kStripRows];
#pragma unroll
  for (int i = 0; i < rows; ++i) {
#pragma unroll
    for (int j = 0; j < kStripRows; ++j) {
      for (int offset = 16; offset > 0; offset /= 2) {
        sum[i][j] += __shfl_down_sync(0xffffffff, sum[i][j], offset);
      }
      if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32][i * kStripRows + j] = sum[i][j];
    }
  }
  __syncthreads();
  const int64_t row = row0 + threadIdx.x / kStripRows;
  const int64_t column = column0 + threadIdx.x % kStripRows;
  if (threadIdx.x >= rows * kStripRows || row >= m || column >= n) return;
  float total = 0;
  for (int warp = 0; warp < kThreads / 32; ++warp) total += sums[warp][threadIdx.x];
  y[row * n + column] = Narrow<T>(total);
}

template <typename T, int length>
Status LaunchFma(const T* x, const T* w, T* y, const GemmShape& shape, bool overlap,
                 cudaStream_t stream) {
  const auto launch = [&](auto rows, auto ahead) {
    constexpr int kRows = decltype(rows)::value;
    const int64_t row_blocks = (shape.m + kRows - 1) / kRows;
    const int64_t strips = (shape.n + kStripRows - 1) / kStripRows;
    return LaunchOverlapping(FmaGemvKernel<T, length, kRows, decltype(ahead)::value>,
                             dim3(static_cast<unsigned>(row_blocks * strips)), kThreads, 0, overlap,
                             stream, x, w, y, shape.m, shape.n, shape.k, row_blocks);
  };
  if (shape.m == 1)
    return launch(std::integral_constant<int, 1>(), std::integral_constant<int, 4>());
  if (shape.m <= 4)
    return launch(std::integral_constant<int, 4>(), std::integral_constant<int, 2>());
  return launch(std::integral_constant<int, 8>(), std::integral_constant<int, 1>());
}

// A policy class that lets GemvKernel read a plain n x k matrix W, row-major, in bf16 or fp16. k
// must be a multiple of 8, so that rows start at 16-byte boundaries.
template <typename T>
struct DenseWeights {
  const T* data = nullptr;
  int64_t n = 0;
  int64_t k = 0;

  // The size of one chunk of a tile in shared memory: 64 bytes per lane.
  static constexpr int kStageBytes = 2048;
  struct Scales {};
  struct Cursor {
    const T* row[2];  // Rows g and g + 8, at the lane's k.
    bool valid[2];
  };

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  __device__ Cursor At(int64_t tile, int lane) const {
    Cursor cursor;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t row = tile * kGemvTile + lane / 4 + half * 8;
      cursor.valid[half] = row < n;
      cursor.row[half] = data + (row < n ? row : 0) * k + lane % 4 * 8;
    }
    return cursor;
  }

  __device__ void Load(char* stage, const Cursor& cursor, int64_t chunk, int lane) const {
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      const int64_t from = chunk * kGemvChunk + part / 2 * 32;
      const bool valid = cursor.valid[part % 2] && from + lane % 4 * 8 < k;
      CopyAsync<16>(stage + part * 512 + lane * 16, valid ? cursor.row[part % 2] + from : data,
                    valid);
    }
  }

  __device__ static Scales Fragments(const char* stage, int lane, uint32_t (&a)[kGemvSteps][4]) {
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      const uint4 vector = *reinterpret_cast<const uint4*>(stage + part * 512 + lane * 16);
      const int step = part / 2 * 2;
      const int row = part % 2;
      a[step][row] = vector.x;
      a[step][row + 2] = vector.y;
      a[step + 1][row] = vector.z;
      a[step + 1][row + 2] = vector.w;
    }
    return {};
  }

  template <typename X>
  __device__ static void Multiply(const uint32_t (&a)[kGemvSteps][4], const uint4 (&x)[2],
                                  const Scales&, float (&sum)[4]) {
    MultiplyTile<X>(sum, a[0], x[0].x, x[0].y);
    MultiplyTile<X>(sum, a[1], x[0].z, x[0].w);
    MultiplyTile<X>(sum, a[2], x[1].x, x[1].y);
    MultiplyTile<X>(sum, a[3], x[1].z, x[1].w);
  }
#endif
};

// The device memory of one set of buffers. Iterations rotate through several sets. Not owned.
template <typename T>
struct GemvOperands {
  const T* x;
  const T* w;
  T* y;
};

// A function that enqueues the product for set `set` of the buffers.
using Multiply = std::function<Status(int64_t set, cudaStream_t)>;

template <typename T>
Multiply FmaProduct(const GemmShape& shape, const std::vector<GemvOperands<T>>& sets,
                    const GpuDevice& device) {
  const bool overlap = device.compute_major >= 9;
  return [=](int64_t set, cudaStream_t stream) {
    constexpr int kLength = 16 / sizeof(T);
    const GemvOperands<T>& of = sets[static_cast<size_t>(set)];
    return shape.k % kLength == 0 ? LaunchFma<T, kLength>(of.x, of.w, of.y, shape, overlap, stream)
                                  : LaunchFma<T, 1>(of.x, of.w, of.y, shape, overlap, stream);
  };
}

template <typename T>
Result<Multiply> TiledProduct(const GemmShape& shape, const std::vector<GemvOperands<T>>& sets,
                              const GpuDevice& device) {
  using Launcher = GemvLauncher<DenseWeights<T>, T>;
  const auto make = [&](auto kind) {
    return Launcher::template Tiled<decltype(kind)>(shape.m, shape.n, shape.k, device);
  };
  ASSAY_ASSIGN_OR_RETURN(Launcher made, shape.m <= 8    ? make(GemvShape<1, 1, 1, 8, 4, false>())
                                        : shape.m <= 16 ? make(GemvShape<2, 1, 4, 2, 4, true>())
                                        : shape.m <= 32 ? make(GemvShape<4, 1, 4, 2, 4, true>())
                                        : shape.m <= 64 ? make(GemvShape<8, 1, 8, 1, 4, true>())
                                                        : make(GemvShape<16, 1, 8, 1, 4, true>()));
  const auto launcher = std::make_shared<Launcher>(std::move(made));
  return Multiply([=](int64_t set, cudaStream_t stream) {
    const GemvOperands<T>& of = sets[static_cast<size_t>(set)];
    return launcher->Launch({of.w, shape.n, shape.k}, of.x, of.y, stream);
  });
}

template <typename T>
Result<Multiply> WgmmaProduct(const GemmShape& shape, const std::vector<GemvOperands<T>>& sets,
                              const GpuDevice& device) {
  ASSAY_ASSIGN_OR_RETURN(WgmmaGemv<T> made, WgmmaGemv<T>::Create(shape, device));
  const auto gemv = std::make_shared<WgmmaGemv<T>>(std::move(made));
  for (const GemvOperands<T>& of : sets) {
    ASSAY_RETURN_IF_ERROR(gemv->AddSet(of.x, of.w, of.y));
  }
  return Multiply([gemv](int64_t set, cudaStream_t stream) { return gemv->Launch(set, stream); });
}

template <typename T>
Result<Multiply> MakeProduct(const GemmShape& shape, const std::vector<GemvOperands<T>>& sets,
                             const GpuDevice& device) {
  if constexpr (sizeof(T) == 2) {
    if (shape.m > 1 && shape.k % 8 == 0) {
      if (device.compute_major == 9) return WgmmaProduct(shape, sets, device);
      if (device.compute_major >= 8) return TiledProduct(shape, sets, device);
    }
  }
  return FmaProduct(shape, sets, device);
}

GemmShape ShapeOf(const ParameterMap& parameters) {
  GemmShape shape;
  const std::string& dtype = Word(parameters, "dtype");
  shape.type = dtype == "fp32"   ? GemmType::kFp32
               : dtype == "fp16" ? GemmType::kFp16
                                 : GemmType::kBf16;
  shape.m = Integer(parameters, "m");
  shape.n = Integer(parameters, "n");
  shape.k = Integer(parameters, "k");
  shape.b_transposed = true;
  return shape;
}

class GemvCase : public GpuCase {
 public:
  explicit GemvCase(const RunContext& context)
      : GpuCase(context),
        dtype_(Word(context.parameters, "dtype")),
        shape_(ShapeOf(context.parameters)) {}

 protected:
  Status SetUp() override {
    if (dtype_ == "bf16") {
      ASSAY_RETURN_IF_ERROR(NeedCapability(device(), 8, 0, "bf16"));
    }
    x_ = AddArray(shape_.ABytes());
    w_ = AddArray(shape_.BBytes());
    y_ = AddArray(shape_.DBytes());
    ASSAY_RETURN_IF_ERROR(AllocateSets("x, W and y of " + std::to_string(shape_.m) + " x " +
                                           std::to_string(shape_.n) + " x " +
                                           std::to_string(shape_.k),
                                       4));
    return WithElementType(dtype_, [this](auto tag) -> Status {
      using T = typename decltype(tag)::Type;
      std::vector<GemvOperands<T>> operands;
      for (int64_t set = 0; set < sets(); ++set) {
        const int64_t x_count = shape_.m * shape_.k;
        const int64_t w_count = shape_.n * shape_.k;
        ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, x_), x_count, zeros(), seed(), kStreamA,
                                           set * x_count, stream()));
        ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, w_), w_count, zeros(), seed(), kStreamB,
                                           set * w_count, stream()));
        operands.push_back({Array<T>(set, x_), Array<T>(set, w_), Array<T>(set, y_)});
      }
      ASSAY_ASSIGN_OR_RETURN(multiply_, MakeProduct(shape_, operands, device()));
      return Status::Ok();
    });
  }

  Status Enqueue(int64_t set) override { return multiply_(set, stream()); }

  OutputRange Output(int64_t set) override { return {Array<void>(set, y_), shape_.DBytes()}; }

  Result<Verdict> Check(int64_t set) override {
    GemmInputs inputs;
    inputs.seed = seed();
    inputs.zeros = zeros();
    inputs.stride_a = shape_.m * shape_.k;
    inputs.stride_b = shape_.n * shape_.k;
    return CheckGemm(shape_, inputs, set,
                     {Array<void>(set, x_), Array<void>(set, w_), Array<void>(set, y_)}, stream());
  }

 private:
  const std::string dtype_;
  const GemmShape shape_;
  int x_ = 0;
  int w_ = 0;
  int y_ = 0;
  Multiply multiply_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewGemvCase(const RunContext& context) {
  return PrepareCase<GemvCase>(context);
}

}  // namespace assay
