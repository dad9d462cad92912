// The benchmarks of NCCL's collectives: all_reduce, all_gather and so on, one for each
// declaration of collective.h.
#include <utility>

#include "gang/peers.h"
#include "kernels/benchmark.h"
#include "kernels/nccl/collective_case.h"
#include "kernels/nccl/prepare_on_rank.h"

namespace assay {
namespace {

constexpr int64_t kMaxBytes = int64_t{8} << 30;
constexpr int64_t kMaxRanks = 4096;
constexpr int64_t kMaxNodes = 64;
constexpr int64_t kMaxAggregate = 64;
// Beyond it the mean of 8-bit integers, whose sum is at most 127, says next to nothing.
constexpr int kMostRanksOfByteMean = 63;
// The least number above 0 in e4m3 is 2^-9.
constexpr int kMostRanksOfFp8Mean = 512;

// NCCL's own model of a ring with the LL protocol over NVLink (src/graph/tuning.cc): a
// start and then each step.
constexpr double kStartSeconds = 6.6e-6;
constexpr double kStepSeconds = 0.6e-6;

template <typename Table>
std::vector<std::string> NamesOf(const Table& table) {
  std::vector<std::string> names;
  names.reserve(table.size());
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

ParameterSpec IntegerSpec(const char* name, const char* description,
                          std::optional<std::string> usual, int64_t minimum, int64_t maximum) {
  return {name, ParameterType::kInteger, description, std::move(usual), minimum, maximum, {}};
}

ParameterSpec BytesSpec(bool divided) {
  if (divided) {
    return {"bytes",
            ParameterType::kBytes,
            "size of the whole array, of which each rank has a share, rounded down to 16 bytes a "
            "rank",
            "1073741824",
            1,
            kMaxBytes,
            {},
            {},
            {},
            {SharesLimit()}};
  }
  return {"bytes",
          ParameterType::kBytes,
          "size of each rank's array, whole elements",
          "1073741824",
          1,
          kMaxBytes,
          {},
          {},
          WholeElements(NamesOf(CollectiveTypes()))};
}

ParameterSpec WordSpec(const char* name, const char* description, std::vector<std::string> words) {
  std::string usual = words.front();
  return {name, ParameterType::kWord, description, std::move(usual), {}, {}, std::move(words)};
}

// Of ranks. A mean in fp8 is exact on 2, 4, 8... ranks up to 512, where e4m3 still has 1 / n.
// Elsewhere its roundings add up to what a wrong result may differ by. Of 8-bit integers, whose sum
// must fit too, it is 0 or 1 on many ranks whatever they have.
std::vector<Limit> MeanLimits() {
  const char* const why = "else the mean cannot be verified; op sum can";
  Limit floats = {.when = {{"op", {"avg"}}}, .why = why};
  Limit integers = {.when = {{"op", {"avg"}}}, .why = why, .maximum = kMostRanksOfByteMean};
  for (const CollectiveType& type : CollectiveTypes()) {
    if (type.bytes > 1) continue;
    (IsFloating(type.type) ? floats : integers).when["dtype"].emplace_back(type.name);
  }
  for (int ranks = 2; ranks <= kMostRanksOfFp8Mean; ranks *= 2) {
    floats.values.push_back(std::to_string(ranks));
  }
  return {floats, integers};
}

std::vector<ParameterSpec> ParametersOf(const Collective& collective) {
  std::vector<ParameterSpec> specs;
  specs.push_back(
      IntegerSpec("ranks", "processes, each with a GPU of its own", std::nullopt, 2, kMaxRanks));
  specs.back().multiple_of.parameter = "nodes";
  if (collective.reduces) specs.back().limits = MeanLimits();
  specs.push_back(
      IntegerSpec("nodes", "nodes over which the ranks spread evenly", "1", 1, kMaxNodes));
  specs.push_back(BytesSpec(collective.divided));
  specs.push_back(WordSpec("dtype", "type of the elements", NamesOf(CollectiveTypes())));
  if (collective.reduces) {
    specs.push_back(WordSpec("op", "how elements are reduced", NamesOf(CollectiveOps())));
  }
  if (collective.rooted) {
    specs.push_back(
        IntegerSpec("root", "the rank that sends to all, or gets from all", "0", 0, kMaxRanks - 1));
    specs.back().below = "ranks";
  }
  specs.push_back(
      {"in_place", ParameterType::kBoolean, "write over the input", "false", {}, {}, {}});
  if (collective.not_in_place != nullptr) {
    specs.back().limits = {{.values = {"false"}, .why = collective.not_in_place}};
  }
  specs.push_back(LaunchParameter());
  specs.push_back(IntegerSpec("aggregate",
                              "collectives an iteration, each on buffers of its own, in one group",
                              "1", 1, kMaxAggregate));
  specs.push_back(
      WordSpec("policy",
               "assay: GPU events, the slowest rank's time, cold caches; nccl_tests: the "
               "host's clock over loops of 20, the mean of ranks, buffers rotating "
               "through 256 MiB",
               {"assay", "nccl_tests"}));
  return specs;
}

BenchmarkInfo InfoOf(const Collective& collective) {
  BenchmarkInfo info;
  info.name = collective.name;
  info.summary = std::string("NCCL: ") + collective.summary + ", one process a rank";
  info.resource = Resource::kGpu;
  info.collective = true;
  info.parameters = ParametersOf(collective);
  info.selftest_parameters = {{"ranks", "2"}, {"bytes", "1048580"}};
  const std::string bus = collective.bus_formula;
  info.metrics = {
      {"bus_bandwidth", "GB/s", Direction::kHigherIsBetter,
       bus + " a second: what the busiest link carries at least", Quantity::kLinkBytes, 1e-9},
      {"algorithm_bandwidth", "GB/s", Direction::kHigherIsBetter, "bytes a second",
       Quantity::kPayloadBytes, 1e-9},
      {"wire_bandwidth", "GB/s", Direction::kHigherIsBetter,
       bus + " x what NCCL's protocol adds (Simple 1, LL128 128 / 120, LL 2) a second; only where "
             "NCCL told its algorithm and the network does not reduce",
       Quantity::kWireBytes, 1e-9},
      TimeMetric()};
  info.model = "link bytes = " + bus + "; time = link bytes / NVLink bandwidth + 6.6 us + " +
               collective.steps_formula +
               " x 0.6 us; over several nodes, whose network has no sheet, what was fitted before";
  if (collective.divided) {
    info.model += "; bytes count as nccl-tests does, rounded down to 16 a rank";
  }
  return info;
}

class CollectiveBenchmark : public Benchmark {
 public:
  explicit CollectiveBenchmark(CollectiveKind kind)
      : collective_(CollectiveOf(kind)), info_(InfoOf(collective_)) {}

  const BenchmarkInfo& Info() const override { return info_; }

  std::string UnsupportedReason() const override {
    if (std::string why = WhyNoGpu(); !why.empty()) return why;
    return WhyNoNccl();
  }

  Result<Work> WorkOf(const ParameterMap& parameters, int world_size) const override {
    const int64_t element = CollectiveTypeOf(Word(parameters, "dtype")).bytes;
    const int64_t count = CountOf(collective_, Integer(parameters, "bytes"), element, world_size);
    Work work;
    work.payload_bytes = static_cast<double>(Integer(parameters, "aggregate")) *
                         static_cast<double>(PayloadBytes(collective_, count, element, world_size));
    work.link_bytes = collective_.bus_factor(world_size) * work.payload_bytes;
    if (Integer(parameters, "nodes") > 1) work.link = LinkKind::kNetwork;
    work.fixed_seconds = kStartSeconds + collective_.steps(world_size) * kStepSeconds;
    return work;
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    return PrepareOnRank<CollectiveCase>(*this, context, collective_, context);
  }

 private:
  const Collective& collective_;
  const BenchmarkInfo info_;
};

std::unique_ptr<Benchmark> New(CollectiveKind kind) {
  return std::make_unique<CollectiveBenchmark>(kind);
}

}  // namespace

std::unique_ptr<Benchmark> NewAllReduce() { return New(CollectiveKind::kAllReduce); }
std::unique_ptr<Benchmark> NewAllGather() { return New(CollectiveKind::kAllGather); }
std::unique_ptr<Benchmark> NewReduceScatter() { return New(CollectiveKind::kReduceScatter); }
std::unique_ptr<Benchmark> NewBroadcast() { return New(CollectiveKind::kBroadcast); }
std::unique_ptr<Benchmark> NewReduce() { return New(CollectiveKind::kReduce); }
std::unique_ptr<Benchmark> NewAllToAll() { return New(CollectiveKind::kAllToAll); }
std::unique_ptr<Benchmark> NewGather() { return New(CollectiveKind::kGather); }
std::unique_ptr<Benchmark> NewScatter() { return New(CollectiveKind::kScatter); }
std::unique_ptr<Benchmark> NewSendRecv() { return New(CollectiveKind::kSendRecv); }

}  // namespace assay
