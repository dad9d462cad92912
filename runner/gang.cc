#include "runner/gang.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gang/peers.h"

namespace assay {
namespace {

// An order from rank 0 to the other ranks. They must either run and time `samples` samples of
// `batch` iterations each, or stop.
struct Order {
  int64_t samples = 0;  // 0 means stop.
  int64_t batch = 0;
  int64_t in_window = 0;  // 1 in the timed window.
};

// The numeric fields of a Verdict. In a message, the text of the verdict's detail follows them.
struct VerdictNumbers {
  double error = 0;
  int64_t elements_checked = 0;
  int64_t passed = 0;
};

// Returns a copy of `numbers` as raw bytes, to be sent to other ranks. All ranks run the same
// program, so they share the same binary format.
template <typename T>
std::string PackNumbers(const T& numbers) {
  std::string bytes(sizeof numbers, '\0');
  std::memcpy(bytes.data(), &numbers, sizeof numbers);
  return bytes;
}

// Returns false if `bytes` is too short.
template <typename T>
bool UnpackNumbers(const std::string& bytes, T* numbers) {
  if (bytes.size() < sizeof *numbers) return false;
  std::memcpy(numbers, bytes.data(), sizeof *numbers);
  return true;
}

std::string Pack(const std::vector<double>& values) {
  std::string bytes(values.size() * sizeof(double), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Result<std::vector<double>> Unpack(const std::string& bytes, size_t count) {
  if (bytes.size() != count * sizeof(double)) {
    return Internal("a rank sent " + std::to_string(bytes.size()) + " bytes instead of " +
                        std::to_string(count) + " samples",
                    Reason::kBadMessage);
  }
  std::vector<double> values(count);
  if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Returns the larger value, or NaN if either value is NaN, because a number from one rank must not
// hide a NaN from another.
double LargerOrNan(double a, double b) { return std::isnan(a) || a > b ? a : b; }

// Runs and times samples on all ranks at once. Appends the time of each sample to `seconds`: on
// rank 0, the time of the slowest rank; on all others, the rank's own time.
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

// All ranks of the gang as one device. Used only by rank 0.
class GangDevice : public TimedDevice {
 public:
  GangDevice(Case& prepared, Peers& peers) : case_(prepared), peers_(peers) {}

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    std::string order = PackNumbers(Order{samples, batch, in_window_ ? 1 : 0});
    ASSAY_RETURN_IF_ERROR(peers_.Broadcast(&order, kPeerTimeout));
    return RunTogether(case_, peers_, samples, batch, seconds);
  }
  double MinSampleSeconds() const override { return case_.MinSampleSeconds(); }
  int64_t UntimedIterations(int64_t samples, int64_t batch) const override {
    return case_.UntimedIterations(samples, batch);
  }
  int64_t BatchGranularity() const override { return case_.BatchGranularity(); }

  // Makes all further orders belong to the timed window.
  void BeginWindow() { in_window_ = true; }

  // Ends the measurement on the other ranks.
  Status Stop() {
    std::string order = PackNumbers(Order());
    return peers_.Broadcast(&order, kPeerTimeout);
  }

 private:
  Case& case_;
  Peers& peers_;
  bool in_window_ = false;
};

// Carries out the orders of rank 0 until rank 0 orders to stop.
Status Follow(Case& prepared, Peers& peers, const MeasureHooks& hooks) {
  if (hooks.warmup_begins) hooks.warmup_begins();
  bool in_window = false;
  for (;;) {
    std::string bytes;
    ASSAY_RETURN_IF_ERROR(peers.Broadcast(&bytes, kPeerTimeout));
    Order order;
    if (!UnpackNumbers(bytes, &order) || order.samples < 0 || order.batch < 0) {
      return Internal("rank 0 sent an unreadable order", Reason::kBadMessage);
    }
    if (order.samples == 0) return Status::Ok();
    if (order.in_window != 0 && !in_window) {
      in_window = true;
      if (hooks.window_begins) hooks.window_begins();
    }
    std::vector<double> seconds;
    // If the run fails on any rank, all ranks receive an error with that rank's number. Rank 0 then
    // orders all ranks to stop, so keep waiting for its next order. An error without a rank number
    // means that the connection to another rank was lost.
    Status ran = RunTogether(prepared, peers, order.samples, order.batch, &seconds);
    if (!ran.ok() && ran.rank() < 0) return ran;
  }
}

std::string PackVerdict(const Verdict& verdict) {
  return PackNumbers(
             VerdictNumbers{verdict.error, verdict.elements_checked, verdict.passed ? 1 : 0}) +
         verdict.detail;
}

}  // namespace

Status AgreeIfGang(Peers* peers, const Status& mine) {
  return peers == nullptr ? mine : Agree(*peers, mine, kPeerTimeout);
}

Result<GangVerdict> MergeVerdicts(Peers* peers, const Verdict& mine) {
  if (peers == nullptr) return GangVerdict{mine};
  ASSAY_ASSIGN_OR_RETURN(const auto all, AllGather(*peers, PackVerdict(mine), kPeerTimeout));
  GangVerdict result{mine};
  Verdict& merged = result.verdict;
  merged.passed = true;
  merged.error = 0;
  merged.elements_checked = 0;
  merged.detail.clear();
  for (size_t rank = 0; rank < all.size(); ++rank) {
    VerdictNumbers numbers;
    if (!UnpackNumbers(all[rank], &numbers)) {
      return Internal("rank " + std::to_string(rank) + " sent an unreadable verdict",
                      Reason::kBadMessage);
    }
    merged.error = LargerOrNan(merged.error, numbers.error);
    merged.elements_checked += numbers.elements_checked;
    if (numbers.passed == 1 || !merged.passed) continue;
    merged.passed = false;
    merged.detail = all[rank].substr(sizeof numbers);
    result.failed_rank = static_cast<int>(rank);
  }
  return result;
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
