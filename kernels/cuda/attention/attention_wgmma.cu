// The `flash_wgmma` variant of the attention benchmark: bf16 and fp16 on Hopper, scheduled as in
// FlashAttention-3 (Shah et al., 2024). In each block, a producer warpgroup loads tiles of 128 keys
// and values with the copy engine (TMA), and two or three consumer warpgroups compute 64 rows of O
// each. The exponentials of the softmax take as long as the matrix products, so two overlaps hide
// them:
// - Within a consumer, P V of one tile is computed during the softmax of the next tile.
// - Consumers take turns: one issues its matrix products while another computes its softmax.
#include <algorithm>
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

template <int consumers>
struct Layout {
  static constexpr int kConsumers = consumers;
  static constexpr int kThreads = (1 + kConsumers) * kGroupThreads;
  static constexpr int kRows = kConsumers * kGroupRows;
};

// Tiles are stored as panels of 64 columns: all rows of one panel, then the next panel.
template <typename T, int d, int consumers>
struct Shared {
  T q[kStages][Layout<consumers>::kConsumers][kGroupRows * d];  // Holds O at the end.
  T k[kStages][kKeys * d];
  T v[kStages][kKeys * d];
  uint64_t q_full[kStages];
  uint64_t q_empty[kStages];
  uint64_t k_full[kStages];
  uint64_t k_empty[kStages];
  uint64_t v_full[kStages];
  uint64_t v_empty[kStages];
};

// The work of a launch, divided into units. Block b computes units b, b + gridDim.x and so on. A
// unit is one tile of queries or, if `paired`, two. Pairs balance the work under a causal mask,
// where later queries have more keys: tile i of one head is paired with the i-th tile from the end
// of the next head.
struct Queries {
  unsigned units;
  int n;
  bool causal;
  bool paired;

  // Finds the tile of queries that this block computes in step `step`, counting from 0. Returns
  // false if the block has no such tile.
  template <int rows>
  __device__ bool Find(unsigned step, QueryTile* tile) const {
    const unsigned unit = blockIdx.x + (paired ? step / 2 : step) * gridDim.x;
    if (unit >= units) return false;
    unsigned number = unit;
    if (paired) {
      const unsigned tiles = (n + rows - 1) / rows;
      const unsigned of_head = unit % tiles;
      number = unit / tiles * 2 * tiles + (step % 2 == 0 ? of_head : 2 * tiles - 1 - of_head);
    }
    *tile = TileOf(number, n, rows, causal);
    return true;
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kAlignment = 1024;  // Required for swizzled tiles.
constexpr int kPanel = kAttentionPanel;
constexpr int kEightRows = 8 * kPanel * 2;  // In bytes.

static_assert(kStages == 2, "a tile's stage of Q is the other one of the next tile's");

// A position in a ring of stages. It is one number, because registers are scarce.
struct Ring {
  uint32_t count = 0;
  __device__ uint32_t Stage() const { return count % kStages; }
  __device__ uint32_t Parity() const { return count / kStages % 2; }
  __device__ void Advance() { ++count; }
};

// Barriers 1 to 3 pass on the turn to issue products. Those from 4 on synchronize one consumer.
__device__ int TurnBarrier(int group) { return 1 + group; }
__device__ int GroupBarrier(int group) { return 4 + group; }

// Loads the box of `map` at (0, row, 0, head), and signals `barrier` when it is complete.
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

template <typename T, int d, int consumers>
__device__ void Produce(Shared<T, d, consumers>& shared, const AttentionTensorMaps& maps,
                        const Queries& queries) {
  Ring q;
  Ring ring;
  QueryTile tile;
  for (unsigned step = 0; queries.Find<Layout<consumers>::kRows>(step, &tile); ++step) {
    const int head = static_cast<int>(tile.head);
    hopper::WaitBarrier(&shared.q_empty[q.Stage()], q.Parity() ^ 1);
    hopper::ArriveExpect(&shared.q_full[q.Stage()], sizeof shared.q[0]);
    for (int group = 0; group < Layout<consumers>::kConsumers; ++group) {
      LoadTile(shared.q[q.Stage()][group], &maps.q, tile.first + group * kGroupRows, head,
               &shared.q_full[q.Stage()]);
    }
    q.Advance();
    // The last tile comes first, so that the masked tiles precede the others.
    for (int key0 = (tile.end_key - 1) / kKeys * kKeys; key0 >= 0; key0 -= kKeys) {
      hopper::WaitBarrier(&shared.k_empty[ring.Stage()], ring.Parity() ^ 1);
      hopper::ArriveExpect(&shared.k_full[ring.Stage()], sizeof shared.k[0]);
      LoadTile(shared.k[ring.Stage()], &maps.k, key0, head, &shared.k_full[ring.Stage()]);
      hopper::WaitBarrier(&shared.v_empty[ring.Stage()], ring.Parity() ^ 1);
      hopper::ArriveExpect(&shared.v_full[ring.Stage()], sizeof shared.v[0]);
      LoadTile(shared.v[ring.Stage()], &maps.v, key0, head, &shared.v_full[ring.Stage()]);
      ring.Advance();
    }
  }
}

// The state of one thread of a consumer warpgroup. Its warp computes 16 rows, and the thread holds
// parts of two of them: rows lane / 4 and lane / 4 + 8. Of every eight columns, it holds the two
// that start at column lane % 4 * 2.
template <typename T, int d, int consumers>
class Consumer {
 public:
  __device__ Consumer(Shared<T, d, consumers>& shared, int group, const Queries& queries,
                      float scale_log2)
      : shared_(shared), group_(group), queries_(queries), scale_log2_(scale_log2) {}

  // Computes this consumer's rows of every tile of the block and stores them at `out`.
  __device__ void Run(const CUtensorMap* out) {
    if (group_ == 0) hopper::SignalNamed(TurnBarrier(0), 2 * kGroupThreads);
    QueryTile tile;
    for (unsigned step = 0; queries_.Find<Layout<consumers>::kRows>(step, &tile); ++step) {
      first_row_ = tile.first + group_ * kGroupRows;
      Compute((tile.end_key - 1) / kKeys * kKeys, step > 0);
      Store(out, static_cast<int>(tile.head));
      q_.Advance();
    }
    if (threadIdx.x % kGroupThreads == 0) hopper::WaitStoresRead<0>();
  }

 private:
  __device__ static int Lane() { return static_cast<int>(threadIdx.x) % 32; }

  // Returns the first of the thread's two rows, relative to the first row of the consumer.
  __device__ static int Row() {
    return static_cast<int>(threadIdx.x) % kGroupThreads / 32 * 16 + Lane() / 4;
  }

  // Computes, for one tile of queries, the softmax's denominator and O before division by it. Loops
  // over tiles of kKeys keys, from the one at `key0` down to key 0. Set `stored` if O of the
  // previous tile of queries may still be on its way to memory.
  __device__ void Compute(int key0, bool stored) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      maximum_[h] = -INFINITY;
      sum_[h] = 0;
    }
    hopper::WaitBarrier(&shared_.q_full[q_.Stage()], q_.Parity());
    hopper::WaitBarrier(&shared_.k_full[k_.Stage()], k_.Parity());
    MultiplyScores();
    hopper::MatrixWait<0>();
    hopper::Pin(s_);
    Release(&shared_.k_empty[k_.Stage()]);
    k_.Advance();
    if (stored && threadIdx.x % kGroupThreads == 0) {
      hopper::WaitStoresRead<0>();
      hopper::Arrive(&shared_.q_empty[q_.Stage() ^ 1]);
    }
    float shrink[2];
    Softmax(key0, shrink);
    Narrow();
    int add = 0;
    for (key0 -= kKeys; key0 >= 0; key0 -= kKeys) {
      hopper::WaitBarrier(&shared_.k_full[k_.Stage()], k_.Parity());
      hopper::SyncNamed(TurnBarrier(group_), 2 * kGroupThreads);
      MultiplyScores();
      hopper::WaitBarrier(&shared_.v_full[v_.Stage()], v_.Parity());
      MultiplyValues(add);
      add = 1;
      hopper::SignalNamed(TurnBarrier((group_ + 1) % Layout<consumers>::kConsumers),
                          2 * kGroupThreads);
      hopper::MatrixWait<1>();
      hopper::Pin(s_);
      Release(&shared_.k_empty[k_.Stage()]);
      k_.Advance();
      Softmax(key0, shrink);
      hopper::MatrixWait<0>();
      hopper::Pin(o_);
      Release(&shared_.v_empty[v_.Stage()]);
      v_.Advance();
#pragma unroll
      for (int i = 0; i < d / 2; ++i) o_[i] *= shrink[i / 2 % 2];
      Narrow();
    }
    hopper::WaitBarrier(&shared_.v_full[v_.Stage()], v_.Parity());
    MultiplyValues(add);
    hopper::MatrixWait<0>();
    hopper::Pin(o_);
    Release(&shared_.v_empty[v_.Stage()]);
    v_.Advance();
  }

  // Writes O / sum to this consumer's part of Q, from where the copy engine stores it.
  __device__ void Store(const CUtensorMap* map, int head) {
    T* out = shared_.q[q_.Stage()][group_];
    const int row = Row();
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
    }
  }

  // Every warp arrives separately when it has finished with a stage.
  __device__ static void Release(uint64_t* empty) {
    if (Lane() == 0) hopper::Arrive(empty);
  }

  __device__ void MultiplyScores() {
    hopper::Pin(s_);
    hopper::MatrixFence();
    const T* k = shared_.k[k_.Stage()];
    const T* q = shared_.q[q_.Stage()][group_];
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
    const T* v = shared_.v[v_.Stage()];
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
      const int row = first_row_ + Row() + i / 2 % 2 * 8;
      if (key >= queries_.n || (queries_.causal && key > row)) s_[i] = -INFINITY;
    }
  }

  // Replaces the scores S by P in fp32. `shrink` receives the factor to rescale O by.
  __device__ void Softmax(int key0, float (&shrink)[2]) {
    if (key0 + kKeys > queries_.n || (queries_.causal && key0 + kKeys > first_row_ + 1)) {
      Mask(key0);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float largest = maximum_[h];
#pragma unroll
      for (int i = h * 2; i < kKeys / 2; i += 4) {
        largest = fmaxf(largest, fmaxf(s_[i], s_[i + 1]));
      }
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
      // If a row sees no key of the first tiles, its maximum is still -infinity.
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

  Shared<T, d, consumers>& shared_;
  const int group_;
  const Queries queries_;
  const float scale_log2_;
  int first_row_ = 0;  // The consumer's first row of the tile.
  Ring q_;
  Ring k_;
  Ring v_;
  float s_[kKeys / 2];
  float o_[d / 2];
  uint32_t p_[kKeys / 4];
  float maximum_[2];
  float sum_[2];
};

template <typename T, int d, int consumers>
__device__ void InitBarriers(Shared<T, d, consumers>* shared) {
  constexpr int kConsumerWarps = Layout<consumers>::kConsumers * kGroupThreads / 32;
  for (int stage = 0; stage < kStages; ++stage) {
    hopper::InitBarrier(&shared->q_full[stage], 1);
    hopper::InitBarrier(&shared->q_empty[stage], Layout<consumers>::kConsumers);
    hopper::InitBarrier(&shared->k_full[stage], 1);
    hopper::InitBarrier(&shared->v_full[stage], 1);
    hopper::InitBarrier(&shared->k_empty[stage], kConsumerWarps);
    hopper::InitBarrier(&shared->v_empty[stage], kConsumerWarps);
  }
  hopper::FenceBarrierInit();
}
#endif

template <typename T, int d, int consumers>
__global__ void __launch_bounds__(Layout<consumers>::kThreads, 1)
    WgmmaKernel(const __grid_constant__ AttentionTensorMaps maps, const Queries queries,
                float scale_log2) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(kAlignment) unsigned char dynamic_shared[];
  auto& shared = *reinterpret_cast<Shared<T, d, consumers>*>(dynamic_shared);
  if (threadIdx.x == 0) InitBarriers(&shared);
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / kGroupThreads;
  // Together these are all registers of a multiprocessor.
  constexpr int kProducerRegisters = Layout<consumers>::kConsumers == 3 ? 32 : 24;
  constexpr int kConsumerRegisters = Layout<consumers>::kConsumers == 3 ? 160 : 240;
  if (group == 0) {
    hopper::DecreaseRegisters<kProducerRegisters>();
    if (threadIdx.x == 0) Produce(shared, maps, queries);
  } else {
    hopper::IncreaseRegisters<kConsumerRegisters>();
    Consumer<T, d, consumers> consumer(shared, group - 1, queries, scale_log2);
    consumer.Run(&maps.o);
  }
#endif
}

// Returns the number of tiles of queries of a head.
int64_t TilesOfHead(const AttentionShape& shape, int consumers) {
  const int rows = consumers * kGroupRows;
  return (shape.n + rows - 1) / rows;
}

// Returns the number of scores that consumers compute per head, including those beyond the matrix.
int64_t ScoresOfHead(const AttentionShape& shape, int consumers) {
  const int64_t rows = int64_t{consumers} * kGroupRows;
  int64_t scores = 0;
  for (int64_t tile = 0; tile < TilesOfHead(shape, consumers); ++tile) {
    const int64_t end_key = shape.causal ? std::min<int64_t>(shape.n, (tile + 1) * rows) : shape.n;
    scores += (end_key + kKeys - 1) / kKeys * kKeys * rows;
  }
  return scores;
}

// Returns the number of consumers per block. With a third one, more of the softmax overlaps with
// matrix products, but there are enough registers only if d = 64. Tiles also grow: if this adds
// more than 12% to the number of scores computed, two consumers are faster.
int ConsumersFor(const AttentionShape& shape) {
  if (shape.d != 64) return 2;
  constexpr double kGainOfThird = 1.12;
  const auto of_two = static_cast<double>(ScoresOfHead(shape, 2));
  return static_cast<double>(ScoresOfHead(shape, 3)) > kGainOfThird * of_two ? 2 : 3;
}

// Divides a launch into units of work, and sets `blocks` to the number of blocks.
Queries Divide(const AttentionShape& shape, int consumers, int sm_count, unsigned* blocks) {
  const auto sms = static_cast<unsigned>(sm_count);
  const auto tiles = static_cast<unsigned>(shape.heads * TilesOfHead(shape, consumers));
  Queries queries{tiles, shape.n, shape.causal, /*paired=*/false};
  *blocks = std::min(tiles, sms);
  if (!shape.causal) return queries;
  // With a causal mask, some tiles take longer than others, but all pairs take equally long. If the
  // last round of pairs would leave many SMs idle, launch one block per tile instead, so that an SM
  // that finishes a tile early can start its next block.
  const unsigned pairs = tiles / 2;
  const unsigned rounds = (pairs + sms - 1) / sms;
  queries.paired = shape.heads % 2 == 0 && 20 * pairs >= 19 * rounds * sms;
  if (queries.paired) {
    queries.units = pairs;
  } else {
    *blocks = tiles;
  }
  return queries;
}

template <typename T, int d, int consumers>
Status PrepareKernel() {
  ASSAY_CUDA(cudaFuncSetAttribute(WgmmaKernel<T, d, consumers>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(sizeof(Shared<T, d, consumers>))));
  return Status::Ok();
}

template <typename T, int d, int consumers>
Status Enqueue(const AttentionShape& shape, const AttentionTensorMaps& maps, int sm_count,
               cudaStream_t stream) {
  unsigned blocks = 0;
  const Queries queries = Divide(shape, consumers, sm_count, &blocks);
  const auto scale_log2 = static_cast<float>(M_LOG2E / std::sqrt(static_cast<double>(d)));
  WgmmaKernel<T, d, consumers>
      <<<blocks, Layout<consumers>::kThreads, sizeof(Shared<T, d, consumers>), stream>>>(
          maps, queries, scale_log2);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

// Calls `body` with the TypeTag of the dtype, and with d and the number of consumers as constants.
template <typename Body>
Status WithKernel(const AttentionShape& shape, const Body& body) {
  using Two = std::integral_constant<int, 2>;
  using Three = std::integral_constant<int, 3>;
  using D64 = std::integral_constant<int, 64>;
  using D128 = std::integral_constant<int, 128>;
  const auto with = [&](auto tag) {
    if (shape.d != 64) return body(tag, D128(), Two());
    return ConsumersFor(shape) == 2 ? body(tag, D64(), Two()) : body(tag, D64(), Three());
  };
  return shape.dtype == "fp16" ? with(TypeTag<__half>()) : with(TypeTag<__nv_bfloat16>());
}

}  // namespace

Status PrepareWgmmaAttention(const AttentionShape& shape, const GpuDevice& device) {
  if (device.compute_major != 9) {
    return Unsupported("variant flash_wgmma needs compute capability 9.0; this GPU has " +
                       std::to_string(device.compute_major) + "." +
                       std::to_string(device.compute_minor));
  }
  return WithKernel(shape, [](auto tag, auto d, auto consumers) {
    return PrepareKernel<typename decltype(tag)::Type, decltype(d)::value,
                         decltype(consumers)::value>();
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
                             int sm_count, cudaStream_t stream) {
  return WithKernel(shape, [&](auto tag, auto d, auto consumers) {
    return Enqueue<typename decltype(tag)::Type, decltype(d)::value, decltype(consumers)::value>(
        shape, maps, sm_count, stream);
  });
}

}  // namespace assay
