// The text of nccl-tests (src/util.cu and src/common.cu of 2.17 and 2.18): comments that begin with
// "#", a table whose header names its columns, and a summary. Other lines, such as NCCL's log, are
// skipped.
#include <algorithm>
#include <map>

#include "cli/imports/nccl_run.h"
#include "common/text.h"

namespace assay::imports {
namespace {

// The word after `key` in `line`; empty if there is none.
std::string_view WordAfter(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const std::vector<std::string_view> words = WordsOf(line.substr(at + key.size()));
  return words.empty() ? std::string_view() : words.front();
}

class TextReader {
 public:
  Result<std::vector<NcclRun>> Read(const std::vector<std::string_view>& lines) {
    for (size_t i = 0; i < lines.size() && status_.ok(); ++i) {
      where_ = "line " + std::to_string(i + 1);
      const std::vector<std::string_view> words = WordsOf(lines[i]);
      if (words.empty()) continue;
      if (words[0] == "#") {
        Comment(lines[i], words);
      } else if (in_table_) {
        Row(lines[i], words);
      }
    }
    if (status_.ok() && !runs_.empty() && !complete_) CutShort();
    if (status_.ok() && runs_.empty()) {
      Fail("expected a line \"# nccl-tests version ...\", which nccl-tests prints since 2.17");
    }
    if (!status_.ok()) return status_;
    return std::move(runs_);
  }

 private:
  NcclRun& run() { return runs_.back(); }

  void Fail(const std::string& what) {
    if (status_.ok()) status_ = BadFile(where_, what);
  }

  void CutShort() {
    Fail("the run that begins in " + run().where + " has no summary (\"# Avg bus bandwidth\"): " +
         (failure_.empty() ? "the output was cut short" : "it ended with " + Quote(failure_)));
  }

  void Comment(std::string_view line, const std::vector<std::string_view>& words) {
    const auto begins = [&](std::initializer_list<std::string_view> names) {
      return words.size() > names.size() + 1 &&
             std::equal(names.begin(), names.end(), words.begin() + 1);
    };
    if (begins({"nccl-tests", "version"})) return Begin(line, words[3]);
    if (runs_.empty() || complete_) return;
    if (begins({"Collective", "test", "starting:"})) run().program = words[4];
    if (begins({"nThread"})) return Settings(line);
    if (begins({"Rank"})) return Rank(line, words);
    if (begins({"Blocking", "Enabled"}) || begins({"Blocking", "Enabled:"})) {
      run().blocking = line.find("no barrier") == std::string_view::npos ? "true" : "no_barrier";
    }
    if (begins({"size", "count"})) return Header(words);
    if (begins({"Out", "of", "bounds", "values"})) {
      run().out_of_bounds = Integer(WordAfter(line, ":"), "the number of wrong values");
    }
    if (begins({"Avg", "bus", "bandwidth"})) {
      run().average_bus_bandwidth = Number(WordAfter(line, ":"), "the average bandwidth").value;
      complete_ = true;
      in_table_ = false;
    }
  }

  // "# nccl-tests version 2.17.6 nccl-headers=22606 nccl-library=22606".
  void Begin(std::string_view line, std::string_view version) {
    if (!runs_.empty() && !complete_) return CutShort();
    if (VersionOf(version).empty() || !version.starts_with("2.")) {
      return Fail("unknown version " + Quote(version) + " of nccl-tests; expected 2.x");
    }
    runs_.emplace_back().where = where_;
    run().source = "nccl-tests " + VersionOf(version);
    complete_ = in_table_ = false;
    failure_ = {};
    ranks_per_process_ = 0;
    const std::string_view nccl = WordAfter(line, "nccl-library=");
    if (nccl.empty()) return;
    run().machines.nccl =
        NcclVersionText(Integer(nccl, "nccl-library", kLeastVersionCode, kMostVersionCode));
  }

  // "# nThread 1 nGpus 8 minBytes ... warmup iters: 5 iters: 20 agg iters: 1 ... graph: 0".
  void Settings(std::string_view line) {
    const size_t warmup = line.find("warmup iters:");
    if (warmup == std::string_view::npos) return Fail("expected \"warmup iters:\"");
    const auto setting = [&](std::string_view text, const std::string& key, int64_t least) {
      const std::string_view word = WordAfter(text, key);
      return word.empty() ? least : Integer(word, key, least, kMaxIterations);
    };
    ranks_per_process_ = setting(line, "nThread", 1) * setting(line, "nGpus", 1);
    const std::string_view rest = line.substr(warmup);
    run().warmup_iterations = setting(rest, "warmup iters:", 0);
    run().iterations = setting(rest.substr(rest.find(':')), " iters:", 1);
    run().aggregate = setting(rest, "agg iters:", 1);
    run().graph = setting(rest, "graph:", 0) > 0;
    run().unalign = setting(rest, "unalign:", 0);
  }

  // "#  Rank  0 Group  0 Pid  123 on HOST device  0 [0000:04:00] NVIDIA H100 80GB HBM3".
  void Rank(std::string_view line, const std::vector<std::string_view>& words) {
    Machines& machines = run().machines;
    const size_t bus = line.find("] ");
    if (words.size() < 9 || words[7] != "on" || bus == std::string_view::npos) {
      return Fail("expected \"# Rank 0 Group 0 Pid 1 on HOST device 0 [BUS] GPU\"");
    }
    if (words[4] != "0") return Fail("ranks split into groups are not supported");
    const std::string expected = std::to_string(machines.gpus);
    if (words[2] != expected || machines.gpus >= kMaxRanks) {
      return Fail("expected rank " + expected + ", found rank " + std::string(words[2]));
    }
    machines.gpus += 1;
    machines.gpu_names.insert(std::string(line.substr(bus + 2)));
    machines.hosts.insert(std::string(words[8]));
  }

  // "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw ...".
  void Header(const std::vector<std::string_view>& words) {
    columns_.clear();
    for (size_t i = 1; i < words.size(); ++i) columns_[words[i]].push_back(i - 1);
    // A timestamp is a date and a time.
    row_words_ = words.size() - 1 + columns_.count("timestamp");
    for (const auto& [name, count] : {std::pair<std::string_view, size_t>{"size", 1},
                                      {"count", 1},
                                      {"type", 1},
                                      {"redop", 1},
                                      {"root", 1},
                                      {"time", 2},
                                      {"algbw", 2},
                                      {"busbw", 2},
                                      {"#wrong", 2}}) {
      if (columns_[name].size() != count) {
        return Fail("expected " + std::string(count == 1 ? "one column " : "two columns ") +
                    Quote(name));
      }
    }
    const int64_t ranks = run().machines.gpus;
    if (ranks_per_process_ == 0 || ranks == 0 || ranks % ranks_per_process_ != 0) {
      return Fail("a \"# nThread\" or \"# Rank\" line is missing above: found " +
                  std::to_string(ranks) + " ranks, expected a multiple of nThread times nGpus, " +
                  std::to_string(ranks_per_process_));
    }
    in_table_ = true;
  }

  void Row(std::string_view line, std::vector<std::string_view> words) {
    if (const size_t at = line.find(" failure "); at != std::string_view::npos) {
      // "HOST: Test NCCL failure common.cu:44 'unhandled cuda error'"; the host is not shown.
      const size_t begin = line.rfind("Test ", at);
      if (begin != std::string_view::npos && failure_.empty()) failure_ = line.substr(begin);
      return;
    }
    if (words[0].find_first_not_of("0123456789") != std::string_view::npos) return;
    const size_t op = columns_["redop"][0];
    // gather_perf and scatter_perf leave the reduction blank.
    if (words.size() + 1 == row_words_ && op < words.size() && ParseInteger(words[op], -1)) {
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(op), "none");
    }
    if (words.size() != row_words_) {
      return Fail("expected a row of " + std::to_string(row_words_) + " words, found " +
                  std::to_string(words.size()));
    }
    if (run().rows.size() == kMaxResults) return Fail("more than 10000 rows");
    NcclRow& row = run().rows.emplace_back();
    row.where = where_;
    row.bytes = Integer(words[columns_["size"][0]], "size");
    row.count = Integer(words[columns_["count"][0]], "count");
    row.type = words[columns_["type"][0]];
    row.op = words[op];
    row.root = Integer(words[columns_["root"][0]], "root", -1);
    row.out_of_place = TimingOf(words, 0);
    row.in_place = TimingOf(words, 1);
  }

  NcclTiming TimingOf(const std::vector<std::string_view>& words, size_t place) {
    NcclTiming timing;
    timing.microseconds = Number(words[columns_["time"][place]], "time");
    timing.algorithm_bandwidth = Number(words[columns_["algbw"][place]], "algbw");
    timing.bus_bandwidth = Number(words[columns_["busbw"][place]], "busbw");
    const std::string_view wrong = words[columns_["#wrong"][place]];
    if (wrong != "N/A") timing.wrong = Number(wrong, "#wrong").value;
    return timing;
  }

  Printed Number(std::string_view word, const std::string& what) {
    const std::optional<Printed> number = ParseNumber(word);
    if (!number) Fail(what + " is " + Quote(word) + "; expected a number from 0 to 1e15");
    return number.value_or(Printed());
  }

  int64_t Integer(std::string_view word, const std::string& what, int64_t least = 0,
                  int64_t most = kMaxInteger) {
    const std::optional<int64_t> number = ParseInteger(word, least, most);
    if (!number) Fail(what + " is " + Quote(word) + "; expected a whole number in range");
    return number.value_or(least);
  }

  Status status_;  // The first error.
  std::string where_;
  std::vector<NcclRun> runs_;
  // About the latest run.
  bool complete_ = false;
  bool in_table_ = false;
  std::string_view failure_;  // The program's message if it failed.
  int64_t ranks_per_process_ = 0;
  std::map<std::string_view, std::vector<size_t>> columns_;  // Positions by name.
  size_t row_words_ = 0;
};

}  // namespace

Result<std::vector<NcclRun>> ReadNcclText(std::string_view text) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string_view> lines, LinesOf(text));
  return TextReader().Read(lines);
}

}  // namespace assay::imports
