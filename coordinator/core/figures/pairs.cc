// Judges the measurements of a campaign between every two nodes, and every two GPUs of a node.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/pair_report_text.h"
#include "common/units.h"
#include "coordinator/core/figures/figures.h"
#include "coordinator/core/figures/visit.h"

namespace assay::coordinator {
namespace {

using analysis::PairCase;
using analysis::PairReport;
using analysis::Verdict;

constexpr int kMostResults = 200'000;
// Maximum number of cells (one per pair of GPUs) in a response. The nodes with the most suspect
// GPUs are added first.
constexpr int kMostGpuCells = 20'000;
constexpr int kMostFindings = 200;
// Parameters of benchmarks that measure between two GPUs: the ranks that send and receive.
constexpr char kFrom[] = "from";
constexpr char kTo[] = "to";

// The GPUs of a node.
struct NodeGpus {
  std::map<std::string, int> indices;                // By UUID.
  std::map<std::pair<int, int>, std::string> links;  // Kinds, by two indices, the lower first.
};
using Fleet = std::map<std::string, NodeGpus>;  // By name of the node.

Result<Fleet> ReadFleet(const Environment& environment) {
  ASSAY_ASSIGN_OR_RETURN(
      const std::vector<v1::Node> nodes,
      environment.nodes.ListNodes(Duration::max(), storage::NodeStore::Benchmarks::kNo));
  Fleet fleet;
  for (const v1::Node& node : nodes) {
    NodeGpus& gpus = fleet[node.description().name()];
    const v1::NodeInventory& inventory = node.description().inventory();
    for (const v1::GpuInventory& gpu : inventory.gpus()) gpus.indices[gpu.uuid()] = gpu.index();
    for (const v1::GpuLink& link : inventory.gpu_links()) {
      gpus.links[std::minmax(link.gpu_a(), link.gpu_b())] = link.kind();
    }
  }
  return fleet;
}

// The results and jobs of one report, which compares pairs of nodes or pairs of GPUs within a node.
struct Measured {
  std::vector<v1::StoredResult> results;
  std::vector<v1::Job> jobs;
};

// Returns the parts of a result that a pair report reads.
v1::StoredResult Slim(const v1::CaseResult& run) {
  v1::StoredResult slim;
  v1::CaseResult& to = *slim.mutable_case_result();
  to.set_job_id(run.job_id());
  to.set_outcome(run.outcome());
  to.mutable_failure()->set_reason(run.failure().reason());
  to.mutable_failure()->set_message(run.failure().message());
  *to.mutable_parameters() = run.parameters();
  to.set_benchmark(run.benchmark());
  to.set_benchmark_version(run.benchmark_version());
  if (!run.measurements().empty()) *to.add_measurements() = run.measurements(0);
  *to.mutable_conditions()->mutable_flags() = run.conditions().flags();
  *to.mutable_environment()->mutable_nccl() = run.environment().nccl();
  *to.mutable_provenance()->mutable_node_names() = run.provenance().node_names();
  return slim;
}

std::string GpuName(int index) { return "GPU " + std::to_string(index); }

// Replaces `names` by the names of two GPUs.
void SetEnds(int first, int second, google::protobuf::RepeatedPtrField<std::string>* names) {
  names->Clear();
  *names->Add() = GpuName(first);
  *names->Add() = GpuName(second);
}

// Returns the rank that a parameter names. nullopt if there is no such parameter.
std::optional<int> RankOf(const v1::CaseResult& run, const std::string& parameter) {
  const auto found = run.parameters().find(parameter);
  if (found == run.parameters().end()) return std::nullopt;
  const Result<int64_t> rank = ParseInteger(found->second);
  const bool valid = rank.ok() && *rank >= 0 && *rank < run.provenance().gpu_uuids_size();
  return valid ? std::optional(static_cast<int>(*rank)) : std::nullopt;
}

// Returns the indices of the two GPUs of a node between which a result was measured, sender first.
// These are the GPUs of the ranks in the parameters `from` and `to`, or the only two GPUs of the
// result. Returns nullopt if the GPUs are unknown.
std::optional<std::pair<int, int>> GpusOf(const v1::CaseResult& run, const Fleet& fleet) {
  const v1::Provenance& provenance = run.provenance();
  if (provenance.gpu_uuids_size() < 2 || provenance.node_names_size() != 1) return std::nullopt;
  const std::optional<int> from = RankOf(run, kFrom);
  const std::optional<int> to = RankOf(run, kTo);
  if (!(from && to) && provenance.gpu_uuids_size() != 2) return std::nullopt;
  const auto node = fleet.find(provenance.node_names(0));
  if (node == fleet.end()) return std::nullopt;
  const auto first = node->second.indices.find(provenance.gpu_uuids(from && to ? *from : 0));
  const auto second = node->second.indices.find(provenance.gpu_uuids(from && to ? *to : 1));
  const auto end = node->second.indices.end();
  if (first == end || second == end || first->second == second->second) return std::nullopt;
  return std::pair(first->second, second->second);
}

// The results and jobs of a campaign that measure between two nodes or between two GPUs of a node.
// Those between nodes are kept together, whereas those between GPUs are grouped by node.
class Sorter {
 public:
  explicit Sorter(const Fleet& fleet) : fleet_(fleet) {}

  void Add(const v1::CaseResult& run) {
    const auto& names = run.provenance().node_names();
    if (names.size() == 2 && names[0] != names[1]) {
      nodes_.results.push_back(Slim(run));
    } else if (const auto gpus = GpusOf(run, fleet_)) {
      v1::StoredResult& slim = gpus_[names[0]].results.emplace_back(Slim(run));
      v1::CaseResult& result = *slim.mutable_case_result();
      SetEnds(gpus->first, gpus->second, result.mutable_provenance()->mutable_node_names());
      result.mutable_parameters()->erase(kFrom);
      result.mutable_parameters()->erase(kTo);
    }
  }

  void Add(const v1::Job& job) {
    if (job.node_names_size() == 2 && job.more_node_count() == 0) {
      nodes_.jobs.push_back(job);
    } else if (job.node_names_size() == 1 && job.gpu_indices_size() == 2) {
      v1::Job& added = gpus_[job.node_names(0)].jobs.emplace_back(job);
      SetEnds(job.gpu_indices(0), job.gpu_indices(1), added.mutable_node_names());
    }
  }

  const Measured& nodes() const { return nodes_; }
  const std::map<std::string, Measured>& gpus() const { return gpus_; }  // By node.

 private:
  const Fleet& fleet_;
  Measured nodes_;
  std::map<std::string, Measured> gpus_;
};

v1::PairCellVerdict VerdictOf(analysis::PairVerdict verdict) {
  switch (verdict) {
    case analysis::PairVerdict::kOk:
      return v1::PAIR_CELL_VERDICT_OK;
    case analysis::PairVerdict::kBadNode:
      return v1::PAIR_CELL_VERDICT_BAD_END;
    case analysis::PairVerdict::kBadLink:
      return v1::PAIR_CELL_VERDICT_BAD_LINK;
    case analysis::PairVerdict::kUncertain:
      return v1::PAIR_CELL_VERDICT_UNCERTAIN;
    case analysis::PairVerdict::kUnjudged:
      return v1::PAIR_CELL_VERDICT_UNJUDGED;
  }
  return v1::PAIR_CELL_VERDICT_UNSPECIFIED;
}

v1::PairMatrix MatrixOf(const PairReport& report, const PairCase& one) {
  v1::PairMatrix matrix;
  matrix.set_benchmark(one.benchmark);
  matrix.set_parameters(one.parameters);
  matrix.set_metric(one.metric);
  matrix.set_unit(one.unit);
  matrix.set_direction(one.higher_is_better ? v1::DIRECTION_HIGHER_IS_BETTER
                                            : v1::DIRECTION_LOWER_IS_BETTER);
  matrix.set_directed(one.analysis.directed);
  for (size_t i = 0; i < one.cells.size(); ++i) {
    const analysis::PairCell& from = one.cells[i];
    const analysis::JudgedValue& judged = one.analysis.values[i];
    v1::PairCell& cell = *matrix.add_cells();
    cell.set_from(static_cast<int>(from.value.from));
    cell.set_to(static_cast<int>(from.value.to));
    cell.set_value(from.value.value);
    if (judged.expected) cell.set_expected(*judged.expected);
    cell.set_verdict(VerdictOf(judged.verdict));
    cell.mutable_flags()->Assign(from.flags.begin(), from.flags.end());
  }
  for (const auto& [a, b] : one.missing) {
    v1::PairCell& cell = *matrix.add_cells();
    cell.set_from(static_cast<int>(a));
    cell.set_to(static_cast<int>(b));
    cell.set_verdict(FailureOf(report, one, a, b) == nullptr ? v1::PAIR_CELL_VERDICT_MISSING
                                                             : v1::PAIR_CELL_VERDICT_FAILED);
  }
  return matrix;
}

// Makes the findings of one report.
class ReportFindings {
 public:
  explicit ReportFindings(const PairReport& report) : report_(report) {}

  std::vector<v1::PairFinding> Make() && {
    failures_ = analysis::FailuresOf(report_);
    for (const analysis::Suspect& suspect : report_.suspects) Add(suspect);
    for (const PairCase& one : report_.cases) {
      for (const analysis::PairFinding& found : FindingsOf(report_, one)) {
        if (!found.certain) Add(found.nodes, false, InCase(one, found.text), "");
      }
    }
    return std::move(findings_);
  }

 private:
  // Returns the text, preceded by the name of its case if the report has several cases.
  std::string InCase(const PairCase& one, const std::string& text) const {
    return report_.cases.size() > 1 ? CaseName(one) + ": " + text : text;
  }

  void Add(const analysis::Suspect& suspect) {
    std::vector<size_t> nodes = {suspect.a};
    if (!suspect.is_node()) nodes.push_back(suspect.b);
    Add(nodes, true, TextOf(suspect, nodes), AdviceOn(report_, suspect));
  }

  // Adds a finding unless one about the same node or link was added before.
  void Add(const std::vector<size_t>& nodes, bool certain, const std::string& text,
           const std::string& advice) {
    if (!added_.insert(std::set<size_t>(nodes.begin(), nodes.end())).second) return;
    v1::PairFinding& finding = findings_.emplace_back();
    for (const size_t node : nodes) finding.add_ends(static_cast<int>(node));
    finding.set_certain(certain);
    finding.set_text(text);
    finding.set_advice(advice);
  }

  std::string TextOf(const analysis::Suspect& suspect, const std::vector<size_t>& nodes) const {
    const std::set<size_t> ends(nodes.begin(), nodes.end());
    const auto is_of_suspect = [&](const analysis::PairFinding& found) {
      return found.certain && std::set<size_t>(found.nodes.begin(), found.nodes.end()) == ends;
    };
    if (suspect.failed) {
      const auto found = std::find_if(failures_.begin(), failures_.end(), is_of_suspect);
      if (found != failures_.end()) return found->text;
    }
    for (const size_t index : suspect.analyses) {
      const PairCase& one = report_.cases[index];
      const std::vector<analysis::PairFinding> of_case = FindingsOf(report_, one);
      const auto found = std::find_if(of_case.begin(), of_case.end(), is_of_suspect);
      if (found == of_case.end()) continue;
      const std::string text = InCase(one, found->text);
      if (suspect.analyses.size() == 1) return text;
      return text + "; in " + std::to_string(suspect.analyses.size()) + " of " +
             std::to_string(report_.cases.size()) + " cases";
    }
    return "";
  }

  const PairReport& report_;
  std::vector<analysis::PairFinding> failures_;
  std::set<std::set<size_t>> added_;
  std::vector<v1::PairFinding> findings_;
};

// Adds a report to the answer. `name` returns the name of an end in the answer.
template <typename Name>
void AddReport(const PairReport& report, const Name& name, std::vector<v1::PairMatrix> matrices,
               v1::GetPairsResponse& response) {
  const int first = response.ends_size();
  for (const std::string& node : report.nodes) response.add_ends(name(node));
  for (v1::PairMatrix& matrix : matrices) {
    for (v1::PairCell& cell : *matrix.mutable_cells()) {
      cell.set_from(cell.from() + first);
      cell.set_to(cell.to() + first);
    }
    *response.add_matrices() = std::move(matrix);
  }
  for (v1::PairFinding& finding : ReportFindings(report).Make()) {
    if (response.findings_size() == kMostFindings) break;
    for (int& end : *finding.mutable_ends()) end += first;
    *response.add_findings() = std::move(finding);
  }
}

int IndexOfName(const std::string& gpu) { return std::stoi(gpu.substr(gpu.find(' ') + 1)); }

// Sets the kind of link of each cell of a node's matrix.
void AddLinks(const PairReport& report, const NodeGpus& gpus, v1::PairMatrix& matrix) {
  for (v1::PairCell& cell : *matrix.mutable_cells()) {
    const int from = IndexOfName(report.nodes[static_cast<size_t>(cell.from())]);
    const int to = IndexOfName(report.nodes[static_cast<size_t>(cell.to())]);
    const auto link = gpus.links.find(std::minmax(from, to));
    if (link != gpus.links.end()) cell.set_link(link->second);
  }
}

std::vector<v1::PairMatrix> MatricesOf(const PairReport& report) {
  std::vector<v1::PairMatrix> matrices;
  for (const PairCase& one : report.cases) matrices.push_back(MatrixOf(report, one));
  return matrices;
}

v1::PairsVerdict Worse(v1::PairsVerdict a, Verdict b) {
  const v1::PairsVerdict other = b == Verdict::kBad     ? v1::PAIRS_VERDICT_BAD
                                 : b == Verdict::kClear ? v1::PAIRS_VERDICT_CLEAR
                                                        : v1::PAIRS_VERDICT_UNDECIDED;
  return std::max(a, other);
}

// Returns a filter for the results of `benchmarks`, as well as results of any benchmark that
// measured one of several pairs of GPUs.
std::string FilterOf(const v1::Campaign& campaign, const std::set<std::string>& benchmarks,
                     bool all_metrics) {
  std::string any = std::string("parameters.") + kFrom + " >= 0";
  for (const std::string& benchmark : benchmarks) {
    any += " OR benchmark = " + FilterText(benchmark);
  }
  // Unless a filter mentions `simulated` and `primary`, it leaves out the results of simulated
  // nodes and secondary metrics. Mention both to include these results.
  return "campaign_id = " + FilterText(campaign.campaign_id()) + " AND " + any +
         " AND simulated = true OR simulated = false" +
         (all_metrics ? " AND primary = true OR primary = false OR outcome != ok" : "");
}

}  // namespace

Result<v1::GetPairsResponse> Figures::GetPairs(const v1::GetPairsRequest& request) const {
  constexpr double kNormalThreshold = 0.1;
  const double threshold = request.threshold() == 0 ? kNormalThreshold : request.threshold();
  if (!(threshold >= 0.01 && threshold <= 0.9)) {
    return InvalidArgument("threshold must be 0 or from 0.01 to 0.9");
  }
  ASSAY_ASSIGN_OR_RETURN(const v1::Campaign campaign,
                         environment_.jobs.GetCampaign(request.campaign()));
  ASSAY_ASSIGN_OR_RETURN(const Fleet fleet, ReadFleet(environment_));
  Sorter sorter(fleet);
  std::set<std::string> benchmarks;
  ASSAY_RETURN_IF_ERROR(VisitJobs(environment_, campaign.campaign_id(), [&](const v1::Job& job) {
    if (job.world_size() != 2 && job.node_names_size() != 2) return;
    benchmarks.insert(job.benchmark());
    sorter.Add(job);
  }));
  const auto visit = [&](const v1::StoredResult& result) {
    sorter.Add(result.case_result());
    return true;
  };
  ASSAY_RETURN_IF_ERROR(VisitResults(environment_,
                                     FilterOf(campaign, benchmarks, !request.metric().empty()), "",
                                     kMostResults, visit)
                            .status());
  v1::GetPairsResponse response;
  response.set_campaign_id(campaign.campaign_id());
  *response.mutable_absent_nodes() = campaign.coverage().absent_nodes();
  response.set_waiting_job_count(campaign.jobs().queued() + campaign.jobs().running());
  const analysis::PairQuery query{request.metric(), threshold};
  ASSAY_ASSIGN_OR_RETURN(
      const PairReport nodes,
      analysis::MakePairReport(sorter.nodes().results, sorter.nodes().jobs, query));
  AddReport(
      nodes, [](const std::string& name) { return name; }, MatricesOf(nodes), response);
  v1::PairsVerdict verdict = v1::PAIRS_VERDICT_UNSPECIFIED;
  if (!nodes.nodes.empty()) verdict = Worse(verdict, nodes.verdict());

  std::vector<std::pair<const std::string*, PairReport>> of_gpus;
  for (const auto& [node, measured] : sorter.gpus()) {
    ASSAY_ASSIGN_OR_RETURN(PairReport report,
                           analysis::MakePairReport(measured.results, measured.jobs, query));
    report.noun = "GPU";
    if (report.cases.empty() && report.failures.empty()) continue;
    // A pair can only be judged by comparison with other pairs of the same case. There may be no
    // other pair, for example for a collective over two GPUs.
    const bool compares = std::any_of(report.cases.begin(), report.cases.end(),
                                      [](const PairCase& one) { return one.cells.size() > 1; });
    if (!compares && report.failures.empty()) continue;
    // Minimum number of GPUs for a report to count toward the campaign's verdict. With fewer GPUs,
    // a report only counts if it is bad, because any other is undecided and would make the whole
    // campaign undecided.
    constexpr size_t kLeastJudged = 4;
    const bool judged = report.nodes.size() >= kLeastJudged || report.verdict() == Verdict::kBad;
    if (judged) verdict = Worse(verdict, report.verdict());
    of_gpus.emplace_back(&node, std::move(report));
  }
  std::stable_sort(of_gpus.begin(), of_gpus.end(), [](const auto& a, const auto& b) {
    return a.second.suspects.size() > b.second.suspects.size();
  });
  int cells = 0;
  for (const auto& [node, report] : of_gpus) {
    std::vector<v1::PairMatrix> matrices = MatricesOf(report);
    for (v1::PairMatrix& matrix : matrices) {
      matrix.set_between_gpus(true);
      const auto gpus = fleet.find(*node);
      if (gpus != fleet.end()) AddLinks(report, gpus->second, matrix);
      cells += matrix.cells_size();
    }
    if (cells > kMostGpuCells) break;
    AddReport(
        report, [&](const std::string& gpu) { return *node + " " + gpu; }, std::move(matrices),
        response);
  }
  const bool open = verdict == v1::PAIRS_VERDICT_UNSPECIFIED || response.waiting_job_count() > 0;
  if (open && verdict != v1::PAIRS_VERDICT_BAD) verdict = v1::PAIRS_VERDICT_UNDECIDED;
  response.set_verdict(verdict);
  return response;
}

}  // namespace assay::coordinator
