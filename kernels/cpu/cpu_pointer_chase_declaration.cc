// Declares the cpu_pointer_chase benchmark, which measures the latency of one load on one core. The
// benchmark times a chain of loads, each of which returns the address of the next.
#include "kernels/cpu/chase_size.h"
#include "kernels/declaration.h"

namespace assay {
namespace {

constexpr int64_t kElementBytes = 16;

Status ValidateChase(const ParameterMap& parameters) {
  if (Word(parameters, "level") != "none") return Status::Ok();
  if (Integer(parameters, "bytes") % Integer(parameters, "stride") == 0) return Status::Ok();
  return InvalidParameter("bytes", "is " + Word(parameters, "bytes") +
                                       "; it must be a multiple of stride, which is " +
                                       Word(parameters, "stride"));
}

}  // namespace

Declaration CpuPointerChaseDeclaration() {
  return Declaration("cpu_pointer_chase", Resource::kCpu)
      .Summary("latency of a load by one core, from its caches or from memory")
      .Parameters({
          Parameter::Choice("level", {"none", "l1", "l2", "l3", "dram"})
              .Describe("none: the working set is `bytes`; l1: half of this CPU's L1; l2, l3: the "
                        "geometric mean of that cache and the next smaller one; dram: eight times "
                        "the last cache, at least 256 MiB; with a level, `bytes` is not used"),
          Parameter::Bytes("bytes")
              .Default("256MiB")
              .AtLeast(kElementBytes)
              .AtMost(int64_t{1} << 36)
              .Describe("working set, a multiple of stride"),
          Parameter::Bytes("stride")
              .Default(64)
              .AtLeast(kElementBytes)
              .AtMost(int64_t{1} << 21)
              .MultipleOf(kElementBytes)
              .Describe("distance between elements, which contain addresses; a cache line or more "
                        "accesses every line once per cycle")
              .With("level", {"l1", "l2", "l3", "dram"}, AtMost(64),
                    "a larger stride leaves cache lines out, and the rest may fit another level"),
      })
      .Metrics({
          Metric::Time("latency", "ns", Quantity::kSecondsPerOperation, "time of a dependent load"),
          Metric::Observed("working_set", "B", Direction::kHigherIsBetter,
                           "bytes that the walk visits"),
          Metric::Observed("huge_pages", "%", Direction::kHigherIsBetter,
                           "share of the working set in huge pages; the latency of the rest "
                           "includes TLB misses"),
      })
      .Model(
          "an iteration has 65536 loads of one thread, each from the address that the previous one "
          "loaded; the addresses form one random cycle through the working set, for which huge "
          "pages are requested")
      .Prediction("none: no measured rate gives the latency of a load")
      .WorkOf([](const ParameterMap&, int) { return Work{.operations = kCpuChaseLoads}; })
      .Validate(ValidateChase)
      .SelfTest({{"bytes", "300048"}, {"stride", "112"}})
      .Example({}, {.operations = 65536})
      .Refuses({{"bytes", "1008"}}, "bytes")
      .Refuses({{"stride", "24"}}, "stride")
      .Refuses({{"level", "l2"}, {"stride", "128"}}, "stride");
}

}  // namespace assay
