#include "common/status.h"

namespace assay {
namespace {

const std::string& EmptyString() {
  static const std::string empty;
  return empty;
}

}  // namespace

std::string_view CodeName(Code code) {
  static constexpr std::string_view kNames[] = {"OK",
                                                "CANCELLED",
                                                "UNKNOWN",
                                                "INVALID_ARGUMENT",
                                                "DEADLINE_EXCEEDED",
                                                "NOT_FOUND",
                                                "ALREADY_EXISTS",
                                                "PERMISSION_DENIED",
                                                "RESOURCE_EXHAUSTED",
                                                "FAILED_PRECONDITION",
                                                "ABORTED",
                                                "OUT_OF_RANGE",
                                                "UNIMPLEMENTED",
                                                "INTERNAL",
                                                "UNAVAILABLE",
                                                "DATA_LOSS",
                                                "UNAUTHENTICATED"};
  const auto index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "UNKNOWN";
}

Status::Status(Code code, Reason reason, std::string message) {
  if (code == Code::kOk) return;
  Rep rep;
  rep.code = code;
  rep.reason = reason;
  rep.message = std::move(message);
  rep_ = std::make_shared<const Rep>(std::move(rep));
}

Status Status::WithHint(std::string hint) const {
  if (ok()) return *this;
  Rep rep = *rep_;
  rep.hint = std::move(hint);
  return Status(std::move(rep));
}

Status Status::WithViolations(std::vector<Violation> violations) const {
  if (ok()) return *this;
  Rep rep = *rep_;
  rep.violations = std::move(violations);
  return Status(std::move(rep));
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  Rep rep = *rep_;
  rep.message = std::string(context) + ": " + rep.message;
  return Status(std::move(rep));
}

Status Status::WithRank(int rank) const {
  if (ok()) return *this;
  Rep rep = *rep_;
  rep.rank = rank;
  return Status(std::move(rep));
}

Status Status::WithPeer(PeerOfError peer) const {
  if (ok()) return *this;
  Rep rep = *rep_;
  rep.peer = peer;
  return Status(std::move(rep));
}

const std::string& Status::message() const { return rep_ ? rep_->message : EmptyString(); }
const std::string& Status::hint() const { return rep_ ? rep_->hint : EmptyString(); }

const std::vector<Violation>& Status::violations() const {
  static const std::vector<Violation> none;
  return rep_ ? rep_->violations : none;
}

std::string Status::Text() const {
  return rank() < 0 ? message() : "rank " + std::to_string(rank()) + ": " + message();
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  std::string text(CodeName(code()));
  text += ": " + Text();
  const std::string word(ReasonWord(reason()));
  if (!word.empty() && word != CodeName(code())) text += " (" + word + ")";
  for (const Violation& violation : violations()) {
    text += "\n  ";
    if (violation.line > 0) text += "line " + std::to_string(violation.line) + ", ";
    text += violation.field + ": " + violation.description;
  }
  if (!hint().empty()) text += "\n  hint: " + hint();
  return text;
}

std::ostream& operator<<(std::ostream& out, const Status& status) {
  return out << status.ToString();
}

}  // namespace assay
