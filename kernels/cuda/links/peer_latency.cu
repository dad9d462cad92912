// Prepares, runs and verifies the cases of the peer_latency benchmark.
#include <utility>

#include "kernels/cuda/frame/event_timer.h"
#include "kernels/cuda/links/link_chase.h"
#include "kernels/cuda/links/peer_case.h"

namespace assay {
namespace {

class PeerLatencyCase : public PeerCase {
 public:
  explicit PeerLatencyCase(const RunContext& context)
      : PeerCase(context), bytes_(Integer(context.parameters, "bytes")) {}

  Status Prepare() {
    ASSAY_RETURN_IF_ERROR(Connect(bytes_, "the working set"));
    return Together(Build());
  }

  // Reports the cache state as "none", because the L2 cache of the other GPU may hold the data.
  Timing HowTimed() const override { return {"none", "random", "events"}; }
  int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const override { return 1; }

  Result<Verdict> Verify() override {
    ASSAY_RETURN_IF_ERROR(Together(ChaseOnce()));
    return VerifyLast();
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    std::vector<double> mine;
    ASSAY_RETURN_IF_ERROR(Together(is_from() ? Time(samples, batch, &mine) : Status::Ok()));
    ASSAY_ASSIGN_OR_RETURN(const auto all, Share(mine));
    const auto& times = all[static_cast<size_t>(from())];
    seconds->insert(seconds->end(), times.begin(), times.end());
    return Status::Ok();
  }

  Result<Verdict> VerifyLast() override {
    if (is_from()) return chase_->Check();
    Verdict verdict;
    verdict.passed = true;
    verdict.reference = "one cycle through every element, and where its walk ends";
    verdict.norm = "mismatches";
    return verdict;
  }

 private:
  // Has the reading GPU write the chain of pointers to the other GPU's memory, because the pointers
  // must be valid in the reading GPU's address space.
  Status Build() {
    if (!is_from()) return Status::Ok();
    ASSAY_ASSIGN_OR_RETURN(chase_, LinkChase::Create(other(), bytes_, seed(), stream()));
    return Status::Ok();
  }

  Status ChaseOnce() {
    if (!is_from()) return Status::Ok();
    ASSAY_RETURN_IF_ERROR(Synchronize());
    ASSAY_RETURN_IF_ERROR(chase_->Poison());
    ASSAY_RETURN_IF_ERROR(chase_->Enqueue());
    return Synchronize();
  }

  Status Time(int64_t samples, int64_t batch, std::vector<double>* seconds) {
    ASSAY_RETURN_IF_ERROR(Synchronize());
    ASSAY_RETURN_IF_ERROR(chase_->Poison());
    return timer_.Time(
        stream(), samples, batch, [this] { return chase_->Enqueue(); }, seconds);
  }

  const int64_t bytes_;
  std::unique_ptr<LinkChase> chase_;
  EventTimer timer_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewPeerLatencyCase(const RunContext& context) {
  ASSAY_RETURN_IF_ERROR(CheckPair(context.parameters));
  return PrepareCase<PeerLatencyCase>(context);
}

}  // namespace assay
