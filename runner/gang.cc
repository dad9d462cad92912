#include "runner/gang.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "gang/peers.h"

namespace assay {
namespace {

std::string Pack(const std::vector<double>& values) {
  std::string bytes(values.size() * sizeof(double), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Result<std::vector<double>> Unpack(const std::string& bytes, size_t count) {
  if (bytes.size() != count * sizeof(double)) {
    return Internal("a rank sent " + std::to_string(bytes.size()) + " bytes instead of " +
                        std::to_string(count) + " samples",
                    "BAD_MESSAGE");
  }
  std::vector<double> values(count);
  if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// NaN if either is, so that no rank's NaN is lost behind another's number.
double LargerOrNan(double a, double b) { return std::isnan(a) || a > b ? a : b; }

// Runs on this rank, then makes the samples those of the slowest rank (at rank 0).
Status RunTogether(Case& prepared, Peers& peers, int64_t samples, int64_t batch,
                   std::vector<double>* seconds) {
  std::vector<double> mine;
  ASSAY_RETURN_IF_ERROR(Agree(peers, prepared.Run(samples, batch, &mine), kPeerTimeout));
  ASSAY_ASSIGN_OR_RETURN(const auto all, peers.Gather(Pack(mine), kPeerTimeout));
  for (const std::string& bytes : all) {
    ASSAY_ASSIGN_OR_RETURN(const auto theirs, Unpack(bytes, mine.size()));
    for (size_t i = 0; i < mine.size(); ++i) {
      mine[i] = LargerOrNan(mine[i], theirs[i]);
    }
  }
  seconds->insert(seconds->end(), mine.begin(), mine.end());
  return Status::Ok();
}

class SingleDevice : public TimedDevice {
 public:
  explicit SingleDevice(Case& prepared) : case_(prepared) {}
  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    return case_.Run(samples, batch, seconds);
  }
  double MinSampleSeconds() const override { return case_.MinSampleSeconds(); }
  int64_t UntimedIterations(int64_t samples, int64_t batch) const override {
    return case_.UntimedIterations(samples, batch);
  }
  int64_t BatchGranularity() const override { return case_.BatchGranularity(); }

 private:
  Case& case_;
};

// Rank 0's view of the whole gang.
class GangDevice : public TimedDevice {
 public:
  GangDevice(Case& prepared, Peers& peers) : case_(prepared), peers_(peers) {}

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    std::string order =
        std::to_string(samples) + " " + std::to_string(batch) + (in_window_ ? " 1" : " 0");
    ASSAY_RETURN_IF_ERROR(peers_.Broadcast(&order, kPeerTimeout));
    return RunTogether(case_, peers_, samples, batch, seconds);
  }
  double MinSampleSeconds() const override { return case_.MinSampleSeconds(); }
  int64_t UntimedIterations(int64_t samples, int64_t batch) const override {
    return case_.UntimedIterations(samples, batch);
  }
  int64_t BatchGranularity() const override { return case_.BatchGranularity(); }

  // From now on orders are of the timed window.
  void BeginWindow() { in_window_ = true; }

  // Lets the others go on.
  Status Stop() {
    std::string order = "stop";
    return peers_.Broadcast(&order, kPeerTimeout);
  }

 private:
  Case& case_;
  Peers& peers_;
  bool in_window_ = false;
};

// What the other ranks do meanwhile.
Status Follow(Case& prepared, Peers& peers, const MeasureHooks& hooks) {
  if (hooks.warmup_begins) hooks.warmup_begins();
  bool in_window = false;
  for (;;) {
    std::string order;
    ASSAY_RETURN_IF_ERROR(peers.Broadcast(&order, kPeerTimeout));
    if (order == "stop") return Status::Ok();
    int64_t samples = 0;
    int64_t batch = 0;
    int window = 0;
    if (std::sscanf(order.c_str(), "%" SCNd64 " %" SCNd64 " %d", &samples, &batch, &window) != 3 ||
        samples < 1 || batch < 1) {
      return Internal("rank 0 sent an unreadable order", "BAD_MESSAGE");
    }
    if (window != 0 && !in_window) {
      in_window = true;
      if (hooks.window_begins) hooks.window_begins();
    }
    std::vector<double> seconds;
    // A failed run is known to all ranks; rank 0 says "stop" next.
    Status ran = RunTogether(prepared, peers, samples, batch, &seconds);
    if (ran.reason() == "PEER_LOST" || ran.reason() == "PEER_TIMEOUT") return ran;
  }
}

std::string PackVerdict(const Verdict& verdict) {
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, "%d %.17g %" PRId64 "\n", verdict.passed ? 1 : 0,
                verdict.error, verdict.elements_checked);
  return numbers + verdict.detail;
}

}  // namespace

Status AgreeIfGang(Peers* peers, const Status& mine) {
  return peers == nullptr ? mine : Agree(*peers, mine, kPeerTimeout);
}

Result<Verdict> MergeVerdicts(Peers* peers, const Verdict& mine) {
  if (peers == nullptr) return mine;
  ASSAY_ASSIGN_OR_RETURN(const auto all, AllGather(*peers, PackVerdict(mine), kPeerTimeout));
  Verdict merged = mine;
  merged.passed = true;
  merged.error = 0;
  merged.elements_checked = 0;
  merged.detail.clear();
  for (size_t rank = 0; rank < all.size(); ++rank) {
    int passed = 0;
    double error = 0;
    int64_t elements = 0;
    if (std::sscanf(all[rank].c_str(), "%d %lg %" SCNd64, &passed, &error, &elements) != 3) {
      return Internal("rank " + std::to_string(rank) + " sent an unreadable verdict",
                      "BAD_MESSAGE");
    }
    merged.error = LargerOrNan(merged.error, error);
    merged.elements_checked += elements;
    if (passed == 1) continue;
    merged.passed = false;
    if (merged.detail.empty()) {
      merged.detail =
          "rank " + std::to_string(rank) + ": " + all[rank].substr(all[rank].find('\n') + 1);
    }
  }
  return merged;
}

Result<MeasuredTimes> MeasureOnAllRanks(Case& prepared, const MeasureRule& rule,
                                        const RunContext& context, const MeasureHooks& hooks) {
  if (context.peers == nullptr) {
    SingleDevice device(prepared);
    return Measure(device, rule, *context.clock, hooks);
  }
  if (context.rank != 0) {
    const Status followed = Follow(prepared, *context.peers, hooks);
    ASSAY_RETURN_IF_ERROR(Agree(*context.peers, followed, kPeerTimeout));
    return MeasuredTimes();
  }
  GangDevice device(prepared, *context.peers);
  MeasureHooks told = hooks;
  told.window_begins = [&] {
    device.BeginWindow();
    if (hooks.window_begins) hooks.window_begins();
  };
  auto times = Measure(device, rule, *context.clock, told);
  ASSAY_RETURN_IF_ERROR(device.Stop());
  ASSAY_RETURN_IF_ERROR(Agree(*context.peers, times.status(), kPeerTimeout));
  return times;
}

}  // namespace assay
