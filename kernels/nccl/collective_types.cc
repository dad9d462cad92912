#include "kernels/nccl/collective_types.h"

#include <algorithm>

namespace assay {
namespace {

// The values of ncclFloat8e4m3 and ncclFloat8e5m2, which nccl.h defines since NCCL 2.24.
constexpr int kNcclFloat8E4m3 = 10;
constexpr int kNcclFloat8E5m2 = 11;
constexpr int kFloat8Since = 22400;

template <typename Table>
const auto& EntryOf(const Table& table, const std::string& name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const auto& entry) { return entry.name == name; });
  return found != table.end() ? *found : table.front();
}

}  // namespace

const std::vector<CollectiveType>& CollectiveTypes() {
  static const std::vector<CollectiveType> types = {
      {"fp32", ReduceType::kFloat32, ncclFloat32},
      {"fp16", ReduceType::kFloat16, ncclFloat16},
      {"bf16", ReduceType::kBfloat16, ncclBfloat16},
      {"fp64", ReduceType::kFloat64, ncclFloat64},
      {"int8", ReduceType::kInt8, ncclInt8},
      {"uint8", ReduceType::kUint8, ncclUint8},
      {"int32", ReduceType::kInt32, ncclInt32},
      {"uint32", ReduceType::kUint32, ncclUint32},
      {"int64", ReduceType::kInt64, ncclInt64},
      {"uint64", ReduceType::kUint64, ncclUint64},
      {"fp8_e4m3", ReduceType::kFloat8E4m3, kNcclFloat8E4m3, kFloat8Since},
      {"fp8_e5m2", ReduceType::kFloat8E5m2, kNcclFloat8E5m2, kFloat8Since},
  };
  return types;
}

const std::vector<CollectiveOp>& CollectiveOps() {
  static const std::vector<CollectiveOp> ops = {
      {"sum", ReduceOp::kSum, ncclSum}, {"prod", ReduceOp::kProd, ncclProd},
      {"min", ReduceOp::kMin, ncclMin}, {"max", ReduceOp::kMax, ncclMax},
      {"avg", ReduceOp::kAvg, ncclAvg},
  };
  return ops;
}

const CollectiveType& CollectiveTypeOf(const std::string& name) {
  return EntryOf(CollectiveTypes(), name);
}
const CollectiveOp& CollectiveOpOf(const std::string& name) {
  return EntryOf(CollectiveOps(), name);
}

Status CheckType(const CollectiveType& type, bool reduces, const NcclLibrary& nccl,
                 const GpuDevice& device) {
  if (type.since == 0) return Status::Ok();
  if (nccl.version < type.since) {
    return Unsupported(std::string(type.name) + " needs NCCL " +
                       std::to_string(type.since / 10000) + "." +
                       std::to_string(type.since / 100 % 100) + "; this is NCCL " +
                       NcclVersion().value_or("of an unknown version"));
  }
  if (!reduces) return Status::Ok();
  return NeedCapability(device, 9, 0, std::string("NCCL's reduction of ") + type.name);
}

}  // namespace assay
