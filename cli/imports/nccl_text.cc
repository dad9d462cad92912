// Parses the text output of nccl-tests (see src/util.cu and src/common.cu of versions 2.17 and
// 2.18). The output consists of comments that begin with "#", a table and a summary. Other lines,
// such as log messages from NCCL, are skipped.
#include <algorithm>

#include "cli/imports/nccl_run.h"
#include "common/text.h"

namespace assay::imports {
namespace {

constexpr std::string_view kColumns =
    "size count type redop root time algbw busbw #wrong time algbw busbw #wrong";
constexpr size_t kColumnCount = 13;

// Returns the word after `key` in `line`; empty if there is none.
std::string_view WordAfter(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const std::vector<std::string_view> words = WordsOf(line.substr(at + key.size()));
  return words.empty() ? std::string_view() : words.front();
}

class TextReader {
 public:
  Result<NcclRun> Read(const std::vector<std::string_view>& lines) {
    for (size_t i = 0; i < lines.size() && status_.ok(); ++i) {
      where_ = "line " + std::to_string(i + 1);
      const std::vector<std::string_view> words = WordsOf(lines[i]);
      if (words.empty()) continue;
      if (words[0] == "#") {
        ReadComment(lines[i], words);
      } else if (in_table_) {
        ReadRow(words);
      }
    }
    if (run_.source.empty()) {
      Fail("expected a line \"# nccl-tests version ...\", which nccl-tests prints since 2.17");
    }
    if (!complete_) {
      Fail(
          "the output ends here, without the summary (\"# Avg bus bandwidth\"); it was cut short "
          "or the run failed");
    }
    if (!status_.ok()) return status_;
    return std::move(run_);
  }

 private:
  void Fail(const std::string& what) {
    if (status_.ok()) status_ = BadFile(where_, what);
  }

  void ReadComment(std::string_view line, const std::vector<std::string_view>& words) {
    const auto begins = [&](std::initializer_list<std::string_view> names) {
      return words.size() > names.size() + 1 &&
             std::equal(names.begin(), names.end(), words.begin() + 1);
    };
    if (begins({"nccl-tests", "version"})) return ReadVersion(line, words[3]);
    if (begins({"Collective", "test", "starting:"})) run_.program = words[4];
    if (begins({"nThread"})) return ReadSettings(line);
    if (begins({"Rank"})) return ReadRank(line, words);
    if (begins({"Blocking", "Enabled"}) || begins({"Blocking", "Enabled:"})) {
      run_.blocking = line.find("no barrier") == std::string_view::npos ? "true" : "no_barrier";
    }
    if (begins({"size", "count"})) return ReadHeader(words);
    if (begins({"Out", "of", "bounds", "values"})) {
      run_.out_of_bounds = Integer(WordAfter(line, ":"), "the number of wrong values");
    }
    if (begins({"Avg", "bus", "bandwidth"})) {
      run_.average_bus_bandwidth = Number(WordAfter(line, ":"), "the average bandwidth");
      complete_ = true;
      in_table_ = false;
    }
  }

  // "# nccl-tests version 2.17.6 nccl-headers=22606 nccl-library=22606".
  void ReadVersion(std::string_view line, std::string_view version) {
    if (!run_.source.empty()) {
      return Fail("a second run begins here; import each run as a file of its own");
    }
    if (VersionOf(version).empty() || !version.starts_with("2.")) {
      return Fail("unknown version " + Quote(version) + " of nccl-tests; expected 2.x");
    }
    run_.source = "nccl-tests " + VersionOf(version);
    const std::string_view nccl = WordAfter(line, "nccl-library=");
    if (nccl.empty()) return;
    run_.machines.nccl =
        NcclVersionText(Integer(nccl, "nccl-library", kLeastVersionCode, kMostVersionCode));
  }

  // "# nThread 1 nGpus 8 minBytes ... warmup iters: 5 iters: 20 agg iters: 1 ... graph: 0".
  void ReadSettings(std::string_view line) {
    const size_t warmup = line.find("warmup iters:");
    if (warmup == std::string_view::npos) return Fail("expected \"warmup iters:\"");
    const auto setting = [&](std::string_view text, const std::string& key, int64_t least) {
      const std::string_view word = WordAfter(text, key);
      return word.empty() ? least : Integer(word, key, least, kMaxIterations);
    };
    ranks_per_process_ = setting(line, "nThread", 1) * setting(line, "nGpus", 1);
    const std::string_view rest = line.substr(warmup);
    run_.warmup_iterations = setting(rest, "warmup iters:", 0);
    run_.iterations = setting(rest.substr(rest.find(':')), " iters:", 1);
    run_.aggregate = setting(rest, "agg iters:", 1);
    run_.graph = setting(rest, "graph:", 0) > 0;
    run_.unalign = setting(rest, "unalign:", 0);
  }

  // "#  Rank  0 Group  0 Pid  123 on HOST device  0 [0000:04:00] NVIDIA H100 80GB HBM3".
  void ReadRank(std::string_view line, const std::vector<std::string_view>& words) {
    Machines& machines = run_.machines;
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

  void ReadHeader(const std::vector<std::string_view>& words) {
    if (Join(std::vector<std::string_view>(words.begin() + 1, words.end()), " ") != kColumns) {
      return Fail("expected the columns " + std::string(kColumns));
    }
    const int64_t ranks = run_.machines.gpus;
    if (ranks_per_process_ == 0 || ranks == 0 || ranks % ranks_per_process_ != 0) {
      return Fail("a \"# nThread\" or \"# Rank\" line is missing above: found " +
                  std::to_string(ranks) + " ranks, expected a multiple of nThread times nGpus, " +
                  std::to_string(ranks_per_process_));
    }
    in_table_ = true;
  }

  void ReadRow(std::vector<std::string_view> words) {
    constexpr size_t kOp = 3;
    if (words[0].find_first_not_of("0123456789") != std::string_view::npos) return;
    // gather_perf and scatter_perf leave the reduction blank, so that the root follows the type.
    if (words.size() + 1 == kColumnCount && ParseInteger(words[kOp], -1)) {
      words.insert(words.begin() + kOp, "none");
    }
    if (words.size() != kColumnCount) {
      return Fail("expected a row of " + std::to_string(kColumnCount) + " words, found " +
                  std::to_string(words.size()));
    }
    if (run_.rows.size() == kMaxResults) return Fail("more than 10000 rows");
    NcclRow& row = run_.rows.emplace_back();
    row.where = where_;
    row.bytes = Integer(words[0], "size");
    row.count = Integer(words[1], "count");
    row.type = words[2];
    row.op = words[kOp];
    row.root = Integer(words[4], "root", -1);
    row.out_of_place = TimingOf(&words[5]);
    row.in_place = TimingOf(&words[9]);
  }

  // Reads "time algbw busbw #wrong".
  NcclTiming TimingOf(const std::string_view* words) {
    NcclTiming timing;
    timing.microseconds = Number(words[0], "time");
    timing.algorithm_bandwidth = Number(words[1], "algbw");
    timing.bus_bandwidth = Number(words[2], "busbw");
    if (words[3] != "N/A") timing.wrong = Number(words[3], "#wrong");
    return timing;
  }

  double Number(std::string_view word, const std::string& what) {
    const std::optional<double> number = ParseNumber(word);
    if (!number) Fail(what + " is " + Quote(word) + "; expected a number from 0 to 1e15");
    return number.value_or(0);
  }

  int64_t Integer(std::string_view word, const std::string& what, int64_t least = 0,
                  int64_t most = kMaxInteger) {
    const std::optional<int64_t> number = ParseInteger(word, least, most);
    if (!number) Fail(what + " is " + Quote(word) + "; expected a whole number in range");
    return number.value_or(least);
  }

  Status status_;  // The first error.
  std::string where_;
  NcclRun run_;
  int64_t ranks_per_process_ = 0;
  bool in_table_ = false;
  bool complete_ = false;
};

}  // namespace

Result<NcclRun> ReadNcclText(std::string_view text) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string_view> lines, LinesOf(text));
  return TextReader().Read(lines);
}

}  // namespace assay::imports
