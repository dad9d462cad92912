// The matmul_wgmma benchmark: a bf16 product on Hopper's tensor cores. Each block stays on its SM
// and computes one tile of 128 x 256 (or 128 x 128) elements after another. A producer warpgroup
// copies slices of A and B to a ring of stages in shared memory (TMA). Two consumer warpgroups
// multiply 64 rows each (wgmma). Two blocks whose tiles lie one above the other form a cluster and
// need the same columns of B. Each loads half of these columns for both (multicast), saving a third
// of the reads from the L2 cache. A stage is free once the consumers of both blocks have read it.
#include <cuda.h>
#include <cuda_bf16.h>

#include <algorithm>
#include <vector>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/hopper.cuh"
#include "kernels/cuda/frame/tensor_map.h"
#include "kernels/cuda/frame/wgmma.cuh"
#include "kernels/cuda/matmul/matmul_case.h"

namespace assay {
namespace {

using Element = __nv_bfloat16;

constexpr int kTileM = 128;
constexpr int kTileK = 64;
constexpr int kCluster = 2;
constexpr int kConsumers = 2;  // Warpgroups; each computes kRows of a tile.
constexpr int kRows = kTileM / kConsumers;
constexpr int kThreads = 128 * (1 + kConsumers);
// Width of a box: a row of 128 bytes, as the swizzle requires.
constexpr int kBox = 64;
constexpr int kRowBytes = kBox * sizeof(Element);
constexpr int kAtomBytes = 8 * kRowBytes;  // One atom of the swizzle.

// For tiles of 128 x kTileN. Uses 225 KiB of the 227 that a block may have.
template <int kTileN>
struct Shared {
  static constexpr int kStages = kTileN == 256 ? 4 : 6;
  static constexpr int kBoxes = kTileN / kBox;

  alignas(kAtomBytes) Element a[kStages][kTileM * kTileK];
  alignas(kAtomBytes) Element b[kStages][kBoxes][kTileK * kBox];
  // Output: two boxes per consumer; one is written while the other is copied.
  alignas(kAtomBytes) Element d[kConsumers][2][kRows * kBox];
  uint64_t full[kStages];
  uint64_t empty[kStages];
};
// Bytes of shared memory to request: they include room for the kernel to align Shared.
template <int kTileN>
constexpr int kSharedBytes = sizeof(Shared<kTileN>) + kAtomBytes;

struct Maps {
  CUtensorMap a;
  CUtensorMap b;
  CUtensorMap d;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using namespace hopper;  // NOLINT(google-build-using-namespace)

constexpr int kBand = 8;  // Rows of cluster tiles in a band.

// A warpgroup's position in the ring of stages; `parity` flips with every round.
template <int kStages>
struct Position {
  int stage = 0;
  uint32_t parity = 0;

  __device__ void Advance() {
    if (++stage < kStages) return;
    stage = 0;
    parity ^= 1;
  }
};

// Iterates over the tiles of this cluster, identically in both blocks and in all warpgroups.
template <int kTileN>
struct Schedule {
  TileOrder order;
  int slices;
  int rank;  // Rank of this block in its cluster.

  __device__ Schedule(int m, int n, int k)
      : order(TilesFor(m, kTileM * kCluster), TilesFor(n, kTileN), kBand),
        slices(TilesFor(k, kTileK)),
        rank(static_cast<int>(ClusterRank())) {}

  template <typename Body>
  __device__ __forceinline__ void ForEachTile(const Body& body) const {
    for (int i = blockIdx.x / kCluster; i < order.count(); i += gridDim.x / kCluster) {
      const TileOrder::Tile tile = order.At(i);
      body((tile.row * kCluster + rank) * kTileM, tile.column * kTileN);
    }
  }
};

// Runs the producer in one thread. Boxes beyond the matrices arrive as zeros, which add nothing.
template <int kTileN>
__device__ __forceinline__ void Produce(const Maps& maps, const Schedule<kTileN>& schedule,
                                        Shared<kTileN>* shared) {
  constexpr int kBoxesCopied = Shared<kTileN>::kBoxes / kCluster;
  Position<Shared<kTileN>::kStages> at;
  schedule.ForEachTile([&](int row, int column) {
    for (int slice = 0; slice < schedule.slices; ++slice, at.Advance()) {
      // A new barrier behaves as if a phase of parity 1 had completed.
      WaitBarrier(&shared->empty[at.stage], at.parity ^ 1);
      uint64_t* full = &shared->full[at.stage];
      // Bytes that both blocks copy into this one.
      ArriveExpect(full, (kTileM + kTileN) * kTileK * sizeof(Element));
      LoadBox(shared->a[at.stage], &maps.a, slice * kTileK, row, full);
#pragma unroll
      for (int i = 0; i < kBoxesCopied; ++i) {
        const int box = schedule.rank * kBoxesCopied + i;
        LoadBoxMulticast(shared->b[at.stage][box], &maps.b, column + box * kBox, slice * kTileK,
                         full, (1 << kCluster) - 1);
      }
    }
  });
}

__device__ uint32_t PackPair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// Starts storing a consumer's 64 rows of a tile at (row, column). Parts beyond D are skipped.
template <int kTileN>
__device__ __forceinline__ void StoreTile(const CUtensorMap& map, const float (&sums)[kTileN / 2],
                                          int consumer, int row, int column,
                                          Shared<kTileN>* shared) {
  const int thread = static_cast<int>(threadIdx.x) % 128;
  const int lane = thread % 32;
  // stmatrix: this lane supplies the address of one row of the warp's 16 and one of 2 chunks.
  const int box_row = thread / 32 * 16 + lane % 16;
#pragma unroll
  for (int box = 0; box < Shared<kTileN>::kBoxes; ++box) {
    Element* buffer = shared->d[consumer][box % 2];
    if (thread == 0) WaitStoresRead<1>();
    SyncNamed(1 + consumer, 128);
#pragma unroll
    for (int i = 0; i < kBox / 16; ++i) {
      const float* from = sums + box * (kBox / 2) + i * 8;
      const int chunk = (i * 2 + lane / 16) ^ (box_row % 8);
      StoreMatrices(SharedAddress(buffer + box_row * kBox + chunk * 8), PackPair(from[0], from[1]),
                    PackPair(from[2], from[3]), PackPair(from[4], from[5]),
                    PackPair(from[6], from[7]));
    }
    FenceForCopyEngine();
    SyncNamed(1 + consumer, 128);
    if (thread == 0) {
      StoreBox(&map, column + box * kBox, row, buffer);
      CommitStores();
    }
  }
}

template <int kTileN>
__device__ __forceinline__ void Consume(const Maps& maps, const Schedule<kTileN>& schedule,
                                        int consumer, Shared<kTileN>* shared) {
  Position<Shared<kTileN>::kStages> at;
  float sums[kTileN / 2];  // kRows x kTileN over 128 threads.
  const uint64_t first_a = SwizzledOperand(shared->a[0] + consumer * kRows * kTileK, 0, kAtomBytes);
  const uint64_t first_b = SwizzledOperand(shared->b[0], kTileK * kRowBytes, kAtomBytes);
  // Each warp arrives in both blocks, because it knows only of its own multiplications.
  const auto release = [&](int stage) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (lane < kCluster) ArriveRemote(&shared->empty[stage], lane);
  };
  schedule.ForEachTile([&](int row, int column) {
    int previous = 0;
    for (int slice = 0; slice < schedule.slices; ++slice, at.Advance()) {
      WaitBarrier(&shared->full[at.stage], at.parity);
      const uint64_t a = first_a + at.stage * (sizeof shared->a[0] / kDescriptorUnit);
      const uint64_t b = first_b + at.stage * (sizeof shared->b[0] / kDescriptorUnit);
      MatrixFence();
#pragma unroll
      for (int k = 0; k < kTileK; k += 16) {
        // Along a row of A, and by rows of B.
        MultiplyShared<Element, kAlongColumns>(sums, a + k * sizeof(Element) / kDescriptorUnit,
                                               b + k * kRowBytes / kDescriptorUnit,
                                               slice > 0 || k > 0);
      }
      MatrixCommit();
      // The previous slice is finished; this one keeps the tensor cores busy.
      MatrixWait<1>();
      if (slice > 0) release(previous);
      previous = at.stage;
    }
    MatrixWait<0>();
    release(previous);
    StoreTile<kTileN>(maps.d, sums, consumer, row + consumer * kRows, column, shared);
  });
  if (threadIdx.x % 128 == 0) WaitStoresRead<0>();
}
#endif

template <int kTileN>
__global__ void __launch_bounds__(kThreads, 1)
    WgmmaKernel(const __grid_constant__ Maps maps, int m, int n, int k) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ char unaligned[];
  auto* shared = reinterpret_cast<Shared<kTileN>*>(
      (reinterpret_cast<uintptr_t>(unaligned) + kAtomBytes - 1) / kAtomBytes * kAtomBytes);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Shared<kTileN>::kStages; ++stage) {
      InitBarrier(&shared->full[stage], 1);
      InitBarrier(&shared->empty[stage], kCluster * kConsumers * 4);
    }
    FenceBarrierInit();
  }
  SyncCluster();
  const Schedule<kTileN> schedule(m, n, k);
  // Uniform across the warp, which the compiler can see.
  const int warpgroup = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x) / 128, 0);
  // 40 + 2 x 232 registers equal 3 x 168, the kernel's own count.
  if (warpgroup == 0) {
    DecreaseRegisters<40>();
    if (threadIdx.x == 0) Produce(maps, schedule, shared);
    __syncwarp();  // The barrier below needs converged warps.
  } else {
    IncreaseRegisters<232>();
    Consume(maps, schedule, warpgroup - 1, shared);
  }
  // The other block may still copy into this block's memory and arrive on its barriers.
  SyncCluster();
#endif
}

// Describes a row-major rows x columns matrix, copied in swizzled boxes of box_rows x kBox.
Result<CUtensorMap> EncodeMap(const void* data, int rows, int columns, int box_rows) {
  return EncodeTensorMap(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, data, {columns, rows},
                         {columns * int64_t{sizeof(Element)}}, {kBox, box_rows});
}

class WgmmaCase : public MatmulCase {
 public:
  explicit WgmmaCase(const RunContext& context)
      : MatmulCase(context, GemmType::kBf16),
        tile_n_(Word(context.parameters, "tile") == "128x256" ? 256 : 128) {}

 protected:
  Status PrepareKernel() override {
    if (device().compute_major != 9) {
      return Unsupported("wgmma is an instruction of compute capability 9.0 alone; this GPU has " +
                         std::to_string(device().compute_major) + "." +
                         std::to_string(device().compute_minor));
    }
    ASSAY_CUDA(
        cudaFuncSetAttribute(Kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, SharedBytes()));
    return Status::Ok();
  }

  Status PrepareSet(int64_t set) override {
    Maps maps;
    ASSAY_ASSIGN_OR_RETURN(maps.a, EncodeMap(A<Element>(set), m(), k(), kTileM));
    ASSAY_ASSIGN_OR_RETURN(maps.b, EncodeMap(B<Element>(set), k(), n(), kTileK));
    ASSAY_ASSIGN_OR_RETURN(maps.d, EncodeMap(D<Element>(set), m(), n(), kRows));
    maps_.push_back(maps);
    return Status::Ok();
  }

  Status Enqueue(int64_t set) override {
    const int clusters = TilesFor(m(), kTileM * kCluster) * TilesFor(n(), tile_n_);
    cudaLaunchAttribute cluster;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {kCluster, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = std::min(device().sm_count / kCluster, clusters) * kCluster;
    config.blockDim = kThreads;
    config.dynamicSmemBytes = SharedBytes();
    config.stream = stream();
    config.attrs = &cluster;
    config.numAttrs = 1;
    ASSAY_CUDA(
        cudaLaunchKernelEx(&config, Kernel(), maps_[static_cast<size_t>(set)], m(), n(), k()));
    return Status::Ok();
  }

 private:
  using KernelPointer = void (*)(const Maps, int, int, int);
  KernelPointer Kernel() const { return tile_n_ == 256 ? WgmmaKernel<256> : WgmmaKernel<128>; }
  int SharedBytes() const { return tile_n_ == 256 ? kSharedBytes<256> : kSharedBytes<128>; }

  const int tile_n_;
  std::vector<Maps> maps_;  // One per set of arrays.
};

}  // namespace

Result<std::unique_ptr<Case>> NewMatmulWgmmaCase(const RunContext& context) {
  return PrepareCase<WgmmaCase>(context);
}

}  // namespace assay
