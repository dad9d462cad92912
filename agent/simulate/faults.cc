#include "agent/simulate/faults.h"

#include <yaml-cpp/yaml.h>

#include <set>

#include "common/text.h"
#include "common/units.h"
#include "wire/timestamps.h"

namespace assay::agent {
namespace {

constexpr size_t kMostFaults = 10'000;
constexpr double kMostFactor = 1000;

struct KindFields {
  const char* name;
  Fault::Kind kind;
  std::set<std::string> needed;
  std::set<std::string> allowed;
};

const std::vector<KindFields>& Kinds() {
  static const std::vector<KindFields> kinds = {
      {"slow_gpu", Fault::Kind::kSlowGpu, {"node", "gpu", "factor"}, {"since"}},
      {"slow_link", Fault::Kind::kSlowLink, {"node", "peer", "factor"}, {"since"}},
      {"driver_step", Fault::Kind::kDriverStep, {"node", "driver"}, {"factor", "since"}},
      {"lying_node", Fault::Kind::kLyingNode, {"node", "factor"}, {"since"}},
      {"vanishing_node", Fault::Kind::kVanishingNode, {"node", "after"}, {"returns_after"}},
      {"failing_node", Fault::Kind::kFailingNode, {"node"}, {"since"}},
      {"memory_errors", Fault::Kind::kMemoryErrors, {"node", "gpu"}, {"since"}},
      {"link_errors", Fault::Kind::kLinkErrors, {"node", "gpu"}, {"since"}},
  };
  return kinds;
}

class Parser {
 public:
  explicit Parser(const std::string& file) : file_(file) {}

  Result<std::vector<Fault>> Parse(const YAML::Node& root) const {
    const YAML::Node list = root.IsMap() && root.size() == 1 ? root["faults"] : YAML::Node();
    if (!list || !list.IsSequence()) return At(root, "write a list under the key \"faults\"");
    if (list.size() > kMostFaults) return At(list, "more than 10000 faults");
    std::vector<Fault> faults;
    for (const YAML::Node& entry : list) {
      ASSAY_ASSIGN_OR_RETURN(Fault fault, ParseFault(entry));
      faults.push_back(std::move(fault));
    }
    return faults;
  }

 private:
  Status At(const YAML::Node& node, const std::string& message) const {
    return InvalidArgument(file_ + ":" + std::to_string(node.Mark().line + 1) + ": " + message);
  }

  Result<Fault> ParseFault(const YAML::Node& entry) const {
    if (!entry.IsMap() || entry.size() != 1 || !entry.begin()->first.IsScalar()) {
      return At(entry, "write one fault, such as \"failing_node: {node: sim-0005}\"");
    }
    const std::string name = entry.begin()->first.Scalar();
    const YAML::Node fields = entry.begin()->second;
    std::vector<std::string> names;
    for (const KindFields& kind : Kinds()) {
      if (kind.name == name) return ParseFields(kind, entry, fields);
      names.emplace_back(kind.name);
    }
    const std::string closest = ClosestName(name, names);
    return At(entry, "unknown fault " + Quote(name) +
                         (closest.empty() ? "" : "; did you mean " + Quote(closest) + "?"));
  }

  Result<Fault> ParseFields(const KindFields& kind, const YAML::Node& entry,
                            const YAML::Node& fields) const {
    if (!fields.IsMap()) return At(entry, std::string(kind.name) + " needs fields in braces");
    Fault fault;
    fault.kind = kind.kind;
    std::set<std::string> missing = kind.needed;
    for (const auto& field : fields) {
      const std::string& key = field.first.Scalar();
      if (!field.second.IsScalar()) return At(field.first, key + " must be one value");
      if (missing.erase(key) == 0 && !kind.allowed.contains(key)) {
        return At(field.first, std::string(kind.name) + " has no field " + Quote(key) +
                                   ", or it is given twice");
      }
      const Status set = SetField(key, field.second.Scalar(), &fault);
      if (!set.ok()) return At(field.first, key + ": " + set.message());
    }
    if (!missing.empty()) {
      return At(entry, std::string(kind.name) + " needs the field " + Quote(*missing.begin()));
    }
    return fault;
  }

  static Status SetField(const std::string& key, const std::string& value, Fault* fault) {
    if (key == "node" || key == "peer" || key == "driver") {
      if (value.empty() || value.size() > 200 || !IsPlainText(value)) {
        return InvalidArgument("write 1 to 200 printable characters");
      }
      (key == "node" ? fault->node : key == "peer" ? fault->peer : fault->driver) = value;
    } else if (key == "gpu") {
      ASSAY_ASSIGN_OR_RETURN(const int64_t gpu, ParseInteger(value));
      if (gpu < 0 || gpu > 63) return InvalidArgument("write the index of a GPU");
      fault->gpu = static_cast<int>(gpu);
    } else if (key == "factor") {
      char* end = nullptr;
      fault->factor = std::strtod(value.c_str(), &end);
      if (value.empty() || *end != '\0' || !(fault->factor > 0 && fault->factor <= kMostFactor)) {
        return InvalidArgument("write a number above 0, such as 0.9");
      }
    } else if (key == "since") {
      ASSAY_ASSIGN_OR_RETURN(fault->since, schema::ParseTime(value));
    } else {
      ASSAY_ASSIGN_OR_RETURN(const Duration duration, ParseDuration(value));
      if (key == "after") fault->after = duration;
      if (key == "returns_after") fault->returns_after = duration;
    }
    return Status::Ok();
  }

  const std::string& file_;
};

}  // namespace

Result<std::vector<Fault>> ParseFaults(const std::string& file, const std::string& text) {
  try {
    return Parser(file).Parse(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    return InvalidArgument(file + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
}

}  // namespace assay::agent
