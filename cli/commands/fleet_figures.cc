#include "cli/commands/fleet_figures.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cli/commands/fetch_results.h"
#include "cli/commands/model_file.h"
#include "cli/views/format.h"
#include "common/text.h"

namespace assay::cli {
namespace {

// Older results say little about today's driver and GPUs.
constexpr char kRecent[] = "-30d";

// A benchmark whose results are used for predictions. Its results have one primary metric.
struct CaseFields {
  const char* benchmark;
  double unit;  // Of the metric, in FLOP/s or bytes per second.
  std::vector<const char*> parameters;
};

const std::vector<CaseFields>& BenchmarksOfFigures() {
  static const std::vector<CaseFields> fields = {{"memory_bandwidth", 1e9, {"op", "bytes"}},
                                                 {"gemm", 1e12, {"m", "n", "k", "dtype"}},
                                                 {"all_reduce", 1e9, {"ranks", "bytes", "dtype"}}};
  return fields;
}

// Returns the model by which results name a GPU: "A100" for the sheet "A100-SXM4-80GB".
std::string ModelOfSheet(const std::string& sheet) {
  std::string model = sheet.substr(0, sheet.find('-'));
  for (const std::string_view form : {" SXM", " PCIe", " NVL"}) {
    if (model.ends_with(form)) model.resize(model.size() - form.size());
  }
  return model;
}

std::string ParameterOf(const v1::CaseResult& result, const char* name) {
  const auto found = result.parameters().find(name);
  return found == result.parameters().end() ? "" : found->second;
}

// Returns true if the case shows the typical performance of the hardware. Excludes special cases,
// such as data that is all zeros or already in the cache, or a gemm that computes a batch of
// products.
bool IsPlainCase(const v1::CaseResult& result) {
  if (ParameterOf(result, "fill") == "zeros" || ParameterOf(result, "cache") == "hot") return false;
  const std::string& benchmark = result.benchmark();
  if (benchmark == "memory_bandwidth") {
    const std::string op = ParameterOf(result, "op");
    return (op == "read" || op == "copy") && ParameterOf(result, "cache") == "cold";
  }
  if (benchmark == "gemm") return ParameterOf(result, "batch") == "1";
  return ParameterOf(result, "nodes") == "1" && ParameterOf(result, "aggregate") == "1";
}

std::string SourceOf(const v1::ResultGroup& group, const FigureOptions& options) {
  const int count = group.result_count() - group.failed_count();
  std::string text = options.node.empty() ? "measured in this fleet" : "measured on this node";
  text += ": " + Counted(count, "result");
  if (options.node.empty()) text += " on " + Counted(group.node_count(), "node");
  const std::string driver = group.best().case_result().environment().driver_version();
  if (!driver.empty()) text += ", driver " + Sanitize(driver);
  text += ", newest " + FormatTimeExact(group.newest_time()).substr(0, 10);
  // With fewer results, the percentiles say little about the spread.
  constexpr int kFew = 3;
  return count < kFew ? text + " (fewer than 3)" : text;
}

// Returns the entry of BenchmarksOfFigures() for the group's benchmark, or null if the group's
// results are not suitable as performance figures for this GPU.
const CaseFields* FieldsOf(const v1::ResultGroup& group, const GpuSpec& spec) {
  const v1::CaseResult& best = group.best().case_result();
  if (!group.has_median() || !(group.low() > 0) || best.prediction().spec() != spec.name ||
      !IsPlainCase(best)) {
    return nullptr;
  }
  for (const CaseFields& fields : BenchmarksOfFigures()) {
    if (best.benchmark() == fields.benchmark) return &fields;
  }
  return nullptr;
}

// Converts groups of results to measured cases. A case has one group per driver version, of which
// only the group with the newest result is used.
std::vector<MeasuredCase> CasesOf(const v1::GroupResultsResponse& response, const GpuSpec& spec,
                                  const FigureOptions& options) {
  using Case = std::pair<std::string, std::map<std::string, std::string>>;
  std::map<Case, const v1::ResultGroup*> newest;
  for (const v1::ResultGroup& group : response.groups()) {
    const CaseFields* const fields = FieldsOf(group, spec);
    if (fields == nullptr) continue;
    Case one{fields->benchmark, {}};
    for (const char* name : fields->parameters) {
      one.second[name] = ParameterOf(group.best().case_result(), name);
    }
    const v1::ResultGroup*& known = newest[one];
    if (known == nullptr || group.newest_time().seconds() > known->newest_time().seconds()) {
      known = &group;
    }
  }
  std::vector<MeasuredCase> cases;
  for (const auto& [one, group] : newest) {
    const double unit = FieldsOf(*group, spec)->unit;
    MeasuredCase measured;
    measured.benchmark = one.first;
    measured.parameters = one.second;
    measured.results = group->result_count() - group->failed_count();
    measured.figure = {group->median() * unit, group->p05() * unit, group->p95() * unit,
                       SourceOf(*group, options)};
    cases.push_back(std::move(measured));
  }
  return cases;
}

double NumberOf(const MeasuredCase& measured, const char* name) {
  return std::strtod(measured.parameters.at(name).c_str(), nullptr);
}

// Uses the largest read as the memory bandwidth, or the largest copy if no read was measured.
void UseBandwidth(const std::vector<MeasuredCase>& cases, predict::Hardware& gpu) {
  const MeasuredCase* best = nullptr;
  const auto rank = [](const MeasuredCase& measured) {
    return std::pair(measured.parameters.at("op") == "read", NumberOf(measured, "bytes"));
  };
  for (const MeasuredCase& measured : cases) {
    if (measured.benchmark != "memory_bandwidth") continue;
    if (best == nullptr || rank(measured) > rank(*best)) best = &measured;
  }
  if (best != nullptr) gpu.memory_bandwidth = best->figure;
  const MeasuredCase* copy = nullptr;
  for (const MeasuredCase& measured : cases) {
    const bool is_copy =
        measured.benchmark == "memory_bandwidth" && measured.parameters.at("op") == "copy";
    if (is_copy && (copy == nullptr || NumberOf(measured, "bytes") > NumberOf(*copy, "bytes"))) {
      copy = &measured;
    }
  }
  if (copy != nullptr) gpu.copy_bandwidth = copy->figure;
}

void UseProducts(const std::vector<MeasuredCase>& cases, predict::Hardware& gpu) {
  for (const MeasuredCase& measured : cases) {
    if (measured.benchmark != "gemm") continue;
    const std::string& dtype = measured.parameters.at("dtype");
    gpu.products.push_back({NumberOf(measured, "m"), NumberOf(measured, "n"),
                            NumberOf(measured, "k"), dtype.substr(0, dtype.find('_')),
                            measured.figure});
  }
}

void UseAllReduces(const std::vector<MeasuredCase>& cases, predict::Hardware& gpu) {
  std::map<int, predict::MeasuredAllReduce> by_ranks;
  std::map<int, int> results;
  for (const MeasuredCase& measured : cases) {
    if (measured.benchmark != "all_reduce") continue;
    const double ranks = NumberOf(measured, "ranks");
    const double bytes = NumberOf(measured, "bytes");
    const double link_bytes = 2 * (ranks - 1) / ranks * bytes;
    const predict::Figure& rate = measured.figure;
    predict::MeasuredAllReduce& of_ranks = by_ranks[static_cast<int>(ranks)];
    of_ranks.ranks = static_cast<int>(ranks);
    // Use only one data type per size. The time of an operation depends on the number of bytes, but
    // hardly on the element type.
    if (std::any_of(of_ranks.sizes.begin(), of_ranks.sizes.end(),
                    [&](const auto& size) { return size.bytes == bytes; })) {
      continue;
    }
    of_ranks.sizes.push_back(
        {bytes,
         {link_bytes / rate.value, link_bytes / rate.high, link_bytes / rate.low, rate.source}});
    results[of_ranks.ranks] += measured.results;
  }
  for (auto& [ranks, measured] : by_ranks) {
    std::sort(measured.sizes.begin(), measured.sizes.end(),
              [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    measured.source = Counted(static_cast<int64_t>(measured.sizes.size()), "size") + ", " +
                      Counted(results[ranks], "result");
    // The bus bandwidth of the largest size is the best estimate of the bandwidth of a GPU's link.
    const predict::MeasuredAllReduce::Size& largest = measured.sizes.back();
    constexpr double kLarge = 64e6;
    if (largest.bytes >= kLarge) {
      const double carried = 2.0 * (ranks - 1) / ranks * largest.bytes;
      gpu.link_bandwidth =
          predict::Figure{carried / largest.seconds.value, carried / largest.seconds.high,
                          carried / largest.seconds.low, largest.seconds.source};
    }
    gpu.all_reduces.push_back(std::move(measured));
  }
}

// A source of performance figures for predictions. Uses figures measured in the fleet if there are
// any, and spec sheets otherwise.
class FleetWorld {
 public:
  FleetWorld(Context& context, const FigureOptions& options)
      : context_(context), options_(options) {}

  Result<predict::Hardware> Find(const std::string& name) {
    ASSAY_ASSIGN_OR_RETURN(const GpuSpec* spec, predict::FindSheet(name));
    predict::Hardware gpu = predict::FromSheet(*spec);
    if (options_.offline || away_) return gpu;
    const Result<std::vector<MeasuredCase>> cases = Fetch(*spec);
    if (!cases.ok() && ExitCodeOf(cases.status()) == kExitUnreachable &&
        !context_.client.coordinator_given) {
      away_ = true;
      PrintError("no coordinator at " +
                 (client_ != nullptr ? client_->addresses() : context_.client.coordinator) +
                 ": spec sheets are used; --offline does so without this line\n");
      return gpu;
    }
    if (!cases.ok()) return cases.status();
    if (cases->empty() && !options_.node.empty()) {
      PrintError("node " + Sanitize(options_.node) +
                 " has no results of gemm, memory_bandwidth or "
                 "all_reduce: the spec sheet is used\n");
    }
    UseMeasured(*cases, gpu);
    return gpu;
  }

 private:
  Result<std::vector<MeasuredCase>> Fetch(const GpuSpec& spec) {
    if (client_ == nullptr) {
      ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context_.client));
      client_ = std::make_unique<Client>(std::move(client));
    }
    // Avoid a separate query for every GPU model: a plan may look up all models, but the fleet has
    // results for only a few. On the second lookup, therefore, ask which models have results.
    if (++lookups_ > 1) {
      if (!measured_) {
        ASSAY_ASSIGN_OR_RETURN(measured_, MeasuredSheets(*client_, options_.simulated));
      }
      if (std::find(measured_->begin(), measured_->end(), &spec) == measured_->end()) {
        return std::vector<MeasuredCase>();
      }
    }
    return FetchMeasuredCases(*client_, spec, options_);
  }

  Context& context_;
  const FigureOptions& options_;
  std::unique_ptr<Client> client_;
  int lookups_ = 0;
  std::optional<std::vector<const GpuSpec*>> measured_;
  bool away_ = false;
};

}  // namespace

void AddFigureOptions(CLI::App& command, FigureOptions& options, bool has_gpu, bool has_model) {
  command.add_flag("--offline", options.offline,
                   has_gpu ? "Use spec sheets alone, and no coordinator's measurements"
                           : "No effect: this needs no coordinator");
  if (has_gpu) {
    command.add_option("--node", options.node, "Use what this node measured, instead of the fleet")
        ->check(NotEmpty());
    command.add_flag("--simulated", options.simulated,
                     "Use results of simulated nodes instead of real ones");
  }
  if (has_model) {
    command.add_option(
        "--model-file", options.model_files,
        "A model's config.json as Hugging Face has it. The model is named as the file "
        "(as its folder, for config.json); --model may be left out");
  }
}

Result<std::vector<MeasuredCase>> FetchMeasuredCases(Client& client, const GpuSpec& spec,
                                                     const FigureOptions& options) {
  std::vector<std::string> benchmarks;
  for (const CaseFields& fields : BenchmarksOfFigures()) benchmarks.emplace_back(fields.benchmark);
  std::string filter =
      "benchmark in (" + Join(benchmarks) +
      ") AND outcome = ok AND gpu.model = " + FilterText(ModelOfSheet(spec.name)) +
      " AND end_time >= " + kRecent +
      " AND NOT flag in (above_ceiling, unverified, shared_gpu, gpu_processes) AND simulated = " +
      (options.simulated ? "true" : "false");
  if (!options.node.empty()) filter += " AND node = " + FilterText(options.node);
  v1::GroupResultsRequest request;
  request.set_filter(filter);
  request.add_group_by("gpu.form_factor");
  request.add_group_by("driver");
  constexpr int kMost = 10'000;
  request.set_limit(kMost);
  ASSAY_ASSIGN_OR_RETURN(const v1::GroupResultsResponse response,
                         client.Call(&v1::ResultService::Stub::GroupResults, request));
  return CasesOf(response, spec, options);
}

Result<std::vector<const GpuSpec*>> MeasuredSheets(Client& client, bool simulated) {
  v1::ListFacetsRequest request;
  request.add_fields("gpu.model");
  request.set_simulated(simulated);
  ASSAY_ASSIGN_OR_RETURN(const v1::ListFacetsResponse facets,
                         client.Call(&v1::ResultService::Stub::ListFacets, request));
  std::set<std::string> models;
  for (const v1::Facet& facet : facets.facets()) {
    if (facet.field() == "gpu.model") models.insert(facet.values().begin(), facet.values().end());
  }
  std::vector<const GpuSpec*> sheets;
  for (const GpuSpec& spec : SpecSheets()) {
    if (models.count(ModelOfSheet(spec.name)) > 0) sheets.push_back(&spec);
  }
  return sheets;
}

void UseMeasured(const std::vector<MeasuredCase>& cases, predict::Hardware& gpu) {
  UseBandwidth(cases, gpu);
  UseProducts(cases, gpu);
  UseAllReduces(cases, gpu);
}

Result<predict::World> MakeWorld(Context& context, const FigureOptions& options) {
  predict::World world = predict::SheetsOnly();
  const auto fleet = std::make_shared<FleetWorld>(context, options);
  world.find_hardware = [fleet](const std::string& name) { return fleet->Find(name); };
  std::map<std::string, predict::ModelShape> own;
  for (const std::string& path : options.model_files) {
    ASSAY_ASSIGN_OR_RETURN(predict::ModelShape shape, ReadModelFile(path));
    own.emplace(shape.name, std::move(shape));
  }
  world.find_shape = [own](const std::string& name) -> std::optional<predict::ModelShape> {
    const auto found = own.find(name);
    if (found == own.end()) return std::nullopt;
    return found->second;
  };
  return world;
}

}  // namespace assay::cli
