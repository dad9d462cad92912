// The text of nccl-tests (src/util.cu and src/common.cu of 2.8 to 2.18): comments that
// begin with "#", a table whose header names its columns, and a summary. What else stands
// in the stream (NCCL's log, a launcher's messages) is passed over.
#include <algorithm>

#include "common/utf8.h"
#include "cli/imports/checked_text.h"
#include "cli/imports/launcher.h"
#include "cli/imports/nccl_forms.h"

namespace assay::imports {
namespace {

constexpr size_t kMaxColumns = 64;
constexpr int64_t kMaxRanks = 4096;
constexpr size_t kMaxGpuName = 100;

// Where a row's words stand.
struct Columns {
  size_t words = 0;  // Of a row.
  size_t size = 0, count = 0, type = 0;
  std::optional<size_t> op, root;
  bool timestamp = false;  // A row ends with a date and a time.
  struct Timing {
    size_t time = 0, algorithm = 0, bus = 0, wrong = 0;
  };
  std::vector<Timing> timings;  // Out of place, in place.
};

// The word behind `key`, or empty.
std::string_view WordAfter(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const auto words = WordsOf(line.substr(at + key.size()), 1);
  return words.empty() ? std::string_view() : words.front();
}

// Where "Test NCCL failure common.cu:44 'unhandled cuda error'" begins, which ends a run. Before it
// stand the host and what was printed of the row, if any.
size_t FailureIn(std::string_view line) {
  return std::min(line.find("Test NCCL failure "), line.find("Test CUDA failure "));
}

class TextReader {
 public:
  Result<std::vector<NcclRun>> Read(const std::vector<std::string_view>& lines) {
    for (size_t i = 0; i < lines.size(); ++i) {
      line_ = i + 1;
      const std::string_view text = Trimmed(lines[i]);
      if (text.starts_with("{\"version\"") &&
          text.find("\"nccl_version\"") != std::string_view::npos) {
        return FaultAt(line_, "the JSON of another run begins; import it as a file of its own");
      }
      if (text.starts_with('#')) {
        ASSAY_RETURN_IF_ERROR(Comment(text));
      } else if (const size_t at = FailureIn(text); at != std::string_view::npos) {
        if (failure_.empty()) failure_ = text.substr(at);
      } else if (in_table_) {
        ASSAY_RETURN_IF_ERROR(Row(text));
      }
    }
    if (!runs_.empty() && !complete_) return CutShort("the file ends");
    if (runs_.empty()) {
      return NotRecognized(lines,
                           "expected the output of nccl-tests, which begins with \"# nThread "
                           "...\" or \"# nccl-tests version ...\"; no line does");
    }
    return std::move(runs_);
  }

 private:
  NcclRun& run() { return runs_.back(); }

  Status CutShort(const std::string& here) const {
    return FaultAt(line_, here + " before the summary (\"# Avg bus bandwidth\") of the run that " +
                              "began in line " + std::to_string(runs_.back().line) +
                              (failure_.empty() ? ": the output was cut short"
                                                : ": the run ended with " + Quoted(failure_)));
  }

  Status Begin(const std::string& source) {
    if (!runs_.empty() && !complete_) {
      return CutShort("another run begins")
          .WithHint("if every process printed a run of its own, build nccl-tests with MPI=1");
    }
    if (!runs_.empty()) failure_ = {};
    runs_.emplace_back().line = line_;
    run().source = source;
    complete_ = has_settings_ = has_bounds_ = in_table_ = false;
    columns_ = {};
    return Status::Ok();
  }

  Status Comment(std::string_view text) {
    const std::vector<std::string_view> words = WordsOf(text, kMaxColumns);
    if (text.starts_with("# nccl-tests version ")) return Version(text);
    if (text.starts_with("# nThread ")) return Settings(text);
    if (runs_.empty()) return Status::Ok();
    if (text.starts_with("# Collective test concluded:")) return Concluded(text);
    if (complete_) return Status::Ok();
    if (text.starts_with("# Collective test starting:")) {
      run().program = WordAfter(text, "starting:");
      return Status::Ok();
    }
    if (text.starts_with("# Blocking Enabled")) {
      run().blocking = text.find("no barrier") == std::string_view::npos ? "true" : "no_barrier";
    }
    if (words.size() > 2 && words[1] == "Rank" && IsDigits(words[2])) return Rank(text, words);
    if (words.size() > 2 && words[1] == "size" && words[2] == "count") return Header(words);
    if (text.starts_with("# Out of bounds values")) return OutOfBounds(text);
    if (text.starts_with("# Avg bus bandwidth")) return Average(text);
    return Status::Ok();
  }

  // "# Collective test concluded: all_reduce_perf", behind the summary.
  Status Concluded(std::string_view text) {
    const std::string program(WordAfter(text, "concluded:"));
    if (!complete_) return CutShort("the test concludes");
    if (run().program.empty()) run().program = program;
    if (run().program == program) return Status::Ok();
    return FaultAt(line_, "the test concludes as " + Quoted(program) + ", and the run began as " +
                              Quoted(run().program) + ": lines of two runs are mixed");
  }

  Status Version(std::string_view text) {
    const std::string version = VersionOf(WordAfter(text, "version "));
    constexpr int64_t kLeastMinor = 11;
    const std::string minor = version.substr(0, version.find('.', 2)).substr(version.find('.') + 1);
    if (!version.starts_with("2.") ||
        !IntegerOf(minor, line_, "the minor version", kLeastMinor).ok()) {
      return FaultAt(line_, "nccl-tests of version " + Quoted(WordAfter(text, "version ")) +
                                " is not known; expected 2." + std::to_string(kLeastMinor) +
                                " or later, before 3.0");
    }
    ASSAY_RETURN_IF_ERROR(Begin("nccl-tests " + version));
    if (const std::string_view code = WordAfter(text, "nccl-library="); !code.empty()) {
      ASSAY_ASSIGN_OR_RETURN(const int64_t number, IntegerOf(code, line_, "nccl-library",
                                                             kLeastVersionCode, kMostVersionCode));
      run().machines.nccl = NcclVersionText(number);
    }
    return Status::Ok();
  }

  // "# nThread 1 nGpus 8 minBytes ... warmup iters: 5 iters: 20 agg iters: 1 ... graph: 0".
  Status Settings(std::string_view text) {
    // Before 2.17 the output says nothing of versions.
    if (runs_.empty() || complete_ || has_settings_) ASSAY_RETURN_IF_ERROR(Begin("nccl-tests"));
    has_settings_ = true;
    settings_line_ = line_;
    ASSAY_ASSIGN_OR_RETURN(threads_, Small(text, "nThread", "nThread", 1));
    ASSAY_ASSIGN_OR_RETURN(gpus_, Small(text, "nGpus", "nGpus", 1));
    const size_t warmup = text.find("warmup iters:");
    if (warmup == std::string_view::npos) {
      return FaultAt(line_, "expected \"warmup iters:\" among the settings of nccl-tests");
    }
    const std::string_view rest = text.substr(warmup);
    ASSAY_ASSIGN_OR_RETURN(
        run().warmup_iterations,
        IntegerOf(WordAfter(rest, "warmup iters:"), line_, "the number of warm-up iterations"));
    ASSAY_ASSIGN_OR_RETURN(run().iterations, Small(rest.substr(13), " iters:", "iters", 1));
    ASSAY_ASSIGN_OR_RETURN(run().aggregate, Small(rest, "agg iters:", "agg iters", 1));
    ASSAY_ASSIGN_OR_RETURN(const int64_t checks, Small(rest, "validation:", "validation", 0));
    run().checked = checks > 0 || rest.find("validation:") == std::string_view::npos;
    ASSAY_ASSIGN_OR_RETURN(const int64_t graphs, Small(rest, "graph:", "graph", 0));
    run().graph = graphs > 0;
    ASSAY_ASSIGN_OR_RETURN(run().unalign, Small(rest, "unalign:", "unalign", 0));
    return Status::Ok();
  }

  // The number behind `key`, or `least` if there is no such key.
  Result<int64_t> Small(std::string_view text, std::string_view key, const std::string& what,
                        int64_t least) const {
    if (text.find(key) == std::string_view::npos) return least;
    ASSAY_ASSIGN_OR_RETURN(const int64_t number,
                           IntegerOf(WordAfter(text, key), line_, what, least));
    constexpr int64_t kMost = 30'000;  // The product of two fits 32 bits.
    if (number > kMost) {
      return FaultAt(line_, what + " is more than " + std::to_string(kMost));
    }
    return number;
  }

  // "#  Rank  0 Group  0 Pid  123 on HOST device  0 [0000:04:00] NVIDIA H100 80GB HBM3".
  Status Rank(std::string_view text, const std::vector<std::string_view>& words) {
    const auto on = std::find(words.begin(), words.end(), "on");
    const size_t bus = text.find("] ");
    if (on == words.end() || on + 1 == words.end() || bus == std::string_view::npos) {
      return FaultAt(line_, "expected \"# Rank 0 Group 0 Pid 1 on HOST device 0 [BUS] GPU\"");
    }
    if (words[3] == "Group" && words[4] != "0") {
      return FaultAt(line_,
                     "the ranks are split into groups (NCCL_TESTS_SPLIT); expected one group");
    }
    Machines& machines = run().machines;
    ASSAY_ASSIGN_OR_RETURN(const int64_t rank, IntegerOf(words[2], line_, "the rank"));
    if (rank >= kMaxRanks) {
      return FaultAt(line_, "rank " + std::to_string(rank) + " is beyond " +
                                std::to_string(kMaxRanks) + " ranks, the most that are read");
    }
    if (rank != machines.gpus) {
      return FaultAt(line_, "expected the line of rank " + std::to_string(machines.gpus) +
                                ", and this is of rank " + std::to_string(rank) +
                                ": a line is missing or stands twice");
    }
    const std::string_view name = Trimmed(text.substr(bus + 2));
    if (name.empty() || name.size() > kMaxGpuName || !IsPlainText(name)) {
      return FaultAt(line_, "expected the name of a GPU behind its bus");
    }
    machines.gpus += 1;
    machines.gpu_names.insert(std::string(name));
    machines.hosts.insert(std::string(*(on + 1)));
    return Status::Ok();
  }

  // "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw ...".
  Status Header(const std::vector<std::string_view>& words) {
    Columns columns;
    if (words.size() > kMaxColumns) {
      return FaultAt(line_, "the table has more than " + std::to_string(kMaxColumns) + " columns");
    }
    for (size_t i = 1; i < words.size(); ++i) {
      const size_t at = i - 1;  // Rows have no "#".
      const std::string_view word = words[i];
      if (word == "size") columns.size = at;
      if (word == "count") columns.count = at;
      if (word == "type") columns.type = at;
      if (word == "redop") columns.op = at;
      if (word == "root") columns.root = at;
      if (word == "time") columns.timings.emplace_back().time = at;
      if (word == "cputime") {
        return FaultAt(line_, "the times are the host's (-C 1); expected \"time\"");
      }
      if (word == "error") {
        return FaultAt(line_,
                       "nccl-tests before 2.11 says how far results are off (\"error\"), not "
                       "whether they are wrong (\"#wrong\"); it is not imported");
      }
      if (columns.timings.empty()) continue;
      if (word == "algbw") columns.timings.back().algorithm = at;
      if (word == "busbw") columns.timings.back().bus = at;
      if (word == "#wrong") columns.timings.back().wrong = at;
    }
    columns.timestamp = words.back() == "timestamp";
    columns.words = words.size() - 1 + (columns.timestamp ? 1 : 0);
    const bool full =
        columns.timings.size() == 2 && columns.type > 0 &&
        std::all_of(columns.timings.begin(), columns.timings.end(),
                    [](const Columns::Timing& timing) {
                      return timing.algorithm > 0 && timing.bus > 0 && timing.wrong > 0;
                    });
    if (!full) {
      return FaultAt(line_,
                     "expected the columns size, count, type, and twice time, algbw, busbw, "
                     "#wrong: out of place and in place");
    }
    ASSAY_RETURN_IF_ERROR(CheckRanks());
    columns_ = std::move(columns);
    in_table_ = true;
    return Status::Ok();
  }

  // Every process has as many ranks as the settings say.
  Status CheckRanks() {
    const int ranks = runs_.back().machines.gpus;
    if (ranks == 0) return FaultAt(line_, "the table begins before any \"# Rank\" line");
    if (!has_settings_) {
      return FaultAt(line_, "the table begins before the line of settings (\"# nThread ...\")");
    }
    runs_.back().ranks_a_process = threads_ * gpus_;
    if (ranks % (threads_ * gpus_) == 0) return Status::Ok();
    return FaultAt(line_,
                   "the \"# Rank\" line of rank " + std::to_string(ranks) + " is missing: " +
                       std::to_string(ranks) + (ranks == 1 ? " rank stands" : " ranks stand") +
                       " above the table, and nThread " + std::to_string(threads_) + " nGpus " +
                       std::to_string(gpus_) + " in line " + std::to_string(settings_line_) +
                       " make a multiple of " + std::to_string(threads_ * gpus_));
  }

  Status Row(std::string_view text) {
    // Anything else in the stream begins otherwise.
    if (!IsDigits(text.substr(0, text.find_first_of(" \t")))) return Status::Ok();
    std::vector<std::string_view> words = WordsOf(text, kMaxColumns);
    // Older gather and scatter print no reduction, not even "none"; the root follows.
    if (words.size() + 1 == columns_.words && columns_.op && *columns_.op < words.size() &&
        IsDigits(words[*columns_.op])) {
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(*columns_.op), "none");
    }
    if (words.size() != columns_.words) {
      return FaultAt(line_, "the row has " + std::to_string(words.size()) +
                                " words, and the header above wants " +
                                std::to_string(columns_.words));
    }
    NcclRow row;
    row.where = "line " + std::to_string(line_);
    ASSAY_ASSIGN_OR_RETURN(row.bytes, IntegerOf(words[columns_.size], line_, "size"));
    ASSAY_ASSIGN_OR_RETURN(row.count, IntegerOf(words[columns_.count], line_, "count"));
    row.type = words[columns_.type];
    if (columns_.op) row.op = words[*columns_.op];
    if (columns_.root) {
      ASSAY_ASSIGN_OR_RETURN(row.root, IntegerOf(words[*columns_.root], line_, "root", -1));
    }
    ASSAY_ASSIGN_OR_RETURN(row.out_of_place, TimingOf(words, columns_.timings[0]));
    ASSAY_ASSIGN_OR_RETURN(row.in_place, TimingOf(words, columns_.timings[1]));
    if (columns_.timestamp) {
      const std::string_view date = words[words.size() - 2];
      run().machines.AddClock(ClockSeconds(text.substr(text.rfind(date))));
    }
    if (run().rows.size() == kMaxResults) {
      return FaultAt(line_, "the run has more than " + std::to_string(kMaxResults) + " rows");
    }
    run().rows.push_back(std::move(row));
    return Status::Ok();
  }

  Result<NcclTiming> TimingOf(const std::vector<std::string_view>& words,
                              const Columns::Timing& columns) const {
    NcclTiming timing;
    ASSAY_ASSIGN_OR_RETURN(timing.microseconds, PrintedOf(words[columns.time], line_, "time"));
    ASSAY_ASSIGN_OR_RETURN(timing.algorithm_bandwidth,
                           PrintedOf(words[columns.algorithm], line_, "algbw"));
    ASSAY_ASSIGN_OR_RETURN(timing.bus_bandwidth, PrintedOf(words[columns.bus], line_, "busbw"));
    if (words[columns.wrong] != "N/A") {
      ASSAY_ASSIGN_OR_RETURN(timing.wrong, NumberOf(words[columns.wrong], line_, "#wrong"));
    }
    return timing;
  }

  // "# Out of bounds values : 0 OK".
  Status OutOfBounds(std::string_view text) {
    if (!in_table_) return FaultAt(line_, "the run's summary stands before its table");
    ASSAY_ASSIGN_OR_RETURN(run().out_of_bounds, IntegerOf(WordAfter(text, ":"), line_,
                                                          "the number of values out of bounds"));
    has_bounds_ = true;
    return Status::Ok();
  }

  // "# Avg bus bandwidth    : 220.921".
  Status Average(std::string_view text) {
    if (!in_table_ || !has_bounds_) {
      return FaultAt(line_, "expected the table and \"# Out of bounds values\" before this line");
    }
    ASSAY_ASSIGN_OR_RETURN(run().average_bus_bandwidth,
                           NumberOf(WordAfter(text, ":"), line_, "the average bus bandwidth"));
    ASSAY_RETURN_IF_ERROR(CheckSummary(run()));
    complete_ = true;
    in_table_ = false;
    return Status::Ok();
  }

  size_t line_ = 0;
  std::vector<NcclRun> runs_;
  // Of the latest run.
  bool complete_ = false;
  std::string_view failure_;  // What ended it, in the program's words.
  bool has_settings_ = false;
  size_t settings_line_ = 0;
  int64_t threads_ = 1;  // Of a process, as below.
  int64_t gpus_ = 1;     // Of a thread.
  bool has_bounds_ = false;
  bool in_table_ = false;
  Columns columns_;
};

}  // namespace

Result<std::vector<NcclRun>> ReadNcclText(std::string_view text) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string_view> lines, LinesOf(text));
  return TextReader().Read(lines);
}

}  // namespace assay::imports
