#include "cli/campaign_file/campaign_file.h"

#include <algorithm>
#include <filesystem>

#include "cli/campaign_file/campaign_fields.h"
#include "cli/campaign_file/field_reader.h"
#include "common/file.h"
#include "common/text.h"
#include "common/units.h"
#include "model/limits.h"

namespace assay::cli {
namespace {

// Fills the spec from the file's top-level fields.
class CampaignReader {
 public:
  CampaignReader(v1::CampaignSpec& spec, std::vector<FileFault>& faults)
      : spec_(spec), reader_(faults) {}

  void Read(const YamlNode& root) {
    if (root.kind == YamlNode::Kind::kNull) {
      reader_.Fault({1, 1}, "", "the file is empty; a campaign has at least name and benchmarks");
      return;
    }
    if (root.kind != YamlNode::Kind::kMap) {
      reader_.Unexpected(root, "", "\"field: value\" lines. Fields: " + Join(Fields()));
      return;
    }
    for (const YamlNode::Entry& entry : root.entries) ReadField(entry);
    if (!Given(root, "name")) {
      reader_.Fault(root.at, "name",
                    "is missing; a campaign needs a name, for example \"name: nightly\"");
    }
    if (!Given(root, "benchmarks")) {
      reader_.Fault(root.at, "benchmarks",
                    "is missing; list what to run, for example \"- gemm: {m: 4096, dtype: bf16}\"");
    }
  }

 private:
  static std::vector<std::string> Fields() {
    std::vector<std::string> names;
    for (const CampaignField& field : CampaignFields()) names.emplace_back(field.name);
    return names;
  }

  static bool Given(const YamlNode& root, std::string_view key) {
    return std::any_of(root.entries.begin(), root.entries.end(),
                       [key](const auto& entry) { return entry.key == key; });
  }

  void ReadField(const YamlNode::Entry& entry) {
    const std::string& key = entry.key;
    const YamlNode& value = entry.value;
    (*spec_.mutable_lines())[key] = entry.at.line;
    if (value.faulty) return;
    if (key == "name") {
      ReadText(entry, *spec_.mutable_name(), "text");
    } else if (key == "nodes") {
      ReadText(entry, *spec_.mutable_node_filter(),
               "a filter in quotes, for example 'name = g1 OR name = g2'");
    } else if (key == "exclusive") {
      const int choice = reader_.Choice(value, key, ChoicesOf(key));
      if (choice >= 0)
        spec_.set_exclusive(choice == 0 ? v1::EXCLUSIVITY_NODE : v1::EXCLUSIVITY_GPU);
    } else if (key == "placement") {
      const int choice = reader_.Choice(value, key, ChoicesOf(key));
      if (choice >= 0) {
        spec_.set_placement(choice == 0   ? v1::PLACEMENT_POLICY_EACH
                            : choice == 1 ? v1::PLACEMENT_POLICY_ANY
                                          : v1::PLACEMENT_POLICY_PAIRS);
      }
    } else if (key == "absent") {
      const int choice = reader_.Choice(value, key, ChoicesOf(key));
      if (choice >= 0) {
        spec_.set_absent(choice == 0   ? v1::ABSENT_POLICY_FAIL
                         : choice == 1 ? v1::ABSENT_POLICY_WARN
                                       : v1::ABSENT_POLICY_WAIT);
      }
    } else if (key == "effort") {
      const int choice = reader_.Choice(value, key, ChoicesOf(key));
      if (choice >= 0) spec_.set_effort(static_cast<v1::Effort>(choice + v1::EFFORT_QUICK));
    } else if (key == "expect_nodes") {
      spec_.set_expect_nodes(reader_.Integer(value, key, 1, kMaxExpectedNodes).value_or(0));
    } else if (key == "unplaceable") {
      spec_.set_unplaceable(ReadUnplaceable(value, key, reader_));
    } else if (key == "repetitions") {
      spec_.set_repetitions(reader_.Integer(value, key, 1, kMaxRepetitions).value_or(1));
    } else if (key == "retries") {
      spec_.set_retries(reader_.Integer(value, key, 0, kMaxRetries).value_or(0));
    } else if (key == "priority") {
      spec_.set_priority(reader_.Integer(value, key, -kMaxPriority, kMaxPriority).value_or(0));
    } else if (key == "counters") {
      spec_.set_counters(reader_.Boolean(value, key).value_or(false));
    } else if (key == "mixed_gpus") {
      spec_.set_mixed_gpus(reader_.Boolean(value, key).value_or(false));
    } else if (key == "nccl") {
      ReadNccl(value, key, key, reader_, *spec_.mutable_nccl(), *spec_.mutable_lines());
    } else if (key == "timeout") {
      ReadTimeout(value);
    } else if (key == "benchmarks") {
      ReadBenchmarks(value, reader_, spec_);
    } else if (key == "accept") {
      ReadAccept(value);
    } else {
      spec_.mutable_lines()->erase(key);
      reader_.UnknownName(entry.at, Sanitize(key), "no such field", Fields());
    }
  }

  void ReadText(const YamlNode::Entry& entry, std::string& into, std::string_view wanted) {
    if (!reader_.IsText(entry.value, entry.key, wanted)) return;
    into = entry.value.text;
    if (into.empty())
      reader_.Fault(entry.value.at, entry.key, "is empty; leave the line out or fill it in");
  }

  void ReadTimeout(const YamlNode& value) {
    if (!reader_.IsText(value, "timeout", "a duration, for example 20m")) return;
    const Result<Duration> timeout = ParseDuration(value.text);
    if (!timeout.ok()) {
      reader_.Fault(value.at, "timeout", timeout.status().message());
    } else {
      spec_.mutable_timeout()->set_seconds(
          std::chrono::duration_cast<std::chrono::seconds>(*timeout).count());
      spec_.mutable_timeout()->set_nanos(
          static_cast<int>((*timeout % std::chrono::seconds(1)).count()));
    }
  }

  void ReadAccept(const YamlNode& value) {
    if (value.kind != YamlNode::Kind::kSequence) {
      reader_.Unexpected(
          value, "accept",
          "a list of rules, for example \"- gemm[dtype=bf16].tflops >= 65% of spec\"");
      return;
    }
    for (size_t i = 0; i < value.items.size(); ++i) {
      const YamlNode& rule = value.items[i];
      const std::string field = "accept[" + std::to_string(i) + "]";
      if (!reader_.IsText(rule, field, "a rule, for example \"gemm.tflops >= 500 TFLOP/s\""))
        continue;
      v1::AcceptRule* added = spec_.add_accept();
      added->set_text(rule.text);
      added->set_line(rule.at.line);
    }
  }

  v1::CampaignSpec& spec_;
  FieldReader reader_;
};

bool Before(const FileFault& a, const FileFault& b) {
  return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
}

}  // namespace

CampaignFile ParseCampaign(std::string_view text) {
  CampaignFile file;
  YamlFile yaml = ParseYaml(text);
  file.faults = std::move(yaml.faults);
  // After a syntax error, parts of the file may be missing from the YAML tree. Do not check an
  // incomplete tree, because the check would report fields as missing even if they are in the file.
  const bool complete = yaml.root.kind != YamlNode::Kind::kNull || file.faults.empty();
  file.spec.set_repetitions(1);
  if (complete) CampaignReader(file.spec, file.faults).Read(yaml.root);
  std::stable_sort(file.faults.begin(), file.faults.end(), Before);
  return file;
}

Result<CampaignFile> ReadCampaignFile(const std::string& path) {
  if (path == "-") {
    const Result<std::string> text = ReadFile("/dev/stdin", kMaxYamlBytes);
    if (!text.ok()) return InvalidArgument(text.status().message(), text.status().reason());
    return ParseCampaign(*text);
  }
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  // Reading a FIFO would block.
  if (type == std::filesystem::file_type::fifo) {
    return InvalidArgument(path + " is not a regular file", Reason::kFileUnreadable);
  }
  const Result<std::string> text = ReadFile(path, kMaxYamlBytes);
  if (!text.ok()) return InvalidArgument(text.status().message(), text.status().reason());
  return ParseCampaign(*text);
}

std::string FormatFaults(const std::string& path, const std::vector<FileFault>& faults) {
  std::string text;
  for (size_t i = 0; i < std::min(faults.size(), kMaxYamlFaults); ++i) {
    const FileFault& fault = faults[i];
    text += path + ":" + std::to_string(fault.at.line) + ":" + std::to_string(fault.at.column) +
            ": " + (fault.field.empty() ? "" : fault.field + ": ") + fault.description + "\n";
  }
  if (faults.size() > kMaxYamlFaults) {
    text += path + ": and " + std::to_string(faults.size() - kMaxYamlFaults) + " more\n";
  }
  return text;
}

std::string FormatViolations(const std::string& path, const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) {
    text += Sanitize(path);
    if (violation.line > 0) text += ":" + std::to_string(violation.line);
    text += ": " + (violation.field.empty() ? "" : Sanitize(violation.field) + ": ") +
            Sanitize(violation.description) + "\n";
  }
  return text;
}

}  // namespace assay::cli
