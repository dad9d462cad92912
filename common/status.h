// Errors as values: a Status is success or an error, a Result<T> is a value or an error.
#pragma once

#include <cassert>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/reason.h"

namespace assay {

// Numbered as gRPC's status codes, so that a cast converts one to the other.
enum class Code : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// Returns "INVALID_ARGUMENT" and so on. "UNKNOWN" for numbers outside the enum.
std::string_view CodeName(Code code);

// One error in a request.
struct Violation {
  std::string field;        // For example "benchmarks[1].dtype[0]".
  std::string description;  // "\"bf17\" is not one of bf16, fp16, fp32"
  int line = 0;             // In the user's file, 1-based; 0 if there is none.
};

// The other rank (process of the same job) that an error is about.
struct PeerOfError {
  int rank = -1;                         // -1: none.
  std::chrono::milliseconds silence{0};  // How long nothing had come from it; 0: not known.
};

// The outcome of an operation. Immutable, so threads can share it. Cheap to copy.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // `reason` is for programs. `message` says what was wrong and where, for people.
  Status(Code code, Reason reason, std::string message);

  static Status Ok() { return Status(); }

  // Return copies of this error with more information. No effect on an OK status.
  Status WithHint(std::string hint) const;
  Status WithViolations(std::vector<Violation> violations) const;
  // Prepends "context: " to the message.
  Status WithContext(std::string_view context) const;
  // Names the rank in which the error arose. Without a name, it arose in this process.
  Status WithRank(int rank) const;
  // Names another rank, which was lost or for which this rank waited in vain.
  Status WithPeer(PeerOfError peer) const;

  bool ok() const { return rep_ == nullptr; }
  Code code() const { return rep_ ? rep_->code : Code::kOk; }
  Reason reason() const { return rep_ ? rep_->reason : Reason::kNone; }
  const std::string& message() const;
  // The rank in which the error arose; -1 if none was named.
  int rank() const { return rep_ ? rep_->rank : -1; }
  PeerOfError peer() const { return rep_ ? rep_->peer : PeerOfError(); }
  const std::string& hint() const;
  const std::vector<Violation>& violations() const;

  // Returns the message, after "rank 2: " if a rank is named.
  std::string Text() const;
  // Returns "INVALID_ARGUMENT: text (REASON)", then one line per violation, then the hint.
  std::string ToString() const;

 private:
  struct Rep {
    Code code = Code::kUnknown;
    Reason reason = Reason::kNone;
    std::string message;
    std::string hint;
    std::vector<Violation> violations;
    int rank = -1;
    PeerOfError peer;
  };
  explicit Status(Rep rep) : rep_(std::make_shared<const Rep>(std::move(rep))) {}

  std::shared_ptr<const Rep> rep_;
};

std::ostream& operator<<(std::ostream& out, const Status& status);

inline Status InvalidArgument(std::string message, Reason reason = Reason::kInvalidArgument) {
  return Status(Code::kInvalidArgument, reason, std::move(message));
}
inline Status NotFound(std::string message, Reason reason = Reason::kNotFound) {
  return Status(Code::kNotFound, reason, std::move(message));
}
inline Status FailedPrecondition(std::string message, Reason reason = Reason::kFailedPrecondition) {
  return Status(Code::kFailedPrecondition, reason, std::move(message));
}
inline Status Unavailable(std::string message, Reason reason = Reason::kUnavailable) {
  return Status(Code::kUnavailable, reason, std::move(message));
}
inline Status Internal(std::string message, Reason reason = Reason::kInternal) {
  return Status(Code::kInternal, reason, std::move(message));
}

// Either a value or an error that explains why there is none. Check ok() before reading the value;
// reading the value of a failed Result is a bug and fails an assertion.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}       // NOLINT: implicit on purpose
  Result(Status error) : status_(std::move(error)) {  // NOLINT: implicit on purpose
    assert(!status_.ok() && "a Result made from a Status needs an error");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  const T& value() const& { return assert(ok()), *value_; }
  T& value() & { return assert(ok()), *value_; }
  T&& value() && { return assert(ok()), *std::move(value_); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

// Returns from the enclosing function if `expression` is an error.
#define ASSAY_RETURN_IF_ERROR(expression)                                                     \
  do {                                                                                        \
    if (::assay::Status assay_status = (expression); !assay_status.ok()) return assay_status; \
  } while (false)

#define ASSAY_CONCAT_INNER(a, b) a##b
#define ASSAY_CONCAT(a, b) ASSAY_CONCAT_INNER(a, b)

// Unwraps a Result. For example, ASSAY_ASSIGN_OR_RETURN(auto file, Open(path)) sets `file` to the
// value returned by Open(path). If Open fails, the enclosing function returns its error.
#define ASSAY_ASSIGN_OR_RETURN(declaration, expression) \
  ASSAY_ASSIGN_OR_RETURN_INNER(ASSAY_CONCAT(assay_result_, __LINE__), declaration, expression)
#define ASSAY_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                         \
  if (!result.ok()) return result.status();                           \
  declaration = std::move(result).value()

}  // namespace assay
