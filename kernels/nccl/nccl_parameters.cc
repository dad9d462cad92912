#include "kernels/nccl/nccl_parameters.h"

#include <algorithm>
#include <map>

#include "kernels/nccl/collective.h"

namespace assay {
namespace {

constexpr int64_t kMaxBytes = int64_t{8} << 30;

}  // namespace

const std::vector<CollectiveDtype>& CollectiveDtypes() {
  static const std::vector<CollectiveDtype> dtypes = {
      {"fp32", 4, true},   {"fp16", 2, true},    {"bf16", 2, true},     {"fp64", 8, true},
      {"int8", 1, false},  {"uint8", 1, false},  {"int32", 4, false},   {"uint32", 4, false},
      {"int64", 8, false}, {"uint64", 8, false}, {"fp8_e4m3", 1, true}, {"fp8_e5m2", 1, true}};
  return dtypes;
}

const CollectiveDtype& CollectiveDtypeOf(const std::string& name) {
  const std::vector<CollectiveDtype>& all = CollectiveDtypes();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const CollectiveDtype& one) { return one.name == name; });
  return found != all.end() ? *found : all.front();
}

Parameter RanksParameter(int64_t maximum) {
  return Parameter::Integer("ranks").AtLeast(2).AtMost(maximum).Describe(
      "processes, each with a GPU of its own");
}

Parameter WholeArrayParameter(const std::vector<std::string>& dtypes) {
  Parameter bytes = Parameter::Bytes("bytes").Default("1GiB").AtLeast(1).AtMost(kMaxBytes).Describe(
      "size of each rank's array, whole elements");
  std::map<int64_t, std::vector<std::string>> by_size;
  for (const std::string& dtype : dtypes) by_size[CollectiveDtypeOf(dtype).bytes].push_back(dtype);
  for (const auto& [size, names] : by_size) {
    if (size > 1) bytes.With("dtype", names, MultipleOf(size));
  }
  return bytes;
}

Parameter DividedArrayParameter() {
  return Parameter::Bytes("bytes").Default("1GiB").AtLeast(1).AtMost(kMaxBytes).Describe(
      "size of the whole array, of which each rank has a share, rounded down to 16 bytes a rank");
}

Status ValidateShares(const ParameterMap& parameters) {
  const int64_t ranks = Integer(parameters, "ranks");
  if (Integer(parameters, "bytes") >= kShareAlignment * ranks) return Status::Ok();
  return InvalidParameter("bytes", "is " + Word(parameters, "bytes") + "; it must be at least " +
                                       std::to_string(kShareAlignment) + " per rank, which is " +
                                       std::to_string(kShareAlignment * ranks));
}

}  // namespace assay
