// Prepares, runs and verifies the cases of the tcp_all_reduce benchmark.
#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gang/peers.h"
#include "kernels/benchmark.h"
#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/thread_team.h"
#include "kernels/net/ring.h"

namespace assay {
namespace {

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

class TcpAllReduceCase : public Case {
 public:
  // `team` has one thread for each of `rings`. It is null if there is only one ring.
  TcpAllReduceCase(const RunContext& context, std::vector<float> in, std::vector<Ring> rings,
                   std::unique_ptr<ThreadTeam> team)
      : seed_(context.seed),
        world_size_(context.world_size),
        in_(std::move(in)),
        out_(in_.size(), kPoison),
        rings_(std::move(rings)),
        team_(std::move(team)) {}

  Timing HowTimed() const override { return {"none", "random", "host_clock"}; }

  double MinSampleSeconds() const override { return 100e-6; }

  Result<Verdict> Verify() override {
    out_.assign(out_.size(), kPoison);
    ASSAY_RETURN_IF_ERROR(Iterate(in_.size()));
    return VerifyLast();
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    // Writes NaN to one element per page of the output, so that the check detects pages that the
    // timed iterations did not write.
    for (size_t i = 0; i < out_.size(); i += 1024) out_[i] = kPoison;
    // Runs an untimed all-reduce of a few elements, which makes this rank wait until all ranks
    // are ready.
    const size_t few = static_cast<size_t>(world_size_) * rings_.size();
    ASSAY_RETURN_IF_ERROR(Iterate(std::min(in_.size(), few)));
    for (int64_t sample = 0; sample < samples; ++sample) {
      const auto begin = std::chrono::steady_clock::now();
      for (int64_t i = 0; i < batch; ++i) ASSAY_RETURN_IF_ERROR(Iterate(in_.size()));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      seconds->push_back(took.count() / static_cast<double>(batch));
    }
    return Status::Ok();
  }

  Result<Verdict> VerifyLast() override {
    return VerifyAllReduce(seed_, world_size_, out_.data(), static_cast<int64_t>(out_.size()));
  }

 private:
  Status Iterate(size_t elements) {
    const auto count = static_cast<int64_t>(elements);
    if (team_ == nullptr) return rings_[0].AllReduce(in_.data(), out_.data(), count);
    std::vector<Status> statuses(rings_.size());
    team_->Run([&](int stream) {
      const auto [begin, end] = team_->Share(count, stream);
      const auto i = static_cast<size_t>(stream);
      statuses[i] = rings_[i].AllReduce(in_.data() + begin, out_.data() + begin, end - begin);
    });
    for (const Status& status : statuses) ASSAY_RETURN_IF_ERROR(status);
    return Status::Ok();
  }

  const uint64_t seed_;
  const int world_size_;
  const std::vector<float> in_;
  std::vector<float> out_;
  std::vector<Ring> rings_;
  const std::unique_ptr<ThreadTeam> team_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewTcpAllReduceCase(const RunContext& context) {
  const int64_t elements = Integer(context.parameters, "bytes") / 4;
  const int64_t streams = Integer(context.parameters, "streams");
  Status mine = CheckMemoryFor(2.0 * sizeof(float) * static_cast<double>(elements));
  std::unique_ptr<ThreadTeam> team;
  if (streams > 1 && mine.ok()) {
    // The threads are not pinned, because ranks on the same host would pin their first threads to
    // the same CPU.
    auto started = ThreadTeam::Start(static_cast<int>(streams), Pinning::kNone);
    mine = started.status();
    if (started.ok()) team = *std::move(started);
  }
  ASSAY_RETURN_IF_ERROR(Agree(*context.peers, mine, kPeerTimeout));
  std::vector<float> in(static_cast<size_t>(elements));
  for (int64_t i = 0; i < elements; ++i) {
    in[static_cast<size_t>(i)] = AllReduceInput(context.seed, context.rank, i);
  }
  std::vector<Ring> rings;
  for (int64_t i = 0; i < streams; ++i) {
    ASSAY_ASSIGN_OR_RETURN(Ring ring,
                           Ring::Connect(*context.peers, context.advertise_address, kPeerTimeout));
    rings.push_back(std::move(ring));
  }
  return std::unique_ptr<Case>(
      new TcpAllReduceCase(context, std::move(in), std::move(rings), std::move(team)));
}

}  // namespace assay
