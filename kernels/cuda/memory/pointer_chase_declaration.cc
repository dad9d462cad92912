// Declares the pointer_chase benchmark, which measures the latency of one load. It times a chain of
// loads in which each address is the result of the previous load. For registers, the chain consists
// of fused multiply-adds.
#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/cuda/memory/cache_levels.h"
#include "kernels/cuda/memory/work_sizes.h"

namespace assay {
namespace {

constexpr int64_t kPointerBytes = 8;  // An element is the address of the next one.

Status ValidatePointerChase(const ParameterMap& parameters) {
  if (Word(parameters, "space") == "registers") return Status::Ok();
  const std::string& stride = Word(parameters, "stride");
  for (const std::string name : {"bytes", "window"}) {
    if (name == "bytes" && Word(parameters, "level") != "none") continue;
    if (Integer(parameters, name) % Integer(parameters, "stride") != 0) {
      return InvalidParameter(name, "is " + Word(parameters, name) +
                                        "; it must be a multiple of stride, which is " + stride);
    }
  }
  return Status::Ok();
}

}  // namespace

Declaration PointerChaseDeclaration() {
  return Declaration("pointer_chase", Resource::kGpu)
      .Summary("latency of a load from L1, L2, memory or shared memory, or of registers")
      .Parameters({
          Parameter::Choice("space", {"global", "shared", "registers"})
              .Describe("global: through the caches; shared: shared memory; registers: a chain of "
                        "fused multiply-adds (fp32), each of which reads the register that the "
                        "previous one wrote; `bytes`, `stride` and `window` are not used"),
          Parameter::Choice("level", {"none", "l1", "l2", "dram"})
              .Describe("none: the working set is `bytes`; else the middle of that level's "
                        "plateau, which a sweep of this GPU finds (dram: the largest of the "
                        "sweep), and `bytes` is not used")
              .With("space", {"shared", "registers"}, OneOf({"none"}),
                    "shared memory and registers are one level each"),
          Parameter::Bytes("bytes")
              .Default("1GiB")
              .AtLeast(kPointerBytes)
              .AtMost(int64_t{1} << 40)
              .Describe("working set, a multiple of stride")
              .With("space", {"shared"}, AtMost(kLargestL1), kLargestL1Reason),
          Parameter::Bytes("stride")
              .Default(128)
              .AtLeast(kPointerBytes)
              .AtMost(int64_t{1} << 21)
              .MultipleOf(kPointerBytes)
              .Describe("distance between elements, which are addresses; a line of 128 bytes or "
                        "more accesses every line once per cycle"),
          Parameter::Bytes("window")
              .Default(0)
              .AtLeast(0)
              .AtMost(int64_t{1} << 40)
              .Describe("the walk visits this many bytes completely before it continues, which "
                        "spares the TLB; a multiple of stride; 0: the whole working set"),
      })
      .Metrics({
          Metric::Observed(
              "latency_cycles", "cycles", Direction::kLowerIsBetter,
              "clock cycles of the multiprocessor per dependent load or instruction, read in the "
              "kernel"),
          Metric::Observed("latency", "ns", Direction::kLowerIsBetter,
                           "time of a dependent load or instruction, read in the kernel"),
          Metric::Observed("working_set", "B", Direction::kHigherIsBetter,
                           "bytes that the walk visits; absent with space registers"),
          Metric::Observed(
              "level_capacity", "B", Direction::kHigherIsBetter,
              "largest working set of the sweep that the level holds; 0 without a level, absent "
              "with space registers"),
      })
      .Model(
          "an iteration has 16384 loads of one thread, each from the address that the previous one "
          "loaded, without arithmetic between them; the time includes warming the caches; with "
          "space registers, 262144 multiply-adds of one thread")
      .Prediction("none: no spec sheet gives the latency of a load")
      .WorkOf([](const ParameterMap& parameters, int) {
        const bool registers = Word(parameters, "space") == "registers";
        const int64_t steps = registers ? kRegisterChaseSteps : kChaseLoads;
        return Work{.operations = static_cast<double>(steps)};
      })
      .Validate(ValidatePointerChase)
      .SelfTest({{"bytes", "300040"}, {"stride", "104"}, {"window", "10400"}})
      .SelfTestAlso({{"space", "registers"}})
      .Example({}, {.operations = 16384})
      .Example({{"space", "registers"}}, {.operations = 262144})
      .Refuses({{"bytes", "1000"}}, "bytes")
      .Refuses({{"window", "1000"}}, "window")
      .Refuses({{"space", "shared"}, {"bytes", "1MiB"}}, "bytes")
      .Refuses({{"space", "shared"}, {"level", "l2"}, {"bytes", "64KiB"}}, "level")
      .Refuses({{"space", "registers"}, {"level", "l1"}}, "level");
}

}  // namespace assay
