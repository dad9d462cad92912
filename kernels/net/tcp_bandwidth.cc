// Prepares, runs and verifies the cases of the tcp_bandwidth benchmark.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gang/peers.h"
#include "kernels/benchmark.h"
#include "kernels/net/pair.h"
#include "kernels/net/stream_ends.h"
#include "kernels/rank_numbers.h"

namespace assay {
namespace {

// The maximum time that a receive-only rank waits for the sender to finish. The transfer ends much
// earlier if a stream stalls or the sender's heartbeats stop.
constexpr Duration kTransferTimeout = std::chrono::hours(24);
constexpr int64_t kLeadIterations = 1;

class TcpBandwidthCase : public Case {
 public:
  explicit TcpBandwidthCase(const RunContext& context)
      : rank_(context.rank),
        bytes_(Integer(context.parameters, "bytes")),
        forward_(Word(context.parameters, "direction") != "reverse"),
        backward_(Word(context.parameters, "direction") != "unidirectional"),
        peers_(*context.peers) {}

  // Connects the two ranks. If data flows in both directions, the first half of the connections
  // carries the streams from rank 0 to rank 1.
  Status Connect(const RunContext& context) {
    const auto streams = static_cast<int>(Integer(context.parameters, "streams"));
    const int ways = forward_ && backward_ ? 2 : 1;
    ASSAY_ASSIGN_OR_RETURN(
        auto sockets, ConnectPair(peers_, context.advertise_address, ways * streams, kPeerTimeout));
    const auto take = [&](int first) {
      const auto begin = std::make_move_iterator(sockets.begin() + first);
      return std::vector<Socket>(begin, begin + streams);
    };
    for (const bool to_rank_1 : {true, false}) {
      if (!(to_rank_1 ? forward_ : backward_)) continue;
      const int first = to_rank_1 || !forward_ ? 0 : streams;
      if (to_rank_1 == (rank_ == 0)) {
        sender_.emplace(context.seed, first, take(first));
      } else {
        receiver_ = std::make_unique<ReceivingEnd>(context.seed, first, take(first));
      }
    }
    return Status::Ok();
  }

  // Reports the cache state as "none": all iterations send from the same memory, so the data always
  // stays in the CPU's cache.
  Timing HowTimed() const override { return {"none", "random", "host_clock"}; }
  // Returns the shortest sample, in seconds. It must be much longer than a burst, in which
  // several milliseconds' worth of data arrives at once. Bursts occur when a network card buffers
  // data, or after the receiver's CPU has been busy with other threads.
  double MinSampleSeconds() const override { return 20e-3; }
  int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const override {
    return kLeadIterations;
  }

  void AdjustRule(MeasureRule* rule) const override {
    // The rate of a TCP connection rises during its first round trips and may drop afterwards, so
    // the default warm-up is too short.
    rule->min_warmup_seconds = 0.5;
    rule->settle_window_seconds = 0.25;
    rule->min_seconds = 2;
  }

  Result<Verdict> Verify() override {
    ASSAY_RETURN_IF_ERROR(Transfer({.lead = 0, .samples = 1, .batch = 1, .every_byte = true}));
    return VerifyLast();
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    const auto before = sender_ ? sender_->Retransmits() : 0;
    ASSAY_RETURN_IF_ERROR(Transfer({.lead = kLeadIterations, .samples = samples, .batch = batch}));
    const auto after = sender_ ? sender_->Retransmits() : 0;
    // The numbers that this rank sends to its peer: first its count of retransmitted TCP segments
    // (-1 if unknown), then the times of the samples it received.
    std::vector<double> mine = {before && after ? static_cast<double>(*after - *before) : -1};
    if (receiver_) {
      const std::vector<double> times = receiver_->Seconds();
      mine.insert(mine.end(), times.begin(), times.end());
    }
    ASSAY_ASSIGN_OR_RETURN(const auto all, NumbersOfRanks(peers_, mine));
    const auto count = static_cast<size_t>(samples);
    if (all[0].size() != (backward_ ? count : 0) + 1 ||
        all[1].size() != (forward_ ? count : 0) + 1) {
      return Internal("the other rank sent another number of times", Reason::kBadMessage);
    }
    const auto iterations = static_cast<double>(batch);
    for (size_t i = 0; i < count; ++i) {
      const double forward = forward_ ? all[1][i + 1] / iterations : 0;
      const double backward = backward_ ? all[0][i + 1] / iterations : 0;
      if (forward_) forward_seconds_.push_back(forward);
      if (backward_) backward_seconds_.push_back(backward);
      seconds->push_back(std::max(forward, backward));
    }
    if (all[0][0] < 0 || all[1][0] < 0) return Status::Ok();
    const double again = all[0][0] + all[1][0];
    retransmits_.insert(retransmits_.end(), count,
                        again / static_cast<double>(kLeadIterations + samples * batch));
    return Status::Ok();
  }

  std::vector<double> Observed(const std::string& name) const override {
    if (name == "retransmits") return retransmits_;
    std::vector<double> values = name == "forward_bandwidth" ? forward_seconds_ : backward_seconds_;
    for (double& value : values) value = static_cast<double>(bytes_) / value * 1e-9;
    return values;
  }

  Result<Verdict> VerifyLast() override {
    Verdict verdict;
    verdict.reference =
        "exact pattern: every byte before timing; of timed blocks a sample of each, and every "
        "byte of each stream's last";
    verdict.norm = "mismatches";
    if (receiver_) {
      const StreamMismatches found = receiver_->Check();
      verdict.elements_checked = found.checked;
      verdict.error = static_cast<double>(found.wrong);
      verdict.detail = found.first;
    }
    verdict.passed = verdict.error == 0;
    return verdict;
  }

 private:
  struct Order {
    int64_t lead = 0;
    int64_t samples = 1;
    int64_t batch = 1;
    bool every_byte = false;
  };

  // Runs one transfer. Both ranks must call this. If data flows in both directions, each rank keeps
  // sending until the timed part of the other direction is over, so that both stay busy.
  Status Transfer(const Order& order) {
    Status mine;
    if (receiver_) {
      mine = receiver_->Start(order.lead * bytes_, order.batch * bytes_, order.samples,
                              order.every_byte);
    }
    // Waits until both ranks are ready, so that neither waits for data from a rank that has failed.
    const Status agreed = Agree(peers_, mine, kPeerTimeout);
    if (!agreed.ok()) return GiveUp(agreed);
    std::vector<int64_t> sent;
    if (sender_) {
      const std::atomic<bool>* const enough = receiver_ ? &receiver_->enough() : nullptr;
      mine = sender_->Send(order.lead + order.samples * order.batch, bytes_, enough);
      sent = sender_->Sent();
    }
    const auto all = NumbersOfRanks(peers_, sent, mine.ok() ? kTransferTimeout : kStreamStall);
    if (!all.ok()) return GiveUp(mine.ok() ? all.status() : mine);
    if (receiver_) {
      const Status received = receiver_->Finish((*all)[rank_ == 0 ? 1 : 0]);
      if (mine.ok()) mine = received;
    }
    return Agree(peers_, mine, kPeerTimeout);
  }

  Status GiveUp(const Status& why) {
    if (sender_) sender_->Shutdown();
    const Status stream = receiver_ ? receiver_->Abort() : Status::Ok();
    // Reports a stall of a stream rather than the errors that the stall causes.
    const Status& first = stream.code() == Code::kDeadlineExceeded ? stream : why;
    if (first.code() != Code::kDeadlineExceeded) return first;
    return first.WithContext("transfer with rank " + std::to_string(1 - rank_))
        .WithPeer({1 - rank_});
  }

  const int rank_;
  const int64_t bytes_;
  const bool forward_;   // From rank 0 to rank 1.
  const bool backward_;  // From rank 1 to rank 0.
  Peers& peers_;
  std::optional<SendingEnd> sender_;
  std::unique_ptr<ReceivingEnd> receiver_;
  std::vector<double> forward_seconds_;  // Per iteration, by sample.
  std::vector<double> backward_seconds_;
  std::vector<double> retransmits_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewTcpBandwidthCase(const RunContext& context) {
  auto prepared = std::make_unique<TcpBandwidthCase>(context);
  ASSAY_RETURN_IF_ERROR(prepared->Connect(context));
  return std::unique_ptr<Case>(std::move(prepared));
}

}  // namespace assay
