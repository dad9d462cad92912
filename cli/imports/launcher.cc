#include "cli/imports/launcher.h"

#include <algorithm>
#include <array>

#include "cli/imports/checked_text.h"

namespace assay::imports {
namespace {

enum class Launcher { kNone, kMpirun, kSrun };

struct Label {
  Launcher launcher = Launcher::kNone;
  size_t bytes = 0;  // Of the line's beginning.
};

size_t DigitsAt(std::string_view text, size_t at) {
  const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
  return end - std::min(at, end);
}

// "[1,0]<stdout>:", and since Open MPI 5 "[prterun-host-7@1,0]<stdout>: ": job, rank, stream.
size_t MpirunLabel(std::string_view line) {
  if (!line.starts_with('[')) return 0;
  const size_t close = line.find(']');
  if (close == std::string_view::npos) return 0;
  const size_t name = line.substr(0, close).rfind('@');
  size_t at = name == std::string_view::npos ? 1 : name + 1;
  const size_t job = DigitsAt(line, at);
  at += job;
  if (job == 0 || line.substr(at, 1) != ",") return 0;
  const size_t rank = DigitsAt(line, at + 1);
  if (rank == 0 || at + 1 + rank != close) return 0;
  for (const std::string_view stream : {"]<stdout>:", "]<stderr>:"}) {
    if (line.substr(close).starts_with(stream)) return close + stream.size();
  }
  return 0;
}

// "0: ", padded to the width of the last task's number.
size_t SrunLabel(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t end = begin + DigitsAt(line, begin);
  if (end == begin || line.substr(end, 1) != ":") return 0;
  const std::string_view rest = line.substr(end + 1);
  return rest.empty() || rest.starts_with(' ') ? std::min(end + 2, line.size()) : 0;
}

Label LabelOf(std::string_view line) {
  if (const size_t bytes = MpirunLabel(line); bytes > 0) return {Launcher::kMpirun, bytes};
  if (const size_t bytes = SrunLabel(line); bytes > 0) return {Launcher::kSrun, bytes};
  return {};
}

// The program that alone begins a line so; empty for any other line.
std::string ProgramOf(std::string_view line) {
  if (line.starts_with("# nThread ") || line.starts_with("# nccl-tests version ")) {
    return "nccl-tests";
  }
  return line.starts_with("nvbandwidth Version: ") ? "nvbandwidth" : "";
}

// Whether a line without label may be of a program's output and not of mpirun, ssh or a shell.
bool MayBeOutput(std::string_view line) {
  constexpr std::array<std::string_view, 8> kBegins = {"Running ", "SUM ",    "Waived:", "Device ",
                                                       "Process ", "memcpy ", "memory ", "{"};
  return line.starts_with('#') || IsDigits(line.substr(0, 1)) || !ProgramOf(line).empty() ||
         std::any_of(kBegins.begin(), kBegins.end(),
                     [&](std::string_view begin) { return line.starts_with(begin); });
}

Status LabelOfSome(size_t line, std::string_view label) {
  return FaultAt(line, "the line begins with a launcher's label, " + Quoted(Trimmed(label)) +
                           ", and not every line of the file does")
      .WithHint(
          "strip the labels, or run without them: mpirun without --tag-output, srun without -l");
}

}  // namespace

Result<std::optional<std::string>> WithoutLabels(std::string_view text) {
  std::string plain;
  Launcher launcher = Launcher::kNone;
  size_t line_number = 0;
  size_t labelled = 0;  // The first line of stdout with mpirun's label, which nothing else has.
  std::string_view first_label;
  bool whole = true;      // Every line has a label.
  bool after = false;     // A line without one came after one with a label.
  bool may_lack = false;  // A line without one may be of the output.
  bool of_one = true;     // All labels are of one launcher.
  while (!text.empty()) {
    ++line_number;
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    const bool ended = end < text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!Trimmed(line).empty()) {
      const Label label = LabelOf(line);
      const std::string_view words = line.substr(0, label.bytes);
      if (label.bytes == 0) {
        whole = false;
        after |= launcher != Launcher::kNone;
        may_lack |= MayBeOutput(Trimmed(line));
      } else {
        if (launcher == Launcher::kNone) launcher = label.launcher;
        of_one &= label.launcher == launcher;
        may_lack |= after;
        plain += line.substr(label.bytes);
      }
      if (labelled == 0 && label.launcher == Launcher::kMpirun &&
          words.find("<stdout>") != std::string_view::npos) {
        labelled = line_number;
        first_label = words;
      }
      if (may_lack && labelled > 0) return LabelOfSome(labelled, first_label);
    }
    if (ended) plain += '\n';  // Lines keep their numbers.
  }
  const bool stripped = of_one && launcher != Launcher::kNone && (whole || labelled > 0);
  return stripped ? std::optional(std::move(plain)) : std::nullopt;
}

Status NotRecognized(const std::vector<std::string_view>& lines, const std::string& expected) {
  for (size_t i = 0; i < lines.size(); ++i) {
    const Label label = LabelOf(lines[i]);
    const std::string program = ProgramOf(Trimmed(lines[i].substr(label.bytes)));
    if (program.empty()) continue;
    if (label.bytes == 0) return OutputOf("line " + std::to_string(i + 1), program);
    return LabelOfSome(i + 1, lines[i].substr(0, label.bytes));
  }
  return FaultAt(1, expected);
}

Status OutputOf(const std::string& where, const std::string& program) {
  return FaultAt(where, "this is " + program + (program.ends_with('s') ? "'" : "'s") + " output")
      .WithHint("assay import " + program + " FILE reads it");
}

}  // namespace assay::imports
