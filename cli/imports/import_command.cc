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

#include "cli/commands/context.h"
#include "cli/commands/fetch_results.h"
#include "cli/campaign_file/field_reader.h"
#include "cli/views/format.h"
#include "cli/views/result_text.h"
#include "cli/views/utf8.h"
#include "common/clock.h"
#include "common/digest.h"
#include "cli/imports/imports.h"
#include "wire/import_rules.h"

namespace assay::cli {
namespace {

using Reader = Result<imports::Imported> (*)(std::string_view, const imports::Origin&);

struct ImportOptions {
  // "nccl-tests" or "nvbandwidth", and what reads it.
  std::string program;
  Reader read = nullptr;
  std::string file;
  std::string name;
  std::string time;
  imports::Origin origin;
  bool dry_run = false;
  OutputFormat format = OutputFormat::kTable;
};

// The whole file, or standard input for "-"; no more than an import reads.
Result<std::string> ReadInput(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(
      path == "-" ? nullptr : std::fopen(path.c_str(), "rb"),
      [](std::FILE* file) { return file == nullptr ? 0 : std::fclose(file); });
  std::FILE* const file = path == "-" ? stdin : opened.get();
  const auto unreadable = [&] {
    return InvalidArgument("cannot read " + path + ": " + std::strerror(errno), "FILE_UNREADABLE");
  };
  if (file == nullptr) return unreadable();
  std::string text;
  std::array<char, 65536> part{};
  while (text.size() <= imports::kMaxFileBytes) {
    const size_t count = std::fread(part.data(), 1, part.size(), file);
    text.append(part.data(), count);
    if (count < part.size()) break;
  }
  if (std::ferror(file) != 0) return unreadable();
  return text;
}

// As people know it.
std::string FileText(const std::string& path) { return path == "-" ? "standard input" : path; }

// "import: log.txt" of "/tmp/log.txt".
std::string NameOf(const ImportOptions& options) {
  if (!options.name.empty()) return options.name;
  const std::string file = FileText(options.file);
  return "import: " + file.substr(file.rfind('/') + 1);
}

// The same for the same file under the same name, so that it is stored once.
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
  request.set_name(NameOf(options));
  request.set_request_id(RequestId(options, request.name(), text));
  *request.mutable_environment() = imported.environment;
  *request.mutable_provenance() = imported.provenance;
  for (const v1::CaseResult& result : imported.results) *request.add_results() = result;
  return request;
}

// As if stored, every metric of each.
std::vector<v1::StoredResult> Preview(const v1::ImportResultsRequest& request) {
  std::vector<v1::StoredResult> results;
  for (const v1::CaseResult& sent : request.results()) {
    for (int i = 0; i < std::max(1, sent.measurements_size()); ++i) {
      v1::StoredResult& stored = results.emplace_back();
      stored.set_campaign_name(request.name());
      v1::CaseResult* const result = stored.mutable_case_result();
      *result = sent;
      *result->mutable_environment() = request.environment();
      *result->mutable_provenance() = request.provenance();
      result->clear_measurements();
      if (!sent.measurements().empty()) *result->add_measurements() = sent.measurements(i);
    }
  }
  return results;
}

// What is stored with every result, a line each, and which option tells what is missing.
std::string ConditionsText(const v1::ImportResultsRequest& request) {
  const v1::Environment& environment = request.environment();
  const v1::CaseResult& first = request.results(0);
  v1::CaseResult place;
  *place.mutable_provenance() = request.provenance();
  const auto or_none = [](const std::string& text, const char* option = "") {
    if (!text.empty()) return Sanitize(text);
    return std::string("not told") + (*option == '\0' ? "" : " (" + std::string(option) + ")");
  };
  const std::string nodes = environment.node_count() > 1
                                ? " on " + std::to_string(environment.node_count()) + " nodes"
                                : "";
  return "Campaign " + Sanitize(request.name()) + ", every result with\n  program  " +
         Sanitize(request.provenance().imported_from()) + "\n  GPUs     " +
         Sanitize(GpuText(environment)) + nodes + "\n  node     " +
         or_none(NodesText(place), "--node") + "\n  driver   " +
         or_none(environment.driver_version(), "--driver") + "\n  CUDA     " +
         or_none(environment.software().cuda_runtime()) + "\n  NCCL     " +
         or_none(environment.software().nccl()) + "\n  time     " +
         or_none(FormatTimeExact(first.end_time()), "--time") + "\n";
}

// What the file was first imported as: the options given now that it differs from.
std::vector<std::string> NotApplied(const ImportOptions& options,
                                    const v1::ImportResultsRequest& request,
                                    const v1::CaseResult& stored) {
  std::vector<std::string> differing;
  const auto compare = [&](const char* option, const std::string& given, const std::string& now,
                           const std::string& then) {
    if (given.empty() || now == then) return;
    differing.push_back(std::string(option) + " " + Quote(given) + " (it has " +
                        (then.empty() ? "none" : Quote(then)) + ")");
  };
  v1::CaseResult sent = request.results(0);
  *sent.mutable_environment() = request.environment();
  *sent.mutable_provenance() = request.provenance();
  const imports::Origin& origin = options.origin;
  compare("--node", origin.node, NodesText(sent), NodesText(stored));
  compare("--gpu", origin.gpu, GpuText(sent.environment()), GpuText(stored.environment()));
  compare("--driver", origin.driver, sent.environment().driver_version(),
          stored.environment().driver_version());
  compare("--time", options.time, FormatTimeExact(sent.end_time()),
          FormatTimeExact(stored.end_time()));
  compare("--collective", origin.collective, sent.benchmark(), stored.benchmark());
  return differing;
}

// The option that gives `field` of a request; empty for what the file itself gives.
std::string OptionOf(std::string_view field) {
  if (field == "name") return "--name";
  if (field == "provenance.node_names") return "--node";
  if (field == "environment.driver_version") return "--driver";
  for (const std::string_view gpu :
       {"environment.gpu_model", "environment.gpu_form_factor", "environment.mig_profile"}) {
    if (field == gpu) return "--gpu";
  }
  return field.ends_with(".start_time") || field.ends_with(".end_time") ? "--time" : "";
}

// `status` with its faults under the options that people wrote, each once.
Status InOptions(const ImportOptions& options, const Status& status) {
  std::vector<Violation> violations;
  for (const Violation& fault : status.violations()) {
    const std::string option = OptionOf(fault.field);
    Violation named = {option.empty() ? fault.field : option, fault.description, fault.line};
    if (option == "--name" && options.name.empty()) {
      named.description += " (as the file's name makes it, since none is given)";
    }
    const bool known = std::any_of(violations.begin(), violations.end(), [&](const Violation& one) {
      return one.field == named.field && one.description == named.description;
    });
    if (!known) violations.push_back(named);
  }
  if (violations.empty()) return status;
  return Status(status.code(), status.reason(), "the import is refused")
      .WithViolations(std::move(violations));
}

// What was done, where a table's readers see it and a program's input is not disturbed.
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
         (failed == 0 ? "" : " (of which " + std::to_string(failed) + " failed verification)");
}

ExitCode Store(Context& context, const ImportOptions& options,
               const v1::ImportResultsRequest& request) {
  Result<Client> client = Client::ToCoordinator(context.client);
  if (!client.ok()) return Report(client.status());
  constexpr std::chrono::seconds kPatience{60};
  const Result<v1::ImportResultsResponse> response =
      client->Call(&v1::ResultService::Stub::ImportResults, client->results(), request, kPatience);
  if (!response.ok()) return Report(InOptions(options, response.status()));
  const v1::Campaign& campaign = response->campaign();
  ResultsQuery query;
  query.campaign = campaign.campaign_id();
  Result<std::vector<v1::StoredResult>> stored = FetchResults(*client, query);
  if (!stored.ok()) return Report(stored.status());
  // In the order of the file.
  std::reverse(stored->begin(), stored->end());
  const std::string where =
      "campaign " + Sanitize(campaign.name()) + " (" + Sanitize(campaign.campaign_id()) + ")";
  if (response->already_imported() && !stored->empty()) {
    const std::vector<std::string> differing =
        NotApplied(options, request, stored->front().case_result());
    if (!differing.empty()) {
      return Report(Status(Code::kAlreadyExists, "IMPORTED_OTHERWISE",
                           "already imported as " + where +
                               ", which stands as first imported: nothing was stored, and what is "
                               "given now was not applied: " +
                               Join(differing))
                        .WithHint("--name NAME imports the file again under another name"));
    }
  }
  PrintResults(*stored, options.format);
  const bool read_otherwise =
      !stored->empty() &&
      stored->front().case_result().benchmark_version() != request.results(0).benchmark_version();
  Say(options, response->already_imported()
                   ? "Already imported as " + where + ", which stands as first imported" +
                         (read_otherwise ? ", by a version of Assay that reads it otherwise" : "") +
                         "; nothing was stored. --name NAME imports the file again under another "
                         "name."
                   : "Imported " + Counted(request) + " as " + where + ".");
  return kExitDone;
}

ExitCode Import(Context& context, const ImportOptions& given) {
  ImportOptions options = given;
  if (!options.time.empty()) {
    google::protobuf::Timestamp& time = options.origin.time.emplace();
    if (!google::protobuf::util::TimeUtil::FromString(options.time, &time)) {
      return Report(InvalidArgument("--time " + Quote(options.time) +
                                    " is no time such as 2026-01-31T08:00:00Z"));
    }
  }
  const Result<std::string> text = ReadInput(options.file);
  if (!text.ok()) return Report(text.status());
  const Result<imports::Imported> imported = options.read(*text, options.origin);
  if (!imported.ok()) return Report(imported.status().WithContext(FileText(options.file)));
  const v1::ImportResultsRequest request = RequestOf(options, *imported, *text);
  const Status checked = schema::CheckImport(request, Clock::Real().WallNow());
  if (!checked.ok()) return Report(InOptions(options, checked));
  for (const std::string& note : imported->notes) {
    PrintError(
        Wrap(Sanitize(FileText(options.file) + ": " + note), StyleOf(STDERR_FILENO).width, 2) +
        "\n");
  }
  if (!options.dry_run) return Store(context, options, request);
  if (options.format == OutputFormat::kTable) Print(ConditionsText(request) + "\n");
  PrintResults(Preview(request), options.format);
  Say(options,
      Sanitize(FileText(options.file)) + ": " + Counted(request) + ". Nothing was stored.");
  return kExitDone;
}

void AddProgram(CLI::App& import, Context& context, const std::string& program,
                const std::string& summary, Reader read) {
  CLI::App* command = import.add_subcommand(program, summary);
  auto options = std::make_shared<ImportOptions>();
  options->program = program;
  options->read = read;
  command->add_option("file", options->file, "Output of " + program + "; - for standard input")
      ->required();
  command
      ->add_option("--name", options->name,
                   "Of the campaign that holds the results; \"import: FILE\" if not given")
      ->check(NotEmpty());
  command
      ->add_option("--node", options->origin.node,
                   "Name of the node that it ran on; host names in the file are not kept")
      ->check(NotEmpty());
  command
      ->add_option("--gpu", options->origin.gpu,
                   "Product, where the file does not name one: \"NVIDIA H100 80GB HBM3\"")
      ->check(NotEmpty());
  command
      ->add_option("--driver", options->origin.driver,
                   "Version of the driver, where the file does not name it")
      ->check(NotEmpty());
  command->add_option("--time", options->time, "When it ran: 2026-01-31T08:00:00Z")
      ->check(NotEmpty());
  if (program == "nccl-tests") {
    command
        ->add_option("--collective", options->origin.collective,
                     "What was tested, for outputs before 2.17: all_reduce, all_gather, ...")
        ->check(NotEmpty());
  }
  command->add_flag(
      "--dry-run", options->dry_run,
      "Show what would be stored, of every metric, and its conditions; store nothing");
  AddOutputOption(*command, options->format);
  command->footer(
      "The exit status is 0 once the results are stored, or were already, also if the program "
      "itself found wrong elements: those results and their campaign are FAILED then.");
  OnRun(*command, context, options, Import);
}

}  // namespace

void AddImportCommand(CLI::App& app, Context& context) {
  CLI::App* import = app.add_subcommand("import", "Store what other programs measured");
  import->require_subcommand(1);
  AddProgram(*import, context, "nccl-tests", "The output of all_reduce_perf and its like, or -J",
             imports::ReadNcclTests);
  AddProgram(*import, context, "nvbandwidth", "The output of nvbandwidth, or -j",
             imports::ReadNvbandwidth);
}

}  // namespace assay::cli
