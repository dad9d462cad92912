#include "measure/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace assay {
namespace {

// One implementation of the work: its seconds at full clock, and the power that it draws there as a
// multiple of the power limit.
struct Way {
  double seconds = 1e-3;
  double power = 1;
};

// A GPU that keeps its power limit. Power grows with the cube of the clock. The clock follows the
// load with a delay and also wanders. Time is virtual.
class PowerLimitedGpu {
 public:
  PowerLimitedGpu(std::vector<Way> ways, unsigned seed) : ways_(std::move(ways)), random_(seed) {}

  // Runs the work for `length` seconds and returns its mean seconds.
  double Run(size_t way, double length) {
    double done = 0;
    for (double at = 0; at < length; at += kStep) {
      const double settled = std::min(1.0, std::cbrt(1 / ways_[way].power));
      clock_ += (settled - clock_) * kStep / kDelay;
      wander_ += -wander_ * kStep / kWanderSeconds +
                 kWander * std::sqrt(2 * kStep / kWanderSeconds) * normal_(random_);
      done += kStep * clock_ * (1 + wander_) / ways_[way].seconds;
    }
    return length / done;
  }

  // Returns the first timings of the candidates.
  std::vector<Candidate> Sprint() {
    std::vector<Candidate> candidates;
    for (size_t way = 0; way < ways_.size(); ++way) candidates.push_back({way, Run(way, 0.02)});
    return candidates;
  }

  Result<size_t> Fastest(const CandidateRule& rule = CandidateRule()) {
    return FastestCandidate(Sprint(), rule,
                            [this](const Candidate& candidate, const CandidateRule& of) {
                              turns_.push_back(candidate.index);
                              Run(candidate.index, of.follow_seconds);
                              return Result<double>(Run(candidate.index, of.timed_seconds));
                            });
  }

  // The candidates in the order of their turns.
  const std::vector<size_t>& turns() const { return turns_; }

 private:
  static constexpr double kStep = 5e-3;
  static constexpr double kDelay = 0.1;          // Time constant with which the clock follows the load.
  static constexpr double kWander = 0.01;        // Standard deviation of the clock.
  static constexpr double kWanderSeconds = 0.3;  // How long the clock wanders in one direction.

  const std::vector<Way> ways_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  double clock_ = 1;
  double wander_ = 0;
  std::vector<size_t> turns_;
};

// Returns how often `way` is chosen on 200 GPUs with different seeds.
int TimesChosen(size_t way, const std::vector<Way>& ways,
                const CandidateRule& rule = CandidateRule()) {
  int times = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Result<size_t> fastest = PowerLimitedGpu(ways, seed).Fastest(rule);
    times += fastest.ok() && *fastest == way ? 1 : 0;
  }
  return times;
}

// The second implementation is 5% faster at the same clock, and 5% slower at the power limit.
const Way kPlain = {1e-3, 1.5};
const Way kHungry = {0.95e-3, 1.5 * 1.35};

TEST(FastestCandidate, ShortTimingDoesNotDecide) {
  EXPECT_EQ(TimesChosen(0, {kPlain, kHungry, kHungry, kHungry}), 200);
}

TEST(FastestCandidate, TurnsMustOutlastTheClocksDelay) {
  CandidateRule sprint;
  sprint.follow_seconds = 0;
  sprint.timed_seconds = 0.02;
  EXPECT_LT(TimesChosen(0, {kPlain, kHungry, kHungry, kHungry}, sprint), 200);
}

TEST(FastestCandidate, CandidateThatIsALittleFasterIsFound) {
  const Way faster = {kPlain.seconds / 1.03, kPlain.power};
  EXPECT_GT(TimesChosen(2, {kPlain, kHungry, faster, kHungry}), 180);
}

TEST(FastestCandidate, FirstIsSeldomReplacedByAnEqualCandidate) {
  EXPECT_GT(TimesChosen(0, {kPlain, kPlain}), 160);
}

// Times each candidate with exactly these seconds.
TimeCandidate Exactly(const std::vector<double>& seconds, std::vector<size_t>* turns) {
  return [&seconds, turns](const Candidate& candidate, const CandidateRule&) {
    turns->push_back(candidate.index);
    return Result<double>(seconds[candidate.index]);
  };
}

TEST(FastestCandidate, RoundsAlternateInDirectionAndDropSlowerCandidates) {
  const std::vector<double> seconds = {1.0, 0.9, 0.95, 1.1};
  std::vector<size_t> turns;
  const auto fastest = FastestCandidate({{0, 1.0}, {1, 0.9}, {2, 0.95}, {3, 0.85}}, CandidateRule(),
                                        Exactly(seconds, &turns));
  ASSERT_TRUE(fastest.ok());
  EXPECT_EQ(*fastest, 1u);
  EXPECT_EQ(turns, (std::vector<size_t>{0, 3, 1, 2, 2, 1, 0, 0, 1, 2}));
}

TEST(FastestCandidate, OnlyTheFastestAtTheFirstTimingAreCompared) {
  const std::vector<double> seconds = {1.0, 0.5, 0.9, 0.9, 0.9};
  std::vector<size_t> turns;
  const auto fastest = FastestCandidate({{0, 1.0}, {1, 2.0}, {2, 0.9}, {3, 0.9}, {4, 0.9}},
                                        CandidateRule(), Exactly(seconds, &turns));
  ASSERT_TRUE(fastest.ok());
  EXPECT_EQ(*fastest, 2u);
  EXPECT_EQ(std::count(turns.begin(), turns.end(), 1u), 0);
}

TEST(FastestCandidate, EndsOnceNoOtherCandidateIsLeft) {
  const std::vector<double> seconds = {1.0, 1.0, 1.2};
  std::vector<size_t> turns;
  const auto fastest =
      FastestCandidate({{0, 1.0}, {1, 1.0}, {2, 1.2}}, CandidateRule(), Exactly(seconds, &turns));
  ASSERT_TRUE(fastest.ok());
  EXPECT_EQ(*fastest, 0u);
  EXPECT_EQ(turns.size(), 3u);
}

TEST(FastestCandidate, FirstIsKeptUnlessAnotherIsClearlyFaster) {
  const std::vector<double> seconds = {1.0, 0.999};
  std::vector<size_t> turns;
  const auto fastest =
      FastestCandidate({{0, 1.0}, {1, 0.999}}, CandidateRule(), Exactly(seconds, &turns));
  ASSERT_TRUE(fastest.ok());
  EXPECT_EQ(*fastest, 0u);
}

TEST(FastestCandidate, OnlyCandidateNeedsNoTurn) {
  std::vector<size_t> turns;
  const auto fastest = FastestCandidate({{5, 1.0}}, CandidateRule(), Exactly({}, &turns));
  ASSERT_TRUE(fastest.ok());
  EXPECT_EQ(*fastest, 5u);
  EXPECT_TRUE(turns.empty());
}

TEST(FastestCandidate, FailedTurnIsTheError) {
  const auto fastest = FastestCandidate(
      {{0, 1.0}, {1, 1.0}}, CandidateRule(), [](const Candidate&, const CandidateRule&) {
        return Result<double>(Unavailable("lost", Reason::kGpuLost));
      });
  EXPECT_EQ(fastest.status().reason(), Reason::kGpuLost);
}

}  // namespace
}  // namespace assay
