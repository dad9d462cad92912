// Declares one benchmark for each NCCL collective in Collectives(), such as all_reduce and
// all_gather.
#include <utility>

#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/nccl/collective.h"
#include "kernels/nccl/nccl_parameters.h"

namespace assay {
namespace {

constexpr int64_t kMaxRanks = 4096;
constexpr int64_t kMaxNodes = 64;
constexpr int64_t kMaxAggregate = 64;
// The maximum number of ranks for a mean of 8-bit integers. With more ranks, nearly every mean
// would be 0 or 1, because the inputs are chosen to add up to at most 127.
constexpr int64_t kMaxRanksOfByteMean = 63;
// The maximum number of ranks for a mean of fp8 numbers. NCCL multiplies by 1 / ranks, which must
// be at least 2^-9, the smallest positive e4m3 number.
constexpr int64_t kMaxRanksOfFp8Mean = 512;

// The latency of a ring collective with NCCL's LL protocol over NVLink: a start-up time plus a
// time per step. Both numbers come from NCCL's own model (src/graph/tuning.cc).
constexpr double kStartSeconds = 6.6e-6;
constexpr double kStepSeconds = 0.6e-6;

std::vector<std::string> DtypeNames() {
  std::vector<std::string> names;
  for (const CollectiveDtype& dtype : CollectiveDtypes()) names.emplace_back(dtype.name);
  return names;
}

Parameter BytesParameter(const Collective& collective) {
  if (!collective.divided) return WholeArrayParameter(DtypeNames());
  return DividedArrayParameter();
}

// Returns the parameter "in_place". Collectives that NCCL cannot run in place also have it, with
// "false" as the only choice, so that the results of all collectives have the same parameters.
Parameter InPlaceParameter(const Collective& collective) {
  if (collective.not_in_place == nullptr) {
    return Parameter::Boolean("in_place").Describe("write over the input");
  }
  return Parameter::Choice("in_place", {"false"})
      .Describe(std::string("never written over the input: ") + collective.not_in_place);
}

std::vector<ParameterSpec> ParametersOf(const Collective& collective) {
  std::vector<ParameterSpec> parameters = {
      RanksParameter(kMaxRanks),
      Parameter::Integer("nodes").Default(1).AtLeast(1).AtMost(kMaxNodes).Describe(
          "nodes over which the ranks spread evenly"),
      BytesParameter(collective),
      Parameter::Choice("dtype", DtypeNames()).Describe("type of the elements"),
  };
  if (collective.reduces) {
    parameters.push_back(Parameter::Choice("op", {"sum", "prod", "min", "max", "avg"})
                             .Describe("how elements are reduced"));
  }
  if (collective.rooted) {
    parameters.push_back(
        Parameter::Integer("root")
            .Default(0)
            .AtLeast(0)
            .AtMost(kMaxRanks - 1)
            .Describe("the rank that sends to all or receives from all, below ranks"));
  }
  parameters.push_back(InPlaceParameter(collective));
  parameters.push_back(LaunchParameter());
  parameters.push_back(
      Parameter::Integer("aggregate")
          .Default(1)
          .AtLeast(1)
          .AtMost(kMaxAggregate)
          .Describe("collectives per iteration, each on buffers of its own, in one group"));
  parameters.push_back(
      Parameter::Choice("policy", {"assay", "nccl_tests"})
          .Describe(
              "assay: GPU events, the slowest rank's time, cold caches; nccl_tests: the host's "
              "clock over loops of 20, the mean of ranks, buffers rotating through 256 MiB"));
  return parameters;
}

// Returns true if the result of the "avg" operation over `ranks` ranks can be verified. Only
// 8-bit types have limits:
//   - fp8: `ranks` must be a power of two up to 512, so that e4m3 represents 1 / ranks exactly.
//     Otherwise, rounding could cause differences as large as those of a wrong result.
//   - integers: `ranks` must be at most 63.
bool CanVerifyMean(const CollectiveDtype& dtype, int64_t ranks) {
  if (dtype.bytes > 1) return true;
  if (!dtype.floating) return ranks <= kMaxRanksOfByteMean;
  return ranks <= kMaxRanksOfFp8Mean && (ranks & (ranks - 1)) == 0;
}

Status ValidateCollective(const Collective& collective, const ParameterMap& parameters) {
  const int64_t ranks = Integer(parameters, "ranks");
  const int64_t nodes = Integer(parameters, "nodes");
  const std::string is_ranks = "is " + std::to_string(ranks) + "; it must be ";
  if (ranks % nodes != 0) {
    return InvalidParameter("ranks",
                            is_ranks + "a multiple of nodes, which is " + std::to_string(nodes));
  }
  if (collective.rooted && Integer(parameters, "root") >= ranks) {
    return InvalidParameter("root", "is " + Word(parameters, "root") +
                                        "; it must be below ranks, which is " +
                                        std::to_string(ranks));
  }
  if (collective.divided) ASSAY_RETURN_IF_ERROR(ValidateShares(parameters));
  const CollectiveDtype& dtype = CollectiveDtypeOf(Word(parameters, "dtype"));
  if (collective.reduces && Word(parameters, "op") == "avg" && !CanVerifyMean(dtype, ranks)) {
    const std::string allowed = dtype.floating
                                    ? "a power of two up to " + std::to_string(kMaxRanksOfFp8Mean)
                                    : "at most " + std::to_string(kMaxRanksOfByteMean);
    return InvalidParameter("ranks", is_ranks + allowed + " with op avg and dtype " + dtype.name +
                                         ", else the mean cannot be verified; op sum can");
  }
  return Status::Ok();
}

Work CollectiveWork(const Collective& collective, const ParameterMap& parameters, int ranks) {
  const int64_t element = CollectiveDtypeOf(Word(parameters, "dtype")).bytes;
  const int64_t count = CountOf(collective, Integer(parameters, "bytes"), element, ranks);
  Work work;
  work.payload_bytes = Number(parameters, "aggregate") *
                       static_cast<double>(PayloadBytes(collective, count, element, ranks));
  work.link_bytes = collective.bus_factor(ranks) * work.payload_bytes;
  if (Integer(parameters, "nodes") > 1) work.link = LinkKind::kNetwork;
  work.fixed_seconds = kStartSeconds + collective.steps(ranks) * kStepSeconds;
  return work;
}

// Declares the benchmark of one collective. The benchmark's test compares the computed work with an
// example of four ranks. Each rank has an array of 4096 bytes or, if the collective divides the
// array, a share of 1024 bytes. `link_bytes` and `steps` are the expected values, computed by hand:
// the number of bytes on the busiest link and the number of successive messages.
Declaration DeclarationOf(CollectiveKind kind, double link_bytes, int steps) {
  const Collective& collective = CollectiveOf(kind);
  const std::string bus = collective.bus_formula;
  std::string model =
      "link bytes = " + bus + "; time = link bytes / NVLink bandwidth + 6.6 us + " +
      collective.steps_formula +
      " x 0.6 us; over several nodes, whose network has no sheet, what was fitted before";
  if (collective.divided) {
    model += "; bytes count as nccl-tests does, rounded down to 16 a rank";
  }
  return Declaration(collective.name, Resource::kGpu)
      .Summary(std::string("NCCL: ") + collective.summary + ", one process a rank")
      .Collective()
      .Needs(Library::kNccl)
      .Parameters(ParametersOf(collective))
      .Metrics({
          Metric::Rate("bus_bandwidth", "GB/s", Quantity::kLinkBytes,
                       bus + " per second: what the busiest link carries at least"),
          Metric::Rate("algorithm_bandwidth", "GB/s", Quantity::kPayloadBytes, "bytes per second"),
          Metric::Rate(
              "wire_bandwidth", "GB/s", Quantity::kWireBytes,
              bus + " x what NCCL's protocol adds (Simple 1, LL128 128 / 120, LL 2) per second; "
                    "only if NCCL reported its algorithm and the network does not reduce"),
      })
      .Model(std::move(model))
      .WorkOf([&collective](const ParameterMap& parameters, int ranks) {
        return CollectiveWork(collective, parameters, ranks);
      })
      .Validate([&collective](const ParameterMap& parameters) {
        return ValidateCollective(collective, parameters);
      })
      .SelfTest({{"ranks", "2"}, {"bytes", "1048580"}})
      .Example({{"ranks", "4"}, {"bytes", "4096"}}, {.link_bytes = link_bytes,
                                                     .payload_bytes = 4096,
                                                     .fixed_seconds = 6.6e-6 + steps * 0.6e-6})
      .Refuses({{"ranks", "3"}, {"nodes", "2"}}, "ranks");
}

}  // namespace

Declaration AllReduceDeclaration() {
  return DeclarationOf(CollectiveKind::kAllReduce, 2 * 3 * 1024, 6)
      .Refuses({{"bytes", "6"}}, "bytes")
      .Refuses({{"ranks", "3"}, {"op", "avg"}, {"dtype", "fp8_e4m3"}}, "ranks")
      .Refuses({{"ranks", "1024"}, {"op", "avg"}, {"dtype", "fp8_e5m2"}}, "ranks")
      .Refuses({{"ranks", "64"}, {"op", "avg"}, {"dtype", "int8"}}, "ranks");
}

Declaration AllGatherDeclaration() {
  return DeclarationOf(CollectiveKind::kAllGather, 3 * 1024, 3)
      // An example with three collectives at once, each of which divides an array of 1000 bytes
      // among four ranks. Shares are rounded down to 240 bytes, so the payload is 960 bytes.
      .Example({{"ranks", "4"}, {"bytes", "1000"}, {"aggregate", "3"}},
               {.link_bytes = 3 * 3 * 240,
                .payload_bytes = 3 * 960,
                .fixed_seconds = 6.6e-6 + 3 * 0.6e-6})
      .Example({{"ranks", "4"}, {"nodes", "2"}, {"bytes", "4096"}},
               {.link_bytes = 3 * 1024,
                .link = LinkKind::kNetwork,
                .payload_bytes = 4096,
                .fixed_seconds = 6.6e-6 + 3 * 0.6e-6})
      .Refuses({{"ranks", "3"}, {"bytes", "47"}}, "bytes");
}

Declaration ReduceScatterDeclaration() {
  return DeclarationOf(CollectiveKind::kReduceScatter, 3 * 1024, 3);
}

Declaration BroadcastDeclaration() {
  return DeclarationOf(CollectiveKind::kBroadcast, 4096, 3)
      .Refuses({{"ranks", "4"}, {"root", "4"}}, "root");
}

Declaration ReduceDeclaration() { return DeclarationOf(CollectiveKind::kReduce, 4096, 3); }

Declaration AllToAllDeclaration() {
  return DeclarationOf(CollectiveKind::kAllToAll, 3 * 1024, 1)
      .Refuses({{"in_place", "true"}}, "in_place");
}

Declaration GatherDeclaration() { return DeclarationOf(CollectiveKind::kGather, 3 * 1024, 1); }

Declaration ScatterDeclaration() { return DeclarationOf(CollectiveKind::kScatter, 3 * 1024, 1); }

Declaration SendRecvDeclaration() { return DeclarationOf(CollectiveKind::kSendRecv, 4096, 1); }

}  // namespace assay
