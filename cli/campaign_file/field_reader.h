// Reads values of a campaign file and records their faults.
#pragma once

#include <google/protobuf/map.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "cli/campaign_file/yaml_tree.h"

namespace assay::cli {

// Appends faults to the list given to the constructor, which must outlive it.
class FieldReader {
 public:
  explicit FieldReader(std::vector<FileFault>& faults) : faults_(faults) {}

  void Fault(Position at, std::string field, std::string description);

  // Records the fault `what` ("no such field") with the closest known name.
  void UnknownName(Position at, const std::string& field, const std::string& what,
                   const std::vector<std::string>& known);

  // Records "found A LIST; write WANTED".
  void Unexpected(const YamlNode& node, const std::string& field, const std::string& wanted);

  // Returns true if `node` is a single value. Otherwise records that `wanted` was expected.
  bool IsText(const YamlNode& node, const std::string& field, std::string_view wanted);

  // Returns an index into `choices`, -1 after a fault.
  int Choice(const YamlNode& node, const std::string& field,
             const std::vector<std::string>& choices);

  // Returns nullopt after a fault.
  std::optional<bool> Boolean(const YamlNode& node, const std::string& field);

  // Reads a whole number from `least` to `most`. Returns nullopt after a fault. Without `most`, the
  // coordinator checks the upper bound.
  std::optional<int> Integer(const YamlNode& node, const std::string& field, int least,
                             std::optional<int> most = std::nullopt);

 private:
  std::vector<FileFault>& faults_;
};

// Reads a map such as `{NCCL_ALGO: Ring, NCCL_PROTO: LL128}`. Adds the variables of `value` to
// `settings`, and their lines to `lines` under "SPEC_FIELD.NAME". Checks variables and values as
// the coordinator does. Reports faults at `field`.
void ReadNccl(const YamlNode& value, const std::string& field, const std::string& spec_field,
              FieldReader& reader, google::protobuf::Map<std::string, std::string>& settings,
              google::protobuf::Map<std::string, int>& lines);

// Adds one v1::BenchmarkMatrix to `spec` per entry of the list `value`. An entry is `gemm`, or
// `gemm: {m: 4096, n: =m, dtype: [bf16, fp16], k: {from: 64, to: 4096, factor: 2}}`. The keys
// `gpus`, `counters`, `nccl` and `unplaceable` are not parameters.
void ReadBenchmarks(const YamlNode& value, FieldReader& reader, v1::CampaignSpec& spec);

// Reads `refuse` or `skip`. Returns UNSPECIFIED after a fault.
v1::Unplaceable ReadUnplaceable(const YamlNode& value, const std::string& field,
                                FieldReader& reader);

}  // namespace assay::cli
