// Prepares, runs and verifies the cases of the memory_bandwidth benchmark.
#include <string>

#include "common/units.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/memory/stream_kernels.h"

namespace assay {
namespace {

constexpr int64_t kElementBytes = sizeof(float);

class StreamCase : public GpuCase {
 public:
  explicit StreamCase(const RunContext& context)
      : GpuCase(context),
        op_(StreamOpOf(Word(context.parameters, "op"))),
        elements_(Integer(context.parameters, "bytes") / kElementBytes) {}

 protected:
  Status SetUp() override {
    AddArray(OutputElements(op_, elements_) * kElementBytes);
    for (int input = 0; input < InputsOf(op_); ++input) AddArray(elements_ * kElementBytes);
    ASSAY_RETURN_IF_ERROR(AllocateSets(
        std::to_string(ArraysOf(op_)) + " arrays of " + ApproximateBytes(elements_ * kElementBytes),
        4));
    for (int64_t set = 0; set < sets(); ++set) {
      ASSAY_RETURN_IF_ERROR(FillStream(ArraysOfSet(set), InputsOfSet(set), stream()));
    }
    return Status::Ok();
  }

  Status Enqueue(int64_t set) override {
    return EnqueueStream(op_, ArraysOfSet(set), InputsOfSet(set), stream());
  }

  OutputRange Output(int64_t set) override {
    return {Array<void>(set, 0), OutputElements(op_, elements_) * kElementBytes};
  }

  Result<Verdict> Check(int64_t set) override {
    return CheckStream(op_, ArraysOfSet(set), InputsOfSet(set), stream());
  }

 private:
  StreamArrays ArraysOfSet(int64_t set) const {
    StreamArrays arrays;
    arrays.out = Array<float>(set, 0);
    if (InputsOf(op_) >= 1) arrays.b = Array<float>(set, 1);
    if (InputsOf(op_) == 2) arrays.c = Array<float>(set, 2);
    arrays.elements = elements_;
    return arrays;
  }

  StreamInputs InputsOfSet(int64_t set) const { return {seed(), set, zeros()}; }

  const StreamOp op_;
  const int64_t elements_;  // Elements per array.
};

}  // namespace

Result<std::unique_ptr<Case>> NewMemoryBandwidthCase(const RunContext& context) {
  return PrepareCase<StreamCase>(context);
}

}  // namespace assay
