// assay import nccl-tests | nvbandwidth FILE
#include <google/protobuf/util/time_util.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/imports/imports.h"
#include "cli/views/format.h"
#include "cli/views/result_text.h"
#include "cli/views/table.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/file.h"
#include "common/text.h"
#include "wire/import_rules.h"

namespace assay::cli {
namespace {

using Reader = Result<imports::Imported> (*)(std::string_view, const imports::Origin&);

struct ImportOptions {
  std::string program;  // "nccl-tests" or "nvbandwidth".
  Reader read = nullptr;
  std::string file;
  std::string name;
  std::string time;
  imports::Origin origin;
  bool dry_run = false;
  OutputFormat format = OutputFormat::kTable;
};

// Reads a file, or standard input for "-".
Result<std::string> ReadInput(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  const Result<std::string> text = ReadFile(path, imports::kMaxFileBytes);
  if (!text.ok()) return InvalidArgument(text.status().message(), text.status().reason());
  return text;
}

std::string FileText(const std::string& path) { return path == "-" ? "standard input" : path; }

// Returns a request id that depends only on the program, the file's content and the campaign's
// name. The coordinator stores only one of several requests with the same id, so importing a file
// twice does not store its results twice.
std::string RequestId(const ImportOptions& options, const std::string& name,
                      const std::string& text) {
  std::string id =
      Sha256Hex(Sha256Hex(options.program) + Sha256Hex(name) + Sha256Hex(text)).substr(0, 32);
  for (const size_t hyphen : {8, 13, 18, 23}) id.insert(hyphen, "-");
  return id;
}

v1::ImportResultsRequest RequestOf(const ImportOptions& options, const imports::Imported& imported,
                                   const std::string& text) {
  v1::ImportResultsRequest request;
  const std::string file = FileText(options.file);
  request.set_name(options.name.empty() ? "import: " + file.substr(file.rfind('/') + 1)
                                        : options.name);
  request.set_request_id(RequestId(options, request.name(), text));
  *request.mutable_environment() = imported.environment;
  *request.mutable_provenance() = imported.provenance;
  request.mutable_results()->Assign(imported.results.begin(), imported.results.end());
  return request;
}

// Returns the first result as it will be stored.
v1::CaseResult FirstResult(const v1::ImportResultsRequest& request) {
  v1::CaseResult result = request.results(0);
  *result.mutable_environment() = request.environment();
  *result.mutable_provenance() = request.provenance();
  return result;
}

// Returns the results as they will be listed: one per metric.
std::vector<v1::StoredResult> Preview(const v1::ImportResultsRequest& request) {
  std::vector<v1::StoredResult> results;
  for (const v1::CaseResult& sent : request.results()) {
    for (int i = 0; i < std::max(1, sent.measurements_size()); ++i) {
      v1::StoredResult& stored = results.emplace_back();
      stored.set_campaign_name(request.name());
      v1::CaseResult& result = *stored.mutable_case_result();
      result = sent;
      *result.mutable_environment() = request.environment();
      *result.mutable_provenance() = request.provenance();
      result.clear_measurements();
      if (!sent.measurements().empty()) *result.add_measurements() = sent.measurements(i);
    }
  }
  return results;
}

// Returns facts that hold for all results of an import: names and values, which may be empty.
std::vector<std::pair<std::string, std::string>> ConditionsOf(const v1::CaseResult& result) {
  const v1::Environment& environment = result.environment();
  return {{"GPUs", GpuText(environment)},
          {"nodes", std::to_string(environment.node_count())},
          {"node", NodesText(result)},
          {"driver", environment.driver_version()},
          {"CUDA", environment.software().cuda_runtime()},
          {"NCCL", environment.software().nccl()},
          {"time", FormatTimeExact(result.end_time())}};
}

std::string ConditionsText(const v1::ImportResultsRequest& request) {
  std::string text = "Campaign " + Sanitize(request.name()) + ", results of " +
                     Sanitize(request.provenance().imported_from()) + "\n";
  for (const auto& [name, value] : ConditionsOf(FirstResult(request))) {
    text += "  " + name + std::string(9 - name.size(), ' ') +
            (value.empty() ? "unknown" : Sanitize(value)) + "\n";
  }
  return text;
}

// Lists the conditions in which this import differs from the stored one.
std::vector<std::string> Differences(const v1::ImportResultsRequest& request,
                                     const v1::CaseResult& stored) {
  const auto now = ConditionsOf(FirstResult(request));
  const auto then = ConditionsOf(stored);
  std::vector<std::string> differences;
  for (size_t i = 0; i < now.size(); ++i) {
    const auto& [name, value] = now[i];
    const std::string& before = then[i].second;
    if (value.empty() || value == before) continue;
    differences.push_back(name + " " + Quote(value) +
                          ", stored: " + (before.empty() ? "none" : Quote(before)));
  }
  return differences;
}

// Prints a sentence for the user, on stderr if stdout has JSON or CSV.
void Say(const ImportOptions& options, const std::string& text) {
  const bool table = options.format == OutputFormat::kTable;
  const Style style = StyleOf(table ? STDOUT_FILENO : STDERR_FILENO);
  const std::string wrapped = Wrap(text, style.width, 2) + "\n";
  table ? Print(wrapped) : PrintError(wrapped);
}

// Returns "6 results of nccl-tests 2.17.6 (1 failed verification)".
std::string SizeText(const v1::ImportResultsRequest& request) {
  const auto failed = std::count_if(
      request.results().begin(), request.results().end(),
      [](const v1::CaseResult& result) { return result.outcome() == v1::CASE_OUTCOME_FAILED; });
  return Counted(request.results_size(), "result") + " of " +
         Sanitize(request.provenance().imported_from()) +
         (failed == 0 ? "" : " (" + std::to_string(failed) + " failed verification)");
}

Result<ExitCode> Store(Context& context, const ImportOptions& options,
                       const v1::ImportResultsRequest& request) {
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  constexpr std::chrono::seconds kPatience{60};
  ASSAY_ASSIGN_OR_RETURN(const v1::ImportResultsResponse response,
                         client.Call(&v1::ResultService::Stub::ImportResults, request, kPatience));
  const v1::Campaign& campaign = response.campaign();
  ResultsQuery query;
  query.campaign = campaign.campaign_id();
  ASSAY_ASSIGN_OR_RETURN(std::vector<v1::StoredResult> stored, FetchResults(client, query));
  std::reverse(stored.begin(), stored.end());  // In the order of the file.
  const std::string where =
      "campaign " + Sanitize(campaign.name()) + " (" + Sanitize(campaign.campaign_id()) + ")";
  if (response.already_imported() && !stored.empty()) {
    const std::vector<std::string> differences = Differences(request, stored.front().case_result());
    if (!differences.empty()) {
      return Status(Code::kAlreadyExists, Reason::kImportedOtherwise,
                    "already imported as " + where + " with other options: " + Join(differences) +
                        "; nothing was stored")
          .WithHint("to import the file again, give another --name");
    }
  }
  PrintResults(stored, options.format);
  Say(options, response.already_imported()
                   ? "Already imported as " + where +
                         "; nothing was stored. To import the file again, give another --name."
                   : "Imported " + SizeText(request) + " as " + where + ".");
  return kExitDone;
}

Status ParseTime(ImportOptions* options) {
  if (options->time.empty()) return Status::Ok();
  google::protobuf::Timestamp& time = options->origin.time.emplace();
  const auto now = std::chrono::system_clock::to_time_t(Clock::Real().WallNow());
  if (google::protobuf::util::TimeUtil::FromString(options->time, &time) && time.seconds() >= 0 &&
      time.seconds() <= now) {
    return Status::Ok();
  }
  return InvalidArgument("--time " + Quote(options->time) +
                         " must be a time from 1970 to now, such as 2026-01-31T08:00:00Z");
}

Result<ExitCode> Import(Context& context, const ImportOptions& given) {
  ImportOptions options = given;
  ASSAY_RETURN_IF_ERROR(ParseTime(&options));
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadInput(options.file));
  const Result<imports::Imported> imported = options.read(text, options.origin);
  if (!imported.ok()) return imported.status().WithContext(FileText(options.file));
  const v1::ImportResultsRequest request = RequestOf(options, *imported, text);
  ASSAY_RETURN_IF_ERROR(schema::CheckImport(request, Clock::Real().WallNow()));
  for (const std::string& note : imported->notes) {
    const std::string line = Sanitize(FileText(options.file) + ": " + note);
    PrintError(Wrap(line, StyleOf(STDERR_FILENO).width, 2) + "\n");
  }
  if (!options.dry_run) return Store(context, options, request);
  if (options.format == OutputFormat::kTable) Print(ConditionsText(request) + "\n");
  PrintResults(Preview(request), options.format);
  Say(options,
      Sanitize(FileText(options.file)) + ": " + SizeText(request) + ". Nothing was stored.");
  return kExitDone;
}

// Checks the bounds that the coordinator has for these texts.
CLI::Validator PlainText() {
  return CLI::Validator(
      [](const std::string& value) {
        const bool fits = !value.empty() && value.size() <= 200 && IsPlainText(value);
        return std::string(fits ? "" : "must be 1 to 200 bytes without control characters");
      },
      "");
}

void AddProgram(CLI::App& import, Context& context, const std::string& program,
                const std::string& summary, Reader read) {
  CLI::App* command = import.add_subcommand(program, summary);
  auto options = std::make_shared<ImportOptions>();
  options->program = program;
  options->read = read;
  command->add_option("file", options->file, "The program's output; - reads standard input")
      ->required();
  const auto add = [&](const std::string& name, std::string& value, const std::string& help) {
    command->add_option(name, value, help)->check(PlainText());
  };
  add("--name", options->name, "Name of the campaign that holds the results (import: FILE)");
  add("--node", options->origin.node, "Name of the node; host names in the file are not stored");
  add("--gpu", options->origin.gpu, "GPU, if the file names none: \"NVIDIA H100 80GB HBM3\"");
  add("--driver", options->origin.driver, "Version of the driver, if the file has none");
  add("--time", options->time, "When it was measured: 2026-01-31T08:00:00Z");
  command->add_flag("--dry-run", options->dry_run, "Show what would be stored; store nothing");
  AddOutputOption(*command, options->format);
  command->footer(
      "The exit status is 0 if the results are stored, now or earlier, even if the program found "
      "wrong elements: those results and their campaign are FAILED.");
  OnRun(*command, context, options, Import);
}

}  // namespace

void AddImportCommand(CLI::App& app, Context& context) {
  CLI::App* import = app.add_subcommand("import", "Store what other programs measured");
  import->require_subcommand(1);
  AddProgram(*import, context, "nccl-tests", "The output of all_reduce_perf and others, or -J",
             imports::ReadNcclTests);
  AddProgram(*import, context, "nvbandwidth", "The output of nvbandwidth -j",
             imports::ReadNvbandwidth);
}

}  // namespace assay::cli
