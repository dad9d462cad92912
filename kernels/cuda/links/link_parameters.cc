#include "kernels/cuda/links/link_parameters.h"

namespace assay {
namespace {

constexpr int kMaxRanks = 4096;

}  // namespace

Parameter NumaParameter() {
  return Parameter::Choice("numa", {"local", "remote", "any"})
      .Describe(
          "place of the host's memory. local: on the NUMA node next to the GPU, if the system "
          "reports it; remote: on the node farthest from it; any: the system decides");
}

std::vector<ParameterSpec> PairParameters(const std::string& from, const std::string& to) {
  return {
      Parameter::Integer("ranks").Default(2).AtLeast(2).AtMost(kMaxRanks).Describe(
          "GPUs to choose the pair from, each with its own process"),
      Parameter::Integer("from")
          .Default(0)
          .AtLeast(0)
          .AtMost(kMaxRanks - 1)
          .Describe("rank of the GPU " + from + "; below ranks"),
      Parameter::Integer("to")
          .Default(1)
          .AtLeast(0)
          .AtMost(kMaxRanks - 1)
          .Describe("rank of the GPU " + to +
                    "; below ranks; a rank paired with itself is unsupported"),
  };
}

Status ValidatePair(const ParameterMap& parameters) {
  for (const std::string name : {"from", "to"}) {
    if (Integer(parameters, name) >= Integer(parameters, "ranks")) {
      return InvalidParameter(name, "is " + Word(parameters, name) +
                                        "; it must be below ranks, which is " +
                                        Word(parameters, "ranks"));
    }
  }
  return Status::Ok();
}

Parameter ChaseBytesParameter(const std::string& memory) {
  return Parameter::Bytes("bytes")
      .Default("2MiB")
      .AtLeast(kChaseStride)
      .AtMost(int64_t{1} << 36)
      .MultipleOf(kChaseStride)
      .Describe("bytes of " + memory + " that the loads visit, 256 apart");
}

std::vector<Metric> ChaseMetrics() {
  return {Metric::Time("latency", "ns", Quantity::kSecondsPerOperation,
                       "time of a load whose result the next one needs")};
}

Work ChaseWork(LinkKind link) { return {.link = link, .operations = kLinkChaseLoads}; }

Work TransferWork(const ParameterMap& parameters, LinkKind link) {
  const double bytes = Number(parameters, "bytes");
  const bool both = Word(parameters, "direction") == "bidirectional";
  return {.link_bytes = bytes, .link = link, .payload_bytes = both ? 2 * bytes : bytes};
}

Parameter TransferBytesParameter(const std::string& size, int64_t most) {
  return Parameter::Bytes("bytes").Default(size).AtLeast(1).AtMost(most).Describe(
      "size of a copy, per direction");
}

std::vector<Metric> TransferMetrics(const std::string& first, const std::string& first_means,
                                    const std::string& second, const std::string& second_means) {
  return {
      Metric::Rate("bandwidth", "GB/s", Quantity::kPayloadBytes,
                   "bytes copied per second, both directions together"),
      Metric::Observed(first, "GB/s", Direction::kHigherIsBetter, first_means),
      Metric::Observed(second, "GB/s", Direction::kHigherIsBetter, second_means),
      Metric::Observed("latency", "us", Direction::kLowerIsBetter,
                       "a single copy, from its call until the host knows that it is done; in one "
                       "direction and up to 64 KiB"),
  };
}

Result<std::optional<int>> ChooseNumaNode(const std::string& choice, std::optional<int> near,
                                          const NumaTopology& topology) {
  if (choice == "any") return std::optional<int>();
  const bool known = near && topology.distances.count(*near) > 0;
  if (choice == "local") return known ? near : std::nullopt;
  if (topology.distances.size() < 2) {
    return Unsupported("numa is remote: this machine has one NUMA node");
  }
  if (!known) {
    return Unsupported("numa is remote: unknown which of the " +
                       std::to_string(topology.distances.size()) + " NUMA nodes the GPU is on");
  }
  // The distances from node `near` to all nodes, in the order of topology.distances.
  const std::vector<int>& distances = topology.distances.at(*near);
  int farthest = -1;
  int best = 0;
  size_t place = 0;
  for (const auto& [node, unused] : topology.distances) {
    const int distance = place < distances.size() ? distances[place] : 0;
    ++place;
    if (node == *near || (farthest >= 0 && distance <= best)) continue;
    farthest = node;
    best = distance;
  }
  return std::optional<int>(farthest);
}

}  // namespace assay
