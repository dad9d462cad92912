// Compares the collectives' kernels with results of the host: reductions, moves and the sums of
// ring_all_reduce.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/nccl/move_pattern.h"
#include "kernels/nccl/reduce_pattern.h"
#include "kernels/nccl/ring_kernels.h"
#include "tests/gpu/host_values.cuh"
#include "tests/gpu/plant.h"
#include "tests/gpu/planted_faults.h"

namespace assay {
namespace {

constexpr uint64_t kSeed = 7;
constexpr int64_t kFirst = 11;
constexpr int64_t kCount = 20011;
constexpr int kRanks = 3;

double Reduced(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::kProd:
      return a * b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      break;
  }
  return a + b;
}

// Returns the reduction of the first `ranks` ranks' inputs. `scratch` holds one input.
template <typename T>
Result<std::vector<T>> ReduceOnHost(const ReducePattern& pattern, int ranks, void* scratch,
                                    cudaStream_t stream) {
  std::vector<double> sums;
  for (int rank = 0; rank < ranks; ++rank) {
    ASSAY_RETURN_IF_ERROR(FillReduceInput(pattern, rank, kFirst, kCount, scratch, stream));
    ASSAY_ASSIGN_OR_RETURN(const std::vector<T> input, ReadFromGpu<T>(scratch, kCount, stream));
    if (rank == 0) sums.assign(input.size(), 0);
    for (size_t i = 0; i < input.size(); ++i) {
      const double element = ToDouble(input[i]);
      sums[i] = rank == 0 ? element : Reduced(pattern.op, sums[i], element);
    }
  }
  std::vector<T> result;
  for (const double sum : sums) {
    result.push_back(RoundTo<T>(pattern.op == ReduceOp::kAvg ? sum / pattern.world_size : sum));
  }
  return result;
}

template <typename T>
Status TestReductionsOf(ReduceType type, const char* type_name) {
  ASSAY_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer memory,
                         DeviceBuffer::Allocate(kCount * sizeof(T), "elements"));
  const std::vector<std::pair<const char*, ReduceOp>> ops = {{"sum", ReduceOp::kSum},
                                                             {"prod", ReduceOp::kProd},
                                                             {"min", ReduceOp::kMin},
                                                             {"max", ReduceOp::kMax},
                                                             {"avg", ReduceOp::kAvg}};
  for (const auto& [op_name, op] : ops) {
    const ReducePattern pattern{type, op, kSeed, kRanks};
    const std::string name = std::string("host's ") + op_name + " of " + type_name;
    const auto check = [&] {
      return CheckReduction(pattern, kFirst, kCount, memory.data(), stream.get());
    };
    const auto put = [&](int ranks) -> Status {
      ASSAY_ASSIGN_OR_RETURN(const std::vector<T> result,
                             ReduceOnHost<T>(pattern, ranks, memory.data(), stream.get()));
      return WriteToGpu(memory.data(), result);
    };
    ASSAY_RETURN_IF_ERROR(PlantNan(memory.data(), kCount * sizeof(T)));
    Expect(name + ": unwritten", check(), false);
    ASSAY_RETURN_IF_ERROR(put(kRanks - 1));
    Expect(name + ": the last rank left out", check(), false);
    ASSAY_RETURN_IF_ERROR(put(kRanks));
    Expect(name + ": right", check(), true);
    ASSAY_RETURN_IF_ERROR(PlantNan(memory.At((kCount - 1) * sizeof(T)), sizeof(T)));
    Expect(name + ": last element unwritten", check(), false);
  }
  return Status::Ok();
}

Status TestMovesOf(int64_t element_bytes) {
  constexpr int kRank = 2;
  const MovePattern pattern{kSeed, element_bytes};
  const int64_t bytes = kCount * element_bytes;
  ASSAY_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer memory, DeviceBuffer::Allocate(bytes, "elements"));
  const std::string name = "moved elements of " + std::to_string(element_bytes) + " bytes";
  const auto check = [&](int rank, int64_t first) {
    return CheckMoved(pattern, rank, first, kCount, memory.data(), stream.get());
  };
  ASSAY_RETURN_IF_ERROR(PlantNan(memory.data(), static_cast<size_t>(bytes)));
  Expect(name + ": unwritten", check(kRank, kFirst), false);
  ASSAY_RETURN_IF_ERROR(FillMoveInput(pattern, kRank, kFirst, kCount, memory.data(), stream.get()));
  Expect(name + ": right", check(kRank, kFirst), true);
  Expect(name + ": another rank's", check(kRank - 1, kFirst), false);
  Expect(name + ": from elsewhere", check(kRank, kFirst + 1), false);
  ASSAY_ASSIGN_OR_RETURN(const auto last,
                         ReadFromGpu<unsigned char>(memory.At(bytes - 1), 1, stream.get()));
  const Plant plant(memory.At(bytes - 1), {static_cast<unsigned char>(last[0] ^ 0x40)});
  Expect(name + ": a bit of the last", check(kRank, kFirst), false);
  return Status::Ok();
}

// Sums of `count` elements by `blocks` blocks, in place or not.
template <typename T>
Status TestSumsOf(const std::string& dtype, int64_t count, int blocks, bool in_place) {
  const auto bytes = count * static_cast<int64_t>(sizeof(T));
  ASSAY_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer a, DeviceBuffer::Allocate(bytes, "a"));
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer b, DeviceBuffer::Allocate(bytes, "b"));
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer apart, DeviceBuffer::Allocate(bytes, "the sums"));
  const DeviceBuffer& out = in_place ? a : apart;
  const auto elements = static_cast<size_t>(count);
  ASSAY_RETURN_IF_ERROR(FillRandom(dtype, kSeed, 0, kFirst, count, a.data(), stream.get()));
  ASSAY_RETURN_IF_ERROR(FillRandom(dtype, kSeed, 1, kFirst, count, b.data(), stream.get()));
  ASSAY_ASSIGN_OR_RETURN(std::vector<T> right, ReadFromGpu<T>(a.data(), elements, stream.get()));
  ASSAY_ASSIGN_OR_RETURN(const auto other, ReadFromGpu<T>(b.data(), elements, stream.get()));
  for (size_t i = 0; i < elements; ++i) {
    right[i] = RoundTo<T>(ToDouble(right[i]) + ToDouble(other[i]));
  }
  ASSAY_RETURN_IF_ERROR(
      EnqueueAdd(dtype, a.data(), b.data(), out.data(), count, blocks, stream.get()));
  const std::string name = "sums of " + std::to_string(count) + " " + dtype + " by " +
                           std::to_string(blocks) + (in_place ? " in place" : "");
  ASSAY_ASSIGN_OR_RETURN(const auto sums, ReadFromGpu<T>(out.data(), elements, stream.get()));
  if (std::memcmp(sums.data(), right.data(), static_cast<size_t>(bytes)) != 0) {
    Fail(name + ": not the host's");
  }
  // The reference, now that nobody needs what was added.
  ASSAY_RETURN_IF_ERROR(WriteToGpu(b.data(), right));
  const auto check = [&] {
    return CompareSums(dtype, out.data(), b.data(), count, 2, stream.get());
  };
  Expect(name + ": right", check(), true);
  const Plant plant(out.At(bytes - static_cast<int64_t>(sizeof(T))),
                    std::vector<unsigned char>(sizeof(T), 0xff));
  Expect(name + ": last element unwritten", check(), false);
  return Status::Ok();
}

template <typename T>
Status TestRingOf(const std::string& dtype) {
  for (const int64_t count : {int64_t{1}, int64_t{7}, kCount}) {
    for (const int blocks : {1, 8}) {
      for (const bool in_place : {false, true}) {
        ASSAY_RETURN_IF_ERROR(TestSumsOf<T>(dtype, count, blocks, in_place));
      }
    }
  }
  return Status::Ok();
}

}  // namespace

Status TestReductions() {
  ASSAY_RETURN_IF_ERROR(TestReductionsOf<float>(ReduceType::kFloat32, "float32"));
  ASSAY_RETURN_IF_ERROR(TestReductionsOf<__half>(ReduceType::kFloat16, "float16"));
  ASSAY_RETURN_IF_ERROR(TestReductionsOf<__nv_bfloat16>(ReduceType::kBfloat16, "bfloat16"));
  ASSAY_RETURN_IF_ERROR(TestReductionsOf<double>(ReduceType::kFloat64, "float64"));
  ASSAY_RETURN_IF_ERROR(TestReductionsOf<int8_t>(ReduceType::kInt8, "int8"));
  ASSAY_RETURN_IF_ERROR(TestReductionsOf<uint8_t>(ReduceType::kUint8, "uint8"));
  ASSAY_RETURN_IF_ERROR(TestReductionsOf<int32_t>(ReduceType::kInt32, "int32"));
  ASSAY_RETURN_IF_ERROR(TestReductionsOf<uint32_t>(ReduceType::kUint32, "uint32"));
  ASSAY_RETURN_IF_ERROR(TestReductionsOf<int64_t>(ReduceType::kInt64, "int64"));
  ASSAY_RETURN_IF_ERROR(TestReductionsOf<uint64_t>(ReduceType::kUint64, "uint64"));
  ASSAY_RETURN_IF_ERROR(TestReductionsOf<__nv_fp8_e4m3>(ReduceType::kFloat8E4m3, "fp8_e4m3"));
  return TestReductionsOf<__nv_fp8_e5m2>(ReduceType::kFloat8E5m2, "fp8_e5m2");
}

Status TestMoves() {
  for (const int64_t element_bytes : {1, 2, 4, 8}) {
    ASSAY_RETURN_IF_ERROR(TestMovesOf(element_bytes));
  }
  return Status::Ok();
}

Status TestRing() {
  ASSAY_RETURN_IF_ERROR(TestRingOf<float>("fp32"));
  ASSAY_RETURN_IF_ERROR(TestRingOf<__nv_bfloat16>("bf16"));
  ASSAY_RETURN_IF_ERROR(TestRingOf<__half>("fp16"));
  return TestRingOf<double>("fp64");
}

}  // namespace assay
