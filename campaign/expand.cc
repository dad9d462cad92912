#include "campaign/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "campaign/fleet_schemas.h"
#include "campaign/matrix.h"
#include "campaign/node_fields.h"
#include "campaign/placement.h"
#include "campaign/spec_checks.h"
#include "common/digest.h"
#include "common/text.h"
#include "common/units.h"
#include "common/uuid.h"
#include "common/violations.h"
#include "model/filter.h"
#include "wire/benchmark_schema.h"

namespace assay::campaign {
namespace {

constexpr int kMaxRanks = 4096;
constexpr int kMaxNodes = 64;
// The largest number of absent nodes that a campaign lists by name.
constexpr int kMostAbsent = 20;

// Cases (benchmark runs with fixed parameters) that run together in one job, and the placements
// (sets of nodes and GPUs) on which they run. Each repetition on each placement is a separate job.
struct Group {
  int index = 0;  // Index of the entry in the spec.
  const v1::BenchmarkSchema* schema = nullptr;
  int ranks = 1;
  int nodes = 1;
  bool counters = false;
  NcclSettings nccl;
  std::vector<v1::BenchmarkCase> cases = {};
  std::vector<Placement> placements = {};
};

// Returns a random seed shared by all ranks (processes) of a job. Nodes receive it only in the
// Assign message, so they cannot compute a job's outputs before the job runs.
uint64_t NewSeed() { return std::stoull(Sha256Hex(NewUuid()).substr(0, 16), nullptr, 16); }

// Returns a copy of the node whose benchmark schemas contain only what placement reads.
v1::Node WithoutSchemas(const v1::Node& node) {
  v1::Node slim = node;
  for (v1::BenchmarkSchema& schema : *slim.mutable_description()->mutable_benchmarks()) {
    v1::BenchmarkSchema bare;
    bare.set_name(schema.name());
    bare.set_version(schema.version());
    bare.set_unsupported_reason(schema.unsupported_reason());
    schema = std::move(bare);
  }
  return slim;
}

// Returns the node's name. If the node is cordoned, so that it gets no jobs, adds the reason.
std::string AbsentText(const v1::Node& node) {
  const std::string& name = node.description().name();
  if (!node.has_cordon()) return name;
  const std::string& reason = node.cordon().reason();
  return name + " (cordoned" + (reason.empty() ? "" : ": " + reason) + ")";
}

class Expander {
 public:
  explicit Expander(const v1::CampaignSpec& spec) : spec_(spec) {}

  Result<Expansion> Expand(const std::vector<v1::Node>& fleet) {
    std::vector<v1::Node> slim;
    for (const v1::Node& node : fleet) slim.push_back(WithoutSchemas(node));
    SelectNodes(slim);
    AddSchemas(fleet, nodes_);
    // For better error messages, also add the benchmark schemas of any connected nodes that do not
    // match the campaign's filter. They never replace the schema of a matching node.
    const int connected = coverage_.node_count() - coverage_.absent_node_count();
    if (static_cast<size_t>(connected) < connected_.size()) AddSchemas(fleet, connected_);
    CheckCampaignFields(spec_, schemas_, violations_);
    CheckMatrices();
    MakeGroups();
    RefuseIfNothingIsLeft();
    CheckAcceptRules();
    CheckJobCounts();
    if (violations_.empty() && unreachable_.empty() && !absent_.empty()) return NodesAbsent();
    if (violations_.empty() && absent_.empty() && !unreachable_.empty()) {
      return unreachable_.ToStatus("the campaign", Reason::kNoSharedNetwork);
    }
    violations_.Add(unreachable_);
    violations_.Add(absent_);
    ASSAY_RETURN_IF_ERROR(violations_.ToStatus("the campaign", Reason::kInvalidCampaign));
    return MakeJobs();
  }

  Result<int64_t> Check(const std::vector<v1::BenchmarkSchema>& benchmarks) {
    offline_ = true;
    const Result<Filter> filter = ParseFilter(spec_.node_filter());
    const Status fields = filter.ok() ? MatchingNodes(*filter, {}).status() : filter.status();
    if (!fields.ok()) AddFilterError(fields);
    for (const v1::BenchmarkSchema& schema : benchmarks) schemas_.emplace(schema.name(), schema);
    CheckCampaignFields(spec_, schemas_, violations_);
    CheckMatrices();
    MakeGroups();
    CheckAcceptRules();
    ASSAY_RETURN_IF_ERROR(violations_.ToStatus("the campaign", Reason::kInvalidCampaign));
    int64_t count = 0;
    for (const auto& [benchmark, cases] : cases_) count += static_cast<int64_t>(cases.size());
    return count;
  }

 private:
  struct CheckedMatrix {
    int index = 0;  // Index in the spec.
    const v1::BenchmarkMatrix* spec = nullptr;
    const v1::BenchmarkSchema* schema = nullptr;
    std::string path;
    Matrix matrix;
  };

  void SelectNodes(const std::vector<v1::Node>& fleet) {
    std::copy_if(fleet.begin(), fleet.end(), std::back_inserter(connected_),
                 [](const v1::Node& node) { return !IsAbsent(node); });
    const Result<Filter> filter = ParseFilter(spec_.node_filter());
    if (!filter.ok()) return AddFilterError(filter.status());
    Result<std::vector<v1::Node>> matching = MatchingNodes(*filter, connected_);
    if (!matching.ok()) return AddFilterError(matching.status());
    nodes_ = *std::move(matching);
    if (Result<std::vector<v1::Node>> known = MatchingNodes(*filter, fleet); known.ok()) {
      known_ = *std::move(known);
    }
    const v1::AbsentPolicy policy = AbsentPolicyOf(spec_);
    CheckCoverage(policy);
    // Check the campaign as if absent nodes were connected, unless they cause only a warning. The
    // user then sees at once all errors that would remain if these nodes returned.
    if (policy != v1::ABSENT_POLICY_WARN) nodes_ = known_;
    if (!nodes_.empty()) return;
    std::string why = ExplainNoMatch(*filter, connected_);
    if (!known_.empty()) why += "; absent nodes match: " + JoinSome(AbsentTexts());
    violations_.Add("nodes", std::move(why), LineOf(spec_, "nodes"));
  }

  void AddFilterError(const Status& error) {
    const std::string hint = error.hint().empty() ? "" : "; " + error.hint();
    violations_.Add("nodes", error.message() + hint, LineOf(spec_, "nodes"));
  }

  // Records the numbers of matching and absent nodes in `coverage_`. Adds an error to `absent_` if
  // the campaign requires nodes that are absent or do not exist.
  void CheckCoverage(v1::AbsentPolicy policy) {
    std::vector<std::string> names;
    for (const v1::Node& node : known_) {
      if (IsAbsent(node)) names.push_back(node.description().name());
    }
    std::sort(names.begin(), names.end());
    const auto all = static_cast<int>(known_.size());
    coverage_.set_node_count(all);
    coverage_.set_absent_node_count(static_cast<int>(names.size()));
    for (size_t i = 0; i < std::min<size_t>(names.size(), kMostAbsent); ++i) {
      coverage_.add_absent_nodes(names[i]);
    }
    if (policy == v1::ABSENT_POLICY_FAIL && !names.empty()) {
      const auto count = static_cast<int64_t>(names.size());
      absent_.Add("nodes",
                  fmt::format("{} of {} {} absent: {}", count, Counted(all, "matching node"),
                              Plural(count, "is", "are"), JoinSome(AbsentTexts(), kMostAbsent)),
                  LineOf(spec_, "nodes"));
    }
    if (spec_.expect_nodes() > 0 && spec_.expect_nodes() != all) {
      std::vector<std::string> matching;
      for (const v1::Node& node : known_) matching.push_back(node.description().name());
      std::sort(matching.begin(), matching.end());
      absent_.Add("expect_nodes",
                  fmt::format("is {}, and {}{}{}", spec_.expect_nodes(),
                              Counted(all, "node matches", "nodes match"), all > 0 ? ": " : "",
                              JoinSome(matching, kMostAbsent)),
                  LineOf(spec_, "expect_nodes"));
    }
  }

  Status NodesAbsent() const {
    const Status listed = absent_.ToStatus("the campaign", Reason::kNodesAbsent);
    const bool fails = AbsentPolicyOf(spec_) == v1::ABSENT_POLICY_FAIL;
    return Status(Code::kFailedPrecondition, listed.reason(), listed.message())
        .WithViolations(listed.violations())
        .WithHint(fails && coverage_.absent_node_count() > 0
                      ? Remedy() +
                            "; `absent: warn` runs without them, and `absent: wait` waits "
                            "for them"
                      : "");
  }

  // Adds the schemas of the benchmarks of `nodes`. These nodes must be part of `fleet`.
  void AddSchemas(const std::vector<v1::Node>& fleet, const std::vector<v1::Node>& nodes) {
    std::set<std::string> wanted;
    for (const v1::Node& node : nodes) wanted.insert(node.description().node_id());
    const auto is_wanted = [&](const v1::Node& node) {
      return wanted.contains(node.description().node_id());
    };
    for (v1::BenchmarkSchema& schema : FleetSchemas(fleet, is_wanted)) {
      const std::string name = schema.name();
      schemas_.emplace(name, std::move(schema));
    }
  }

  // Returns the absent nodes that match, sorted.
  std::vector<std::string> AbsentTexts() const {
    std::vector<std::string> texts;
    for (const v1::Node& node : known_) {
      if (IsAbsent(node)) texts.push_back(AbsentText(node));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }

  // Returns the advice on how to make the absent nodes available.
  std::string Remedy() const {
    const auto any = [this](auto&& is) { return std::any_of(known_.begin(), known_.end(), is); };
    const bool cordoned = any([](const v1::Node& node) { return node.has_cordon(); });
    const bool away =
        any([](const v1::Node& node) { return IsAbsent(node) && !node.has_cordon(); });
    if (!cordoned) return "start their agents, or remove the nodes from the fleet";
    return std::string("uncordon the cordoned nodes") +
           (away ? "; start the agents of the others, or remove those from the fleet" : "");
  }

  void CheckMatrices() {
    double cases = 0;
    for (int i = 0; i < spec_.benchmarks_size(); ++i) {
      const v1::BenchmarkMatrix& matrix = spec_.benchmarks(i);
      const std::string path = fmt::format("benchmarks[{}]", i);
      const auto schema = schemas_.find(matrix.benchmark());
      if (schema == schemas_.end()) {
        AddUnknownBenchmark(matrix, path);
        continue;
      }
      const size_t errors = violations_.count();
      Matrix checked(matrix, schema->second, path, kMaxCases, violations_);
      CheckEntryFields(spec_, matrix, schema->second, path, violations_);
      cases += checked.case_count();
      if (violations_.count() > errors) continue;
      matrices_.push_back({i, &matrix, &schema->second, path, std::move(checked)});
    }
    if (cases > kMaxCases) {
      matrices_.clear();  // The count alone is the error; the matrices are never expanded.
      violations_.Add("benchmarks",
                      fmt::format("{:.15g} cases; the limit is {} cases a campaign (and {} jobs)",
                                  cases, kMaxCases, kMaxJobs),
                      LineOf(spec_, "benchmarks"));
    }
  }

  void AddUnknownBenchmark(const v1::BenchmarkMatrix& matrix, const std::string& path) {
    std::vector<std::string> names;
    for (const auto& [name, schema] : schemas_) names.push_back(name);
    std::string error = offline_ ? "there is no benchmark " : "no connected node has a benchmark ";
    error += Quote(matrix.benchmark());
    const std::string closest = ClosestName(matrix.benchmark(), names);
    // List all known benchmarks only in the first error about an unknown one. A campaign written
    // for GPUs can name dozens of benchmarks that are unknown in a fleet without GPUs, and each
    // error would repeat the list.
    if (!std::exchange(benchmarks_listed_, true)) {
      error += "; " + Suggest(matrix.benchmark(), names);
    } else if (!closest.empty()) {
      error += "; did you mean " + Quote(closest) + "?";
    }
    violations_.Add(path, std::move(error), matrix.line());
  }

  void MakeGroups() {
    for (const CheckedMatrix& checked : matrices_) {
      const size_t errors = violations_.count();
      const std::vector<ParameterMap> cases = checked.matrix.Cases(violations_);
      if (!cases.empty()) {  // Accept rules are checked against refused cases too.
        std::vector<ParameterMap>& all = cases_[checked.schema->name()];
        all.insert(all.end(), cases.begin(), cases.end());
      }
      if (nodes_.empty() || violations_.count() > errors) continue;
      const std::vector<v1::Node> eligible =
          EligibleNodes(*checked.schema, nodes_, checked.path, checked.spec->line(), violations_);
      if (!eligible.empty()) GroupByRanks(checked, cases, eligible);
    }
  }

  void GroupByRanks(const CheckedMatrix& checked, const std::vector<ParameterMap>& cases,
                    const std::vector<v1::Node>& eligible) {
    std::vector<Group> groups;
    const bool counters =
        checked.spec->has_counters() ? checked.spec->counters() : spec_.counters();
    for (const ParameterMap& parameters : cases) {
      const std::optional<int> ranks = CountOf(checked, parameters, "ranks", kMaxRanks);
      const std::optional<int> over = CountOf(checked, parameters, "nodes", kMaxNodes);
      if (!ranks || !over) return;
      auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& known) {
        return known.ranks == *ranks && known.nodes == *over;
      });
      if (group == groups.end()) {
        group = groups.insert(groups.end(), {checked.index, checked.schema, *ranks, *over, counters,
                                             NcclOf(spec_, *checked.spec, *checked.schema)});
      }
      v1::BenchmarkCase& added = group->cases.emplace_back();
      added.set_case_index(static_cast<int>(group->cases.size()) - 1);
      added.mutable_parameters()->insert(parameters.begin(), parameters.end());
    }
    for (Group& group : groups) PlaceGroup(checked, std::move(group), eligible);
  }

  void PlaceGroup(const CheckedMatrix& checked, Group group,
                  const std::vector<v1::Node>& eligible) {
    const auto& gpus = checked.spec->gpu_indices();
    const PlacementRequest request{*checked.schema, spec_.placement(), {gpus.begin(), gpus.end()},
                                   group.ranks,     group.nodes,       spec_.mixed_gpus(),
                                   kMaxJobs,        checked.path,      checked.spec->line()};
    Placements placements = PlaceJobs(request, eligible, violations_);
    if (placements.shortage) {
      return LeaveOut(checked, group, request, *std::move(placements.shortage));
    }
    if (placements.no_shared_network) {
      const Violation& why = *placements.no_shared_network;
      return unreachable_.Add(why.field, why.description, why.line);
    }
    if (spec_.placement() == v1::PLACEMENT_POLICY_ANY) {
      for (Placement& placement : placements.list) {
        storage::NodeIds& candidates = placement.candidate_node_ids;
        candidates = *candidate_lists_.insert(candidates).first;
      }
    }
    const int64_t jobs = placements.count * RepetitionsOf(spec_);
    group.placements = std::move(placements.list);
    job_count_ += jobs;
    case_runs_ += jobs * static_cast<int64_t>(group.cases.size());
    // Beyond the limits, only the counts are needed.
    if (job_count_ <= kMaxJobs) groups_.push_back(std::move(group));
  }

  // Applies the campaign's `unplaceable` setting to cases that need more nodes than are connected.
  void LeaveOut(const CheckedMatrix& checked, const Group& group, const PlacementRequest& request,
                Violation shortage) {
    const v1::Unplaceable own = checked.spec->unplaceable();
    const bool skip =
        (own == v1::UNPLACEABLE_UNSPECIFIED ? spec_.unplaceable() : own) == v1::UNPLACEABLE_SKIP;
    if (!skip || FitsOnAllMatchingNodes(request)) {
      if (skip) {
        shortage.description += "; with the absent nodes that match (" + JoinSome(AbsentTexts()) +
                                ") there would be enough: " + Remedy();
      }
      violations_.Add(shortage.field, shortage.description, shortage.line);
      return;
    }
    v1::LeftOut& left_out = left_out_.emplace_back();
    left_out.set_benchmark_index(checked.index);
    left_out.set_benchmark(checked.schema->name());
    left_out.set_line(checked.spec->line());
    left_out.set_ranks(group.ranks);
    left_out.set_nodes(group.nodes);
    left_out.set_case_count(static_cast<int>(group.cases.size()));
    left_out.set_reason(shortage.description);
    shortages_.push_back(std::move(shortage));
  }

  // Returns true if the job could be placed if all matching nodes were connected.
  bool FitsOnAllMatchingNodes(const PlacementRequest& request) const {
    if (known_.size() == nodes_.size()) return false;
    Violations ignored;
    const std::vector<v1::Node> eligible =
        EligibleNodes(request.schema, known_, request.path, request.line, ignored);
    return PlaceJobs(request, eligible, ignored).count > 0;
  }

  void RefuseIfNothingIsLeft() {
    if (job_count_ > 0 || !violations_.empty() || !unreachable_.empty()) return;
    for (const Violation& shortage : shortages_)
      violations_.Add(shortage.field, shortage.description, shortage.line);
  }

  // Returns `ranks` or `nodes` of a case; 1 if the benchmark has no such parameter.
  std::optional<int> CountOf(const CheckedMatrix& checked, const ParameterMap& parameters,
                             const std::string& name, int most) {
    const auto found = parameters.find(name);
    const bool ranks = name == "ranks";
    if (!checked.schema->collective() || (!ranks && found == parameters.end())) return 1;
    const Result<int64_t> count =
        found == parameters.end() ? InvalidArgument("it is missing") : ParseInteger(found->second);
    if (count.ok() && *count >= 1 && *count <= most) return static_cast<int>(*count);
    violations_.Add(checked.path + "." + name,
                    fmt::format("must be a whole number from 1 to {}", most), checked.spec->line());
    return std::nullopt;
  }

  void CheckAcceptRules() {
    // After other errors, or with too many jobs, the list of cases that would run is incomplete.
    const bool some_left_out = violations_.empty() && !left_out_.empty() && job_count_ <= kMaxJobs;
    for (int i = 0; i < spec_.accept_size(); ++i) {
      const v1::AcceptRule& rule = spec_.accept(i);
      const std::string path = fmt::format("accept[{}]", i);
      const Result<AcceptRule> parsed = ParseAcceptRule(rule.text());
      if (!parsed.ok()) {
        violations_.Add(path, parsed.status().message(), rule.line());
        continue;
      }
      const auto schema = schemas_.find(parsed->benchmark);
      const bool used = std::any_of(
          spec_.benchmarks().begin(), spec_.benchmarks().end(),
          [&](const v1::BenchmarkMatrix& m) { return m.benchmark() == parsed->benchmark; });
      if (!used) {
        std::vector<std::string> names;
        for (const v1::BenchmarkMatrix& matrix : spec_.benchmarks()) {
          names.push_back(matrix.benchmark());
        }
        violations_.Add(path,
                        fmt::format("the campaign has no benchmark {}; {}",
                                    Quote(parsed->benchmark), Suggest(parsed->benchmark, names)),
                        rule.line());
        continue;
      }
      if (schema == schemas_.end()) continue;  // Its entry has the error.
      // If another error prevented the creation of the benchmark's cases, there are none to compare
      // the rule with, so check only the rest of it.
      const auto cases = cases_.find(parsed->benchmark);
      const Status sound = CheckAcceptRule(*parsed, schema->second,
                                           cases == cases_.end() ? nullptr : &cases->second);
      if (!sound.ok()) violations_.Add(path, sound.message(), rule.line());
      if (sound.ok() && some_left_out && !RunsACaseOf(*parsed)) {
        violations_.Add(path,
                        "can only fail, because `unplaceable: skip` leaves out every case that it "
                        "covers; choose nodes that can run one, or delete the rule",
                        rule.line());
      }
    }
  }

  bool RunsACaseOf(const AcceptRule& rule) const {
    return std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
      return group.schema->name() == rule.benchmark &&
             std::any_of(group.cases.begin(), group.cases.end(), [&](const auto& one) {
               return Covers(rule, {one.parameters().begin(), one.parameters().end()});
             });
    });
  }

  void CheckJobCounts() {
    if (job_count_ > kMaxJobs) {
      violations_.Add("benchmarks",
                      fmt::format("{} jobs; the limit is {} jobs (and {} cases) a campaign",
                                  job_count_, kMaxJobs, kMaxCases),
                      LineOf(spec_, "benchmarks"));
    }
    if (case_runs_ > kMaxCaseRuns) {
      violations_.Add(
          "benchmarks",
          fmt::format("{} runs of cases over all placements and repetitions; the limit is {}",
                      case_runs_, kMaxCaseRuns),
          LineOf(spec_, "benchmarks"));
    }
  }

  Expansion MakeJobs() const {
    Expansion expansion;
    expansion.case_runs = case_runs_;
    expansion.left_out = left_out_;
    expansion.coverage = coverage_;
    for (int repetition = 1; repetition <= RepetitionsOf(spec_); ++repetition) {
      for (const Group& group : groups_) {
        for (const Placement& placement : group.placements) {
          storage::NewJob job;
          job.job_id = NewUuid();
          job.benchmark = group.schema->name();
          job.benchmark_index = group.index;
          job.benchmark_version = group.schema->version();
          job.resource = group.schema->resource();
          job.cases = group.cases;
          job.world_size = group.ranks;
          job.node_count = placement.node_count;
          job.candidate_node_ids = placement.candidate_node_ids;
          job.gpu_indices = placement.gpu_indices;
          job.exclusive_node = spec_.exclusive() != v1::EXCLUSIVITY_GPU;
          job.timeout = TimeoutOf(spec_);
          job.repetition = repetition;
          job.seed = NewSeed();
          job.counters = group.counters;
          job.mixed_gpus = spec_.mixed_gpus();
          job.effort = spec_.effort();
          job.nccl = group.nccl;
          expansion.jobs.push_back(std::move(job));
        }
      }
    }
    return expansion;
  }

  const v1::CampaignSpec& spec_;
  Violations violations_;
  std::vector<v1::Node> connected_;  // And not cordoned.
  std::vector<v1::Node> nodes_;      // The nodes that the campaign is placed on.
  std::vector<v1::Node> known_;      // All nodes that the filter selects, connected or not.
  v1::Coverage coverage_;
  Violations absent_;       // Errors of the fleet rather than of the campaign.
  Violations unreachable_;  // Gangs whose nodes share no network.
  Schemas schemas_;
  bool offline_ = false;            // Without a fleet.
  bool benchmarks_listed_ = false;  // An error has named all benchmarks.
  std::vector<CheckedMatrix> matrices_;
  std::vector<Group> groups_;
  std::set<storage::NodeIds> candidate_lists_;  // Equal lists are stored once, for all entries.
  std::map<std::string, std::vector<ParameterMap>> cases_;  // By benchmark.
  std::vector<v1::LeftOut> left_out_;
  std::vector<Violation> shortages_;  // Errors that `unplaceable: skip` turned into left-out cases.
  int64_t job_count_ = 0;
  int64_t case_runs_ = 0;
};

}  // namespace

bool IsAbsent(const v1::Node& node) {
  return node.state() != v1::NODE_STATE_CONNECTED || node.has_cordon();
}

Result<Expansion> ExpandCampaign(const v1::CampaignSpec& spec, const std::vector<v1::Node>& fleet) {
  return Expander(spec).Expand(fleet);
}

Result<int64_t> CheckCampaign(const v1::CampaignSpec& spec,
                              const std::vector<v1::BenchmarkSchema>& benchmarks) {
  return Expander(spec).Check(benchmarks);
}

v1::Campaign Preview(const v1::CampaignSpec& spec, const Expansion& expansion) {
  v1::Campaign campaign;
  campaign.set_name(spec.name());
  campaign.set_priority(spec.priority());
  campaign.mutable_jobs()->set_queued(static_cast<int>(expansion.jobs.size()));
  campaign.set_case_count(static_cast<int>(expansion.case_runs));
  *campaign.mutable_spec() = spec;
  campaign.mutable_spec()->clear_left_out();
  campaign.mutable_spec()->clear_submitted_by();
  campaign.mutable_spec()->clear_coverage();
  campaign.mutable_spec()->clear_reruns();
  campaign.mutable_spec()->clear_schedule();
  *campaign.mutable_left_out() = {expansion.left_out.begin(), expansion.left_out.end()};
  *campaign.mutable_coverage() = expansion.coverage;
  return campaign;
}

}  // namespace assay::campaign
