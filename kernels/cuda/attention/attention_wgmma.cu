// The `flash_wgmma` variant of the attention benchmark: bf16 and fp16 with Hopper's wgmma,
// scheduled as in FlashAttention-3 (Shah et al., 2024). A producer warpgroup loads tiles of 128
// keys and values with the copy engine (TMA). Two or three consumer warpgroups compute 64 rows of O
// each. Exponentials of the softmax take as long as the matrix products, so two overlaps hide them:
// - Within a consumer, P V of one tile is computed during the softmax of the next tile.
// - Consumers take turns in issuing products, so that the products of one consumer run during the
//   softmax of another.
#include <cmath>

#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/attention_tiles.cuh"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/exponential.cuh"
#include "kernels/cuda/frame/hopper.cuh"
#include "kernels/cuda/frame/wgmma.cuh"

namespace assay {
namespace {

constexpr int kGroupThreads = 128;
constexpr int kGroupRows = 64;  // Rows per consumer.
constexpr int kKeys = 128;
constexpr int kStages = 2;

template <int d>
struct Layout {
  // d = 64 leaves registers for a third consumer.
  static constexpr int kConsumers = d == 64 ? 3 : 2;
  static constexpr int kThreads = (1 + kConsumers) * kGroupThreads;
  static constexpr int kRows = kConsumers * kGroupRows;
};

// Tiles are stored as panels of 64 columns: all rows of one panel, then the next panel.
template <typename T, int d>
struct Shared {
  T q[Layout<d>::kConsumers][kGroupRows * d];  // Holds O at the end.
  T k[kStages][kKeys * d];
  T v[kStages][kKeys * d];
  uint64_t q_full;
  uint64_t k_full[kStages];
  uint64_t k_empty[kStages];
  uint64_t v_full[kStages];
  uint64_t v_empty[kStages];
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kAlignment = 1024;  // Required for swizzled tiles.
constexpr int kPanel = kAttentionPanel;
constexpr int kEightRows = 8 * kPanel * 2;  // In bytes.

// The position in a ring of stages.
struct Ring {
  int stage = 0;
  uint32_t parity = 0;
  __device__ void Advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// Barriers 1.. say which consumer may issue products; barriers 4.. synchronize one consumer.
__device__ int TurnBarrier(int group) { return 1 + group; }
__device__ int GroupBarrier(int group) { return 4 + group; }

// Loads the box of `map` at (0, row, 0, head); completes on `barrier`.
__device__ void LoadTile(void* to, const CUtensorMap* map, int row, int head, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %2, %4}], [%5];" ::"r"(hopper::SharedAddress(to)),
      "l"(map), "r"(0), "r"(row), "r"(head), "r"(hopper::SharedAddress(barrier))
      : "memory");
}

// Stores the box; rows beyond the array are skipped. Call CommitStores afterwards.
__device__ void StoreTile(const CUtensorMap* map, const void* from, int row, int head) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %1, %3}], [%4];" ::"l"(
          map),
      "r"(0), "r"(row), "r"(head), "r"(hopper::SharedAddress(from))
      : "memory");
}

template <typename T, int d>
__device__ void Produce(Shared<T, d>& shared, const AttentionTensorMaps& maps,
                        const QueryTile& tile) {
  const int head = static_cast<int>(tile.head);
  hopper::ArriveExpect(&shared.q_full, sizeof shared.q);
  for (int group = 0; group < Layout<d>::kConsumers; ++group) {
    LoadTile(shared.q[group], &maps.q, tile.first + group * kGroupRows, head, &shared.q_full);
  }
  Ring ring;
  // The last tile comes first, so that the masked tiles precede the others.
  for (int key0 = (tile.end_key - 1) / kKeys * kKeys; key0 >= 0; key0 -= kKeys) {
    hopper::WaitBarrier(&shared.k_empty[ring.stage], ring.parity ^ 1);
    hopper::ArriveExpect(&shared.k_full[ring.stage], sizeof shared.k[0]);
    LoadTile(shared.k[ring.stage], &maps.k, key0, head, &shared.k_full[ring.stage]);
    hopper::WaitBarrier(&shared.v_empty[ring.stage], ring.parity ^ 1);
    hopper::ArriveExpect(&shared.v_full[ring.stage], sizeof shared.v[0]);
    LoadTile(shared.v[ring.stage], &maps.v, key0, head, &shared.v_full[ring.stage]);
    ring.Advance();
  }
}

// The state of one thread of a consumer warpgroup. Each warp computes 16 rows, of which the thread
// holds rows lane / 4 and lane / 4 + 8. Of every 8 columns, the thread holds the two that start at
// lane % 4 * 2.
template <typename T, int d>
class Consumer {
 public:
  __device__ Consumer(Shared<T, d>& shared, int group, int first_row, int n, bool causal,
                      float scale_log2)
      : shared_(shared),
        group_(group),
        row_(first_row + static_cast<int>(threadIdx.x) % kGroupThreads / 32 * 16 + Lane() / 4),
        first_row_(first_row),
        n_(n),
        causal_(causal),
        scale_log2_(scale_log2) {}

  __device__ void Run(int key0) {
    hopper::WaitBarrier(&shared_.q_full, 0);
    if (group_ == 0) hopper::SignalNamed(TurnBarrier(0), 2 * kGroupThreads);
    hopper::WaitBarrier(&shared_.k_full[0], 0);
    MultiplyScores();
    hopper::MatrixWait<0>();
    hopper::Pin(s_);
    Release(&shared_.k_empty[0]);
    k_.Advance();
    float shrink[2];
    Softmax(key0, shrink);
    Narrow();
    int add = 0;
    for (key0 -= kKeys; key0 >= 0; key0 -= kKeys) {
      hopper::WaitBarrier(&shared_.k_full[k_.stage], k_.parity);
      hopper::SyncNamed(TurnBarrier(group_), 2 * kGroupThreads);
      MultiplyScores();
      hopper::WaitBarrier(&shared_.v_full[v_.stage], v_.parity);
      MultiplyValues(add);
      add = 1;
      hopper::SignalNamed(TurnBarrier((group_ + 1) % Layout<d>::kConsumers), 2 * kGroupThreads);
      hopper::MatrixWait<1>();
      hopper::Pin(s_);
      Release(&shared_.k_empty[k_.stage]);
      k_.Advance();
      Softmax(key0, shrink);
      hopper::MatrixWait<0>();
      hopper::Pin(o_);
      Release(&shared_.v_empty[v_.stage]);
      v_.Advance();
#pragma unroll
      for (int i = 0; i < d / 2; ++i) o_[i] *= shrink[i / 2 % 2];
      Narrow();
    }
    hopper::WaitBarrier(&shared_.v_full[v_.stage], v_.parity);
    MultiplyValues(add);
    hopper::MatrixWait<0>();
    hopper::Pin(o_);
  }

  // Writes O / sum with the copy engine, through this consumer's part of Q.
  __device__ void Store(const CUtensorMap* map, int head) {
    T* out = shared_.q[group_];
    const int row = row_ - first_row_;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = sum_[h];
      sum += __shfl_xor_sync(0xffffffff, sum, 1);
      sum += __shfl_xor_sync(0xffffffff, sum, 2);
      const float inverse = 1 / sum;
#pragma unroll
      for (int chunk = 0; chunk < d / 8; ++chunk) {
        T* to = out + chunk / 8 * kGroupRows * kPanel + (row + h * 8) * kPanel +
                (chunk % 8 ^ row % 8) * 8 + Lane() % 4 * 2;
        *reinterpret_cast<uint32_t*>(to) =
            Pack(o_[chunk * 4 + h * 2] * inverse, o_[chunk * 4 + h * 2 + 1] * inverse, T());
      }
    }
    hopper::FenceForCopyEngine();
    hopper::SyncNamed(GroupBarrier(group_), kGroupThreads);
    if (threadIdx.x % kGroupThreads == 0) {
      StoreTile(map, out, first_row_, head);
      hopper::CommitStores();
      hopper::WaitStoresRead<0>();
    }
  }

 private:
  __device__ static int Lane() { return static_cast<int>(threadIdx.x) % 32; }

  // Every warp arrives separately when it has finished with a stage.
  __device__ static void Release(uint64_t* empty) {
    if (Lane() == 0) hopper::Arrive(empty);
  }

  __device__ void MultiplyScores() {
    hopper::Pin(s_);
    hopper::MatrixFence();
    const T* k = shared_.k[k_.stage];
    const T* q = shared_.q[group_];
#pragma unroll
    for (int step = 0; step < d / 16; ++step) {
      const int panel = step / (kPanel / 16);
      const int column = step % (kPanel / 16) * 16;
      hopper::MultiplyShared<T, hopper::kAlongK>(
          s_, hopper::SwizzledOperand(q + panel * kGroupRows * kPanel + column, 0, kEightRows),
          hopper::SwizzledOperand(k + panel * kKeys * kPanel + column, 0, kEightRows), step > 0);
    }
    hopper::MatrixCommit();
  }

  // Computes O = P V, or O += P V if `add`.
  __device__ void MultiplyValues(int add) {
    hopper::Pin(o_);
    hopper::Pin(p_);
    hopper::MatrixFence();
    const T* v = shared_.v[v_.stage];
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {
      hopper::MultiplyRegister<T>(
          o_, p_ + step * 4,
          hopper::SwizzledOperand(v + step * 16 * kPanel, kKeys * kPanel * 2, kEightRows),
          step > 0 ? 1 : add);
    }
    hopper::MatrixCommit();
  }

  __device__ void Mask(int key0) {
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      const int key = key0 + i / 4 * 8 + Lane() % 4 * 2 + i % 2;
      if (key >= n_ || (causal_ && key > row_ + i / 2 % 2 * 8)) s_[i] = -INFINITY;
    }
  }

  // Replaces the scores S by P in fp32. `shrink` receives the factor to rescale O by.
  __device__ void Softmax(int key0, float (&shrink)[2]) {
    if (key0 + kKeys > n_ || (causal_ && key0 + kKeys > first_row_ + 1)) Mask(key0);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float largest = maximum_[h];
#pragma unroll
      for (int i = h * 2; i < kKeys / 2; i += 4) {
        largest = fmaxf(largest, fmaxf(s_[i], s_[i + 1]));
      }
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
      // A row may see no key of the first tiles.
      const float shift = largest == -INFINITY ? 0.0F : largest * scale_log2_;
      shrink[h] = FastExp2(maximum_[h] * scale_log2_ - shift);
      maximum_[h] = largest;
      sum_[h] *= shrink[h];
#pragma unroll
      for (int i = h * 2; i < kKeys / 2; i += 4) {
        s_[i] = FastExp2(s_[i] * scale_log2_ - shift);
        s_[i + 1] = FastExp2(s_[i + 1] * scale_log2_ - shift);
        sum_[h] += s_[i] + s_[i + 1];
      }
    }
  }

  // Converts P to the operand's type. Its layout as an operand equals that of S as a result.
  __device__ void Narrow() {
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) p_[i] = Pack(s_[i * 2], s_[i * 2 + 1], T());
  }

  Shared<T, d>& shared_;
  const int group_;
  const int row_;        // The first of the thread's two rows.
  const int first_row_;  // The consumer's first row.
  const int n_;
  const bool causal_;
  const float scale_log2_;
  Ring k_;
  Ring v_;
  float s_[kKeys / 2];
  float o_[d / 2];
  uint32_t p_[kKeys / 4];
  float maximum_[2] = {-INFINITY, -INFINITY};
  float sum_[2] = {};
};

template <typename T, int d>
__device__ void InitBarriers(Shared<T, d>* shared) {
  constexpr int kConsumerWarps = Layout<d>::kConsumers * kGroupThreads / 32;
  hopper::InitBarrier(&shared->q_full, 1);
  for (int stage = 0; stage < kStages; ++stage) {
    hopper::InitBarrier(&shared->k_full[stage], 1);
    hopper::InitBarrier(&shared->v_full[stage], 1);
    hopper::InitBarrier(&shared->k_empty[stage], kConsumerWarps);
    hopper::InitBarrier(&shared->v_empty[stage], kConsumerWarps);
  }
  hopper::FenceBarrierInit();
}
#endif

template <typename T, int d>
__global__ void __launch_bounds__(Layout<d>::kThreads, 1)
    WgmmaKernel(const __grid_constant__ AttentionTensorMaps maps, int n, bool causal,
                float scale_log2) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(kAlignment) unsigned char dynamic_shared[];
  auto& shared = *reinterpret_cast<Shared<T, d>*>(dynamic_shared);
  const QueryTile tile = TileOfBlock(n, Layout<d>::kRows, causal);
  if (threadIdx.x == 0) InitBarriers(&shared);
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / kGroupThreads;
  // Together these are all registers of a multiprocessor.
  constexpr int kProducerRegisters = Layout<d>::kConsumers == 3 ? 32 : 24;
  constexpr int kConsumerRegisters = Layout<d>::kConsumers == 3 ? 160 : 240;
  if (group == 0) {
    hopper::DecreaseRegisters<kProducerRegisters>();
    if (threadIdx.x == 0) Produce(shared, maps, tile);
  } else {
    hopper::IncreaseRegisters<kConsumerRegisters>();
    Consumer<T, d> consumer(shared, group - 1, tile.first + (group - 1) * kGroupRows, n, causal,
                            scale_log2);
    consumer.Run((tile.end_key - 1) / kKeys * kKeys);
    consumer.Store(&maps.o, static_cast<int>(tile.head));
  }
#endif
}

template <typename T, int d>
Status PrepareKernel() {
  ASSAY_CUDA(cudaFuncSetAttribute(WgmmaKernel<T, d>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(sizeof(Shared<T, d>))));
  return Status::Ok();
}

template <typename T, int d>
Status Enqueue(const AttentionShape& shape, const AttentionTensorMaps& maps, cudaStream_t stream) {
  const int64_t tiles = (shape.n + Layout<d>::kRows - 1) / Layout<d>::kRows;
  const auto scale_log2 = static_cast<float>(M_LOG2E / std::sqrt(static_cast<double>(d)));
  WgmmaKernel<T, d><<<static_cast<unsigned>(shape.heads * tiles), Layout<d>::kThreads,
                      sizeof(Shared<T, d>), stream>>>(maps, shape.n, shape.causal, scale_log2);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

// Calls `body` with the TypeTag of the dtype and with d as a constant.
template <typename Body>
Status WithKernel(const AttentionShape& shape, const Body& body) {
  using D64 = std::integral_constant<int, 64>;
  using D128 = std::integral_constant<int, 128>;
  if (shape.dtype == "fp16") {
    return shape.d == 64 ? body(TypeTag<__half>(), D64()) : body(TypeTag<__half>(), D128());
  }
  return shape.d == 64 ? body(TypeTag<__nv_bfloat16>(), D64())
                       : body(TypeTag<__nv_bfloat16>(), D128());
}

}  // namespace

Status PrepareWgmmaAttention(const AttentionShape& shape, const GpuDevice& device) {
  if (device.compute_major != 9) {
    return Unsupported("variant flash_wgmma needs compute capability 9.0; this GPU has " +
                       std::to_string(device.compute_major) + "." +
                       std::to_string(device.compute_minor));
  }
  return WithKernel(shape, [](auto tag, auto d) {
    return PrepareKernel<typename decltype(tag)::Type, decltype(d)::value>();
  });
}

Result<AttentionTensorMaps> EncodeAttentionMaps(const AttentionShape& shape,
                                                const AttentionArrays& arrays) {
  AttentionTensorMaps maps;
  ASSAY_ASSIGN_OR_RETURN(maps.q, EncodeAttentionMap(shape, arrays.q, kGroupRows));
  ASSAY_ASSIGN_OR_RETURN(maps.k, EncodeAttentionMap(shape, arrays.k, kKeys));
  ASSAY_ASSIGN_OR_RETURN(maps.v, EncodeAttentionMap(shape, arrays.v, kKeys));
  ASSAY_ASSIGN_OR_RETURN(maps.o, EncodeAttentionMap(shape, arrays.o, kGroupRows));
  return maps;
}

Status EnqueueWgmmaAttention(const AttentionShape& shape, const AttentionTensorMaps& maps,
                             cudaStream_t stream) {
  return WithKernel(shape, [&](auto tag, auto d) {
    return Enqueue<typename decltype(tag)::Type, decltype(d)::value>(shape, maps, stream);
  });
}

}  // namespace assay
