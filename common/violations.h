// Collects every fault of a request, so that users mend them all at once.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status.h"

namespace assay {

// Stands, without a field, behind the faults of a request that has more of them.
inline constexpr std::string_view kMoreFaults = "there are more faults; mend these first";

// Not thread-safe.
class Violations {
 public:
  // Beyond kMost, faults are counted but not kept: a message is for people.
  void Add(std::string field, std::string description, int line) {
    ++count_;
    if (kept_.size() < kMost) kept_.push_back({std::move(field), std::move(description), line});
  }

  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }

  // OK if there are none; else INVALID_ARGUMENT: "`subject` has 2 faults", with the
  // first one in the message.
  Status ToStatus(const std::string& subject, Reason reason) const {
    if (empty()) return Status::Ok();
    const Violation& first = kept_.front();
    std::string message = subject + " has " +
                          (count_ == 1 ? "a fault" : std::to_string(count_) + " faults") + ": " +
                          first.field + ": " + first.description;
    std::vector<Violation> told = kept_;
    if (count_ > kMost) told.push_back({"", std::string(kMoreFaults), 0});
    return InvalidArgument(std::move(message), reason).WithViolations(std::move(told));
  }

 private:
  static constexpr size_t kMost = 100;
  std::vector<Violation> kept_;
  size_t count_ = 0;
};

}  // namespace assay
