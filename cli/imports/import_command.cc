// assay import nccl-tests | nvbandwidth FILE
#include <google/protobuf/util/time_util.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
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

// Reads a file, or standard input for "-": one byte more than an import accepts at most.
Result<std::string> ReadInput(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(
      path == "-" ? nullptr : std::fopen(path.c_str(), "rb"),
      [](std::FILE* file) { return file == nullptr ? 0 : std::fclose(file); });
  std::FILE* const file = path == "-" ? stdin : opened.get();
  std::string text(imports::kMaxFileBytes + 1, '\0');
  if (file != nullptr) text.resize(std::fread(text.data(), 1, text.size(), file));
  if (file != nullptr && std::ferror(file) == 0) return text;
  return InvalidArgument("cannot read " + path + ": " + std::strerror(errno),
                         Reason::kFileUnreadable);
}

std::string FileText(const std::string& path) { return path == "-" ? "standard input" : path; }

// A UUID made of the file and the campaign's name, so that the same import is stored once.
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

// The first result as it will be stored.
v1::CaseResult FirstResult(const v1::ImportResultsRequest& request) {
  v1::CaseResult result = request.results(0);
  *result.mutable_environment() = request.environment();
  *result.mutable_provenance() = request.provenance();
  return result;
}

// The results as they will be listed: one per metric.
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

// A fact that holds for all results of an import.
struct Condition {
  std::string name;
  std::string option;  // The option that sets it; empty if there is none.
  std::string value;
};

std::vector<Condition> ConditionsOf(const v1::CaseResult& result) {
  const v1::Environment& environment = result.environment();
  return {{"GPUs", "--gpu", GpuText(environment)},
          {"nodes", "", std::to_string(environment.node_count())},
          {"node", "--node", NodesText(result)},
          {"driver", "--driver", environment.driver_version()},
          {"CUDA", "", environment.software().cuda_runtime()},
          {"NCCL", "", environment.software().nccl()},
          {"time", "--time", FormatTimeExact(result.end_time())}};
}

std::string ConditionsText(const v1::ImportResultsRequest& request) {
  std::string text = "Campaign " + Sanitize(request.name()) + ", results of " +
                     Sanitize(request.provenance().imported_from()) + "\n";
  for (const Condition& one : ConditionsOf(FirstResult(request))) {
    text += "  " + one.name + std::string(9 - one.name.size(), ' ');
    text += !one.value.empty() ? Sanitize(one.value)
                               : "unknown" + (one.option.empty() ? "" : " (" + one.option + ")");
    text += "\n";
  }
  return text;
}

// The conditions in which this import differs from the one that is stored already.
std::vector<std::string> Differences(const v1::ImportResultsRequest& request,
                                     const v1::CaseResult& stored) {
  const std::vector<Condition> now = ConditionsOf(FirstResult(request));
  const std::vector<Condition> then = ConditionsOf(stored);
  std::vector<std::string> differences;
  for (size_t i = 0; i < now.size(); ++i) {
    if (now[i].value.empty() || now[i].value == then[i].value) continue;
    differences.push_back(now[i].name + " " + Quote(now[i].value) +
                          ", stored: " + (then[i].value.empty() ? "none" : Quote(then[i].value)));
  }
  return differences;
}

// Prints a sentence for people: on stderr if stdout has the results for a program.
void Say(const ImportOptions& options, const std::string& text) {
  const bool table = options.format == OutputFormat::kTable;
  const Style style = StyleOf(table ? STDOUT_FILENO : STDERR_FILENO);
  const std::string wrapped = Wrap(text, style.width, 2) + "\n";
  table ? Print(wrapped) : PrintError(wrapped);
}

std::string Counted(const v1::ImportResultsRequest& request) {
  const int count = request.results_size();
  const auto failed = std::count_if(
      request.results().begin(), request.results().end(),
      [](const v1::CaseResult& result) { return result.outcome() == v1::CASE_OUTCOME_FAILED; });
  return std::to_string(count) + (count == 1 ? " result of " : " results of ") +
         Sanitize(request.provenance().imported_from()) +
         (failed == 0 ? "" : " (" + std::to_string(failed) + " failed verification)");
}

ExitCode Store(Context& context, const ImportOptions& options,
               const v1::ImportResultsRequest& request) {
  Result<Client> client = Client::ToCoordinator(context.client);
  if (!client.ok()) return Report(client.status());
  constexpr std::chrono::seconds kPatience{60};
  const Result<v1::ImportResultsResponse> response =
      client->Call(&v1::ResultService::Stub::ImportResults, client->results(), request, kPatience);
  if (!response.ok()) return Report(response.status());
  const v1::Campaign& campaign = response->campaign();
  ResultsQuery query;
  query.campaign = campaign.campaign_id();
  Result<std::vector<v1::StoredResult>> stored = FetchResults(*client, query);
  if (!stored.ok()) return Report(stored.status());
  std::reverse(stored->begin(), stored->end());  // In the order of the file.
  const std::string where =
      "campaign " + Sanitize(campaign.name()) + " (" + Sanitize(campaign.campaign_id()) + ")";
  if (response->already_imported() && !stored->empty()) {
    const std::vector<std::string> differences =
        Differences(request, stored->front().case_result());
    if (!differences.empty()) {
      return Report(Status(Code::kAlreadyExists, Reason::kImportedOtherwise,
                           "already imported as " + where +
                               " with other options: " + Join(differences) + "; nothing was stored")
                        .WithHint("to import the file again, give another --name"));
    }
  }
  PrintResults(*stored, options.format);
  Say(options, response->already_imported()
                   ? "Already imported as " + where +
                         "; nothing was stored. To import the file again, give another --name."
                   : "Imported " + Counted(request) + " as " + where + ".");
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

ExitCode Import(Context& context, const ImportOptions& given) {
  ImportOptions options = given;
  if (const Status status = ParseTime(&options); !status.ok()) return Report(status);
  const Result<std::string> text = ReadInput(options.file);
  if (!text.ok()) return Report(text.status());
  const Result<imports::Imported> imported = options.read(*text, options.origin);
  if (!imported.ok()) return Report(imported.status().WithContext(FileText(options.file)));
  const v1::ImportResultsRequest request = RequestOf(options, *imported, *text);
  const Status checked = schema::CheckImport(request, Clock::Real().WallNow());
  if (!checked.ok()) return Report(checked);
  for (const std::string& note : imported->notes) {
    const std::string line = Sanitize(FileText(options.file) + ": " + note);
    PrintError(Wrap(line, StyleOf(STDERR_FILENO).width, 2) + "\n");
  }
  if (!options.dry_run) return Store(context, options, request);
  if (options.format == OutputFormat::kTable) Print(ConditionsText(request) + "\n");
  PrintResults(Preview(request), options.format);
  Say(options,
      Sanitize(FileText(options.file)) + ": " + Counted(request) + ". Nothing was stored.");
  return kExitDone;
}

// The coordinator has the same bounds for these texts.
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
