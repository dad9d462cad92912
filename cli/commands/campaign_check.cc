// assay campaign check
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/v1/runner.pb.h"
#include "campaign/expand.h"
#include "campaign/node_fields.h"
#include "cli/campaign_file/campaign_file.h"
#include "cli/commands/app.h"
#include "cli/views/campaign_text.h"
#include "common/framing.h"
#include "common/subprocess.h"
#include "common/text.h"
#include "common/units.h"
#include "roofline/spec_sheet.h"
#include "wire/bounds.h"

namespace assay::cli {
namespace {

struct CheckOptions {
  std::string file;
  std::string like;
  OutputFormat format = OutputFormat::kTable;
};

// The nodes of --like.
struct Hardware {
  int nodes = 1;
  int gpus = 0;
  std::string model;
  std::string form_factor;  // Empty if the sheet does not say it.
};

// Returns all benchmarks of this version of Assay, including those that this machine cannot run.
Result<v1::RunnerDescription> DeclaredBenchmarks() {
  ASSAY_ASSIGN_OR_RETURN(Pipe events, MakePipe());
  SubprocessOptions options;
  options.argv = {ExecutableDirectory() + "/assay-runner", "describe"};
  options.descriptors = {{3, events.write.get()}};
  options.die_with_parent = true;
  ASSAY_ASSIGN_OR_RETURN(const Subprocess runner, Subprocess::Spawn(options));
  events.write.Close();
  FrameDecoder decoder;
  std::array<char, 65536> chunk{};
  for (;;) {
    const ssize_t size = read(events.read.get(), chunk.data(), chunk.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      return Internal("assay-runner ended without naming its benchmarks", Reason::kNoRunner);
    }
    decoder.Append({chunk.data(), static_cast<size_t>(size)});
    ASSAY_ASSIGN_OR_RETURN(const std::optional<std::string> frame, decoder.Next());
    if (!frame) continue;
    v1::RunnerEvent event;
    if (event.ParseFromString(*frame) && event.has_description()) return event.description();
  }
}

// Splits the name of a spec sheet, such as "H200 SXM" or "A100-SXM4-80GB".
Hardware ModelOf(const std::string& sheet) {
  for (const char* form : {"SXM", "PCIe", "PCIE"}) {
    const size_t at = sheet.find(form);
    if (at == std::string::npos || at == 0) continue;
    return {1, 0, sheet.substr(0, at - 1), form[0] == 'S' ? "SXM" : "PCIe"};
  }
  return {1, 0, sheet, ""};
}

// Reads "8xH200", or "4x8xH200" for four such nodes.
Result<Hardware> ParseHardware(const std::string& text) {
  constexpr int kMost = 64;
  const auto malformed = [&] {
    return InvalidArgument("--like " + Quote(text) +
                           " must be GPUSxMODEL or NODESxGPUSxMODEL, with numbers up to 64: "
                           "8xH200, 4x8xH200");
  };
  std::vector<int> numbers;
  std::string name = text;
  for (size_t at = 0; numbers.size() < 2; name = name.substr(at + 1)) {
    at = name.find('x');
    const Result<int64_t> number =
        at == std::string::npos ? malformed() : ParseInteger(name.substr(0, at));
    if (!number.ok()) break;
    if (*number < 1 || *number > kMost) return malformed();
    numbers.push_back(static_cast<int>(*number));
  }
  if (numbers.empty() || name.empty()) return malformed();
  std::set<std::string> models;
  for (const GpuSpec& sheet : SpecSheets()) {
    if (sheet.kind != "cuda") continue;
    Hardware hardware = ModelOf(sheet.name);
    models.insert(hardware.model);
    if (Lower(name) != Lower(sheet.name) && Lower(name) != Lower(hardware.model)) continue;
    hardware.nodes = numbers.size() == 2 ? numbers.front() : 1;
    hardware.gpus = numbers.back();
    return hardware;
  }
  return InvalidArgument("--like: there is no spec sheet of " + Quote(name) +
                         "; known models: " + Join(models));
}

std::vector<v1::Node> NodesLike(const Hardware& hardware, const v1::RunnerDescription& runner) {
  std::vector<v1::Node> nodes;
  for (int i = 1; i <= hardware.nodes; ++i) {
    const std::string name = "node-" + std::to_string(i);
    v1::Node& node = nodes.emplace_back();
    node.set_state(v1::NODE_STATE_CONNECTED);
    v1::NodeDescription& description = *node.mutable_description();
    description.set_node_id(name);
    description.set_name(name);
    for (int index = 0; index < hardware.gpus; ++index) {
      v1::GpuInventory& gpu = *description.mutable_inventory()->add_gpus();
      gpu.set_index(index);
      gpu.set_model(hardware.model);
      gpu.set_form_factor(hardware.form_factor);
      gpu.set_uuid(name + "-GPU-" + std::to_string(index));
    }
    *description.mutable_benchmarks() = runner.benchmarks();
    for (v1::BenchmarkSchema& schema : *description.mutable_benchmarks()) {
      schema.clear_unsupported_reason();
    }
  }
  return nodes;
}

// Returns true if the filter uses only fields that --like determines.
bool IsAboutGpus(const Filter& filter) {
  if (filter.kind == Filter::Kind::kRestriction) {
    return filter.field == "gpu.count" || filter.field == "gpu.model" ||
           filter.field == "gpu.form_factor";
  }
  return std::all_of(filter.children.begin(), filter.children.end(), IsAboutGpus);
}

// Checks the campaign as if the fleet consisted of nodes with the given hardware (option --like).
// The campaign's node filter may use properties that are not known from the hardware, such as node
// names. In that case, ignores the filter and sets `assumed`.
Result<v1::Campaign> CheckLike(const v1::CampaignSpec& spec, const Hardware& hardware,
                               const v1::RunnerDescription& runner, bool& assumed) {
  const std::vector<v1::Node> nodes = NodesLike(hardware, runner);
  v1::CampaignSpec on_nodes = spec;
  on_nodes.clear_expect_nodes();
  const Result<Filter> filter = ParseFilter(spec.node_filter());
  // Keep an invalid filter in the campaign, so that the check below reports it.
  assumed = filter.ok() && !IsAboutGpus(*filter) && campaign::MatchingNodes(*filter, nodes).ok();
  if (assumed) on_nodes.clear_node_filter();
  ASSAY_ASSIGN_OR_RETURN(const campaign::Expansion expansion,
                         campaign::ExpandCampaign(on_nodes, nodes));
  return campaign::Preview(spec, expansion);
}

Result<v1::Campaign> CheckAlone(const v1::CampaignSpec& spec, const v1::RunnerDescription& runner) {
  campaign::Expansion expansion;
  ASSAY_ASSIGN_OR_RETURN(
      expansion.case_runs,
      campaign::CheckCampaign(spec, {runner.benchmarks().begin(), runner.benchmarks().end()}));
  v1::Campaign checked = campaign::Preview(spec, expansion);
  checked.clear_jobs();
  checked.clear_coverage();
  return checked;
}

Result<ExitCode> Check(Context&, const CheckOptions& options) {
  std::optional<Hardware> hardware;
  if (!options.like.empty()) {
    ASSAY_ASSIGN_OR_RETURN(hardware, ParseHardware(options.like));
  }
  ASSAY_ASSIGN_OR_RETURN(const CampaignFile file, ReadCampaignFile(options.file));
  if (!file.faults.empty()) {
    PrintError(FormatFaults(options.file, file.faults));
    return kExitUsage;
  }
  ASSAY_ASSIGN_OR_RETURN(const v1::RunnerDescription runner, DeclaredBenchmarks());
  const Status bounded = schema::CheckBounds(file.spec, Reason::kInvalidCampaign);
  if (!bounded.ok()) return ReportOfFile(options.file, bounded);
  bool assumed = false;
  const Result<v1::Campaign> checked =
      hardware ? CheckLike(file.spec, *hardware, runner, assumed) : CheckAlone(file.spec, runner);
  if (!checked.ok()) return ReportOfFile(options.file, checked.status());
  if (options.format == OutputFormat::kJson) {
    Print(ToJson(*checked) + "\n");
    return kExitDone;
  }
  const int width = StyleOf(STDOUT_FILENO).width;
  std::string text = Sanitize(options.file) + ": valid; ";
  text += hardware ? "on " + Counted(hardware->nodes, "node") + " with " +
                         Counted(hardware->gpus, hardware->model + " GPU") + " it would run " +
                         SizeText(*checked)
                   : Counted(checked->case_count(), "case") +
                         ". To count jobs and to check the numbers of GPUs and nodes: "
                         "--like 8xH200";
  Print(Wrap(text, width, 2) + "\n");
  if (assumed) {
    const std::string filter = "Assumed: the nodes match " + Sanitize(file.spec.node_filter());
    Print("  " + Wrap(filter, width - 2, 4) + "\n");
  }
  Print(LeftOutText(*checked, width));
  return kExitDone;
}

}  // namespace

void AddCheckCommand(CLI::App& campaign, Context& context) {
  CLI::App* check =
      campaign.add_subcommand("check", "Check a campaign file without a coordinator or GPUs");
  auto options = std::make_shared<CheckOptions>();
  check->add_option("file", options->file, "Campaign file (YAML); - for standard input")
      ->required();
  check
      ->add_option("--like", options->like,
                   "Also check it for such nodes, and count its jobs: GPUSxMODEL for one node, "
                   "NODESxGPUSxMODEL for several (8xH200, 4x8xH200)")
      ->check(NotEmpty())
      ->type_name("HARDWARE");
  check
      ->add_option_function<std::string>(
          "-o,--output",
          [options](const std::string& form) {
            options->format = form == "json" ? OutputFormat::kJson : OutputFormat::kTable;
          },
          "Form of the output: table, or json (the campaign, as of submit --dry-run)")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  check->footer(
      "Checks fields, benchmarks, parameters and accept rules by what this version of Assay "
      "declares. With --like, all nodes can run all benchmarks, and match conditions on other "
      "fields than gpu.count, gpu.model and gpu.form_factor. To check against a fleet: submit "
      "--dry-run. Exit status: 0 valid; 2 the file or an option is wrong; 4 assay-runner cannot be "
      "started.");
  OnRun(*check, context, options, Check);
}

}  // namespace assay::cli
