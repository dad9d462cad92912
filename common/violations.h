// Collects all errors of a request, so that users can fix them at once.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status.h"

namespace assay {

// The description of the last violation if there are more than are listed. It has no field.
inline constexpr std::string_view kMoreErrors = "there are more errors; fix these first";

// Not thread-safe.
class Violations {
 public:
  // Appends the errors of `others`.
  void Add(const Violations& others) {
    for (const Violation& one : others.kept_) Add(one.field, one.description, one.line);
    count_ += others.count_ - others.kept_.size();
  }

  // Keeps at most kMost errors and counts the others.
  void Add(std::string field, std::string description, int line) {
    ++count_;
    if (kept_.size() < kMost) kept_.push_back({std::move(field), std::move(description), line});
  }

  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }

  // Returns OK if no errors were added. Otherwise returns INVALID_ARGUMENT with at most kMost of
  // the errors. The message includes `subject`, the number of errors and the first error.
  Status ToStatus(const std::string& subject, Reason reason) const {
    if (empty()) return Status::Ok();
    const Violation& first = kept_.front();
    std::string message = subject + " has " +
                          (count_ == 1 ? "an error" : std::to_string(count_) + " errors") + ": " +
                          first.field + ": " + first.description;
    std::vector<Violation> told = kept_;
    if (count_ > kMost) told.push_back({"", std::string(kMoreErrors), 0});
    return InvalidArgument(std::move(message), reason).WithViolations(std::move(told));
  }

 private:
  static constexpr size_t kMost = 100;
  std::vector<Violation> kept_;
  size_t count_ = 0;
};

}  // namespace assay
