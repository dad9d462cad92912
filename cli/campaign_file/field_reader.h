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

  // Records an error about an unknown name and suggests the most similar of the `known` names.
  // `what` describes the error, for example "no such field".
  void UnknownName(Position at, const std::string& field, const std::string& what,
                   const std::vector<std::string>& known);

  // Records "found A LIST; write WANTED".
  void Unexpected(const YamlNode& node, const std::string& field, const std::string& wanted);

  // Returns true if `node` is a single value. Otherwise records that `wanted` was expected.
  bool IsText(const YamlNode& node, const std::string& field, std::string_view wanted);

  // Returns an index into `choices`, or -1 if the value is invalid, after recording the fault.
  int Choice(const YamlNode& node, const std::string& field,
             const std::vector<std::string>& choices);

  // Returns nullopt after a fault.
  std::optional<bool> Boolean(const YamlNode& node, const std::string& field);

  // Reads an integer between `least` and `most`. If the value is invalid, records an error and
  // returns nullopt. If `most` is not set, leaves it to the coordinator to check the upper bound.
  std::optional<int> Integer(const YamlNode& node, const std::string& field, int least,
                             std::optional<int> most = std::nullopt);

 private:
  std::vector<FileFault>& faults_;
};

// Reads a map of NCCL environment variables, such as `{NCCL_ALGO: Ring, NCCL_PROTO: LL128}`. Adds
// each variable to `settings`, and its line number to `lines` with the key "SPEC_FIELD.NAME", where
// SPEC_FIELD is `spec_field`. Reports variables that the coordinator would reject. Error messages
// call the map `field`.
void ReadNccl(const YamlNode& value, const std::string& field, const std::string& spec_field,
              FieldReader& reader, google::protobuf::Map<std::string, std::string>& settings,
              google::protobuf::Map<std::string, int>& lines);

// Reads the list of benchmarks in a campaign file and adds one v1::BenchmarkMatrix per entry to
// `spec`. An entry is either just a name, such as `gemm`, or a name with parameters, such as
//   gemm: {m: 4096, n: =m, dtype: [bf16, fp16], k: {from: 64, to: 4096, factor: 2}}
// The keys `gpus`, `counters`, `nccl` and `unplaceable` are options of the entry, not parameters.
void ReadBenchmarks(const YamlNode& value, FieldReader& reader, v1::CampaignSpec& spec);

// Reads `refuse` or `skip`. Returns UNSPECIFIED after a fault.
v1::Unplaceable ReadUnplaceable(const YamlNode& value, const std::string& field,
                                FieldReader& reader);

}  // namespace assay::cli
