// The text of nvbandwidth (output.cpp and inline_common.h of 0.2 to 0.10): what it runs on,
// then for each test "Running NAME.", what the matrix is of, the matrix and its sum.
#include <algorithm>

#include "cli/imports/checked_text.h"
#include "cli/imports/launcher.h"
#include "cli/imports/nvbandwidth_devices.h"
#include "cli/imports/nvbandwidth_run.h"

namespace assay::imports {
namespace {

class TextReader {
 public:
  Result<NvbandwidthRun> Read(const std::vector<std::string_view>& lines) {
    for (size_t i = 0; i < lines.size(); ++i) {
      line_ = i + 1;
      const std::string_view text = Trimmed(lines[i]);
      ASSAY_RETURN_IF_ERROR(CheckDescribed(text));
      ASSAY_RETURN_IF_ERROR(state_ == State::kHead   ? Head(text)
                            : state_ == State::kRows ? Row(text)
                                                     : Line(text));
    }
    if (run_.source.empty()) {
      return NotRecognized(lines,
                           "expected the output of nvbandwidth, which begins with \"nvbandwidth "
                           "Version: v0.5\"; no line does");
    }
    ASSAY_RETURN_IF_ERROR(CheckEnded("the file ends with " + Quoted(above_)));
    return std::move(run_);
  }

 private:
  enum class State {
    kBetween,  // Tests, or matrices of one test.
    kHead,     // The line with the columns' numbers comes next.
    kRows,
  };

  Status Line(std::string_view text) {
    const size_t colon = std::min(text.find(": "), text.size());
    const std::string_view key = text.substr(0, colon);
    const std::string_view value = text.substr(std::min(colon + 2, text.size()));
    if (key == "nvbandwidth Version") return Version(value);
    if (text.starts_with("\"nvbandwidth\"")) {
      return FaultAt(line_, "the JSON of another run begins; import it as a file of its own");
    }
    if (run_.source.empty()) return Status::Ok();
    if (key == "CUDA Runtime Version") {
      ASSAY_ASSIGN_OR_RETURN(run_.machines.cuda, CudaOf(value, "line " + std::to_string(line_)));
    }
    if (key == "Driver Version") run_.machines.driver = VersionOf(Trimmed(value));
    if (test_.empty() && (text.starts_with("Device ") || text.starts_with("Process "))) {
      const std::optional<ListedDevice> device = DeviceOf(text);
      return device ? AddDevice(*device, "line " + std::to_string(line_), &run_) : Status::Ok();
    }
    if (text.starts_with("Running ")) return Begin(text);
    if (test_.empty()) return Status::Ok();
    if (text.starts_with("Waived:")) return End(&run_.waived);
    if (text.starts_with("ERROR") || text.starts_with("Error")) return End(&run_.failed);
    if (const std::optional<bool> latency = IsLatency(text); latency) {
      matrix_ = {};
      matrix_.where = "line " + std::to_string(line_);
      matrix_.latency = *latency;
      state_ = State::kHead;
    }
    return Status::Ok();
  }

  // Between descriptions and matrices the stream may have anything, but no matrix.
  Status CheckDescribed(std::string_view text) {
    if (text.empty()) return Status::Ok();
    const bool matrix = state_ == State::kBetween && !test_.empty() && !ended_ && IsHead(text);
    if (matrix) {
      return FaultAt(above_line_, "a matrix of test " + Quoted(test_) + " follows, and this is " +
                                      Quoted(above_) +
                                      "; expected its description, which ends with (GB/s) or (ns)");
    }
    above_ = text;
    above_line_ = line_;
    return Status::Ok();
  }

  // "0  1  2": the numbers of a matrix's columns.
  static bool IsHead(std::string_view text) {
    const std::vector<std::string_view> words = WordsOf(text, kMaxMatrixColumns);
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] != std::to_string(i)) return false;
    }
    return true;
  }

  Status Version(std::string_view value) {
    if (!run_.source.empty()) {
      return FaultAt(line_, "another run begins; import each as a file of its own");
    }
    Result<std::string> source = NvbandwidthSource(Trimmed(value));
    if (!source.ok()) return FaultAt(line_, source.status().message());
    run_.source = *std::move(source);
    return Status::Ok();
  }

  // What the test before has to have given.
  Status CheckEnded(const std::string& here) const {
    if (state_ != State::kBetween || (!test_.empty() && !ended_)) {
      return FaultAt(line_, here + " before test " + Quoted(test_) +
                                " has its matrix and its sum: the output was cut short");
    }
    return Status::Ok();
  }

  // "Running host_to_device_memcpy_ce."
  Status Begin(std::string_view text) {
    ASSAY_RETURN_IF_ERROR(CheckEnded("another test begins"));
    const std::string_view name = text.substr(8, text.size() - std::min<size_t>(text.size(), 9));
    if (!text.ends_with('.') || !IsTestName(name)) {
      return FaultAt(line_, "expected \"Running TEST.\"");
    }
    test_ = name;
    ended_ = false;
    ways_.clear();
    return Status::Ok();
  }

  Status End(std::vector<std::string>* names) {
    // Of a test that has printed its matrix already, the line tells nothing.
    if (!ended_ && !ways_.empty()) return CheckEnded("the test ends");
    if (!ended_) names->push_back(test_);
    ended_ = true;
    return Status::Ok();
  }

  // "           0         1".
  Status Head(std::string_view text) {
    const std::vector<std::string_view> words = WordsOf(text, kMaxMatrixColumns);
    if (words.empty() || words.size() > kMaxMatrixColumns) {
      return FaultAt(
          line_, "expected the numbers of 1 to " + std::to_string(kMaxMatrixColumns) + " columns");
    }
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] == std::to_string(i)) continue;
      return FaultAt(line_, "column " + std::to_string(i) + " is called " + Quoted(words[i]) +
                                "; expected its number");
    }
    matrix_.columns = words.size();
    state_ = State::kRows;
    return Status::Ok();
  }

  // " 0     55.59     55.60", and at last "SUM host_to_device_memcpy_ce 389.15".
  Status Row(std::string_view text) {
    if (text.empty()) return Status::Ok();
    if (text.starts_with("SUM ")) return Sum(text);
    const std::vector<std::string_view> words = RowWords(text);
    const size_t row = matrix_.cells.size() / matrix_.columns;
    const size_t most =
        matrix_.columns == 1 ? kMaxMatrixColumns : std::max<size_t>(matrix_.columns, 8);
    if (words[0] != std::to_string(row) || row >= most) {
      return FaultAt(line_,
                     "expected row " + std::to_string(row) + " of the matrix, or its \"SUM\"");
    }
    if (words.size() != matrix_.columns + 1) {
      return FaultAt(line_, "the row has " + std::to_string(words.size() - 1) +
                                " numbers, and the matrix " + std::to_string(matrix_.columns) +
                                " columns");
    }
    for (size_t i = 1; i < words.size(); ++i) {
      std::optional<double>& cell = matrix_.cells.emplace_back();
      if (words[i] == "N/A") continue;
      ASSAY_ASSIGN_OR_RETURN(cell, NumberOf(words[i], line_, "column " + std::to_string(i - 1)));
    }
    return Status::Ok();
  }

  // The row's number and its cells. A bisection's rows are called by both ends, "0->4", which
  // may be padded.
  static std::vector<std::string_view> RowWords(std::string_view text) {
    const size_t arrow = text.find("->");
    if (arrow == std::string_view::npos) return WordsOf(text, kMaxMatrixColumns + 1);
    std::vector<std::string_view> words = WordsOf(text.substr(arrow + 2), kMaxMatrixColumns + 1);
    if (words.empty()) words.emplace_back();
    words.front() = Trimmed(text.substr(0, arrow));
    return words;
  }

  // "SUM TEST 389.15"; of both ways, "SUM TEST_read1 389.15", "_read2" and "_total".
  Status Sum(std::string_view text) {
    const std::vector<std::string_view> words = WordsOf(text, 3);
    if (words.size() != 3 || !words[1].starts_with(test_)) {
      return FaultAt(line_, "expected \"SUM " + test_ + " NUMBER\"");
    }
    ASSAY_ASSIGN_OR_RETURN(matrix_.sum, NumberOf(words[2], line_, "the sum"));
    matrix_.test = test_;
    if (matrix_.cells.empty()) return FaultAt(line_, "the matrix has no rows");
    if (!AddsUp(matrix_, Rounding::kTwoDecimals)) {
      return FaultAt(line_, "the matrix does not add up to the sum " + Quoted(words[2]) +
                                ": rows are missing or were changed");
    }
    state_ = State::kBetween;
    return Finish(words[1].substr(test_.size()));
  }

  // The matrix, of which part of the test `part` says: "", "_read1", "_write2", "_total".
  Status Finish(std::string_view part) {
    const bool last = part.empty() || part == "_total";
    const std::string number = std::to_string(ways_.size() + 1);
    const bool next =
        last ? ways_.size() == (part.empty() ? 0 : 2)
             : ways_.size() < 2 && (part == "_read" + number || part == "_write" + number);
    if (!next || ended_) {
      return FaultAt(line_, "expected one matrix of test " + Quoted(test_) +
                                ", or those of read1 or write1, read2 or write2, and the total");
    }
    if (!last) {
      ways_.push_back(std::move(matrix_.cells));
      return Status::Ok();
    }
    ended_ = true;
    if (!ways_.empty()) {
      ASSAY_ASSIGN_OR_RETURN(matrix_, WithWays(std::move(matrix_), std::move(ways_[0]),
                                               std::move(ways_[1]), Rounding::kTwoDecimals));
    }
    run_.matrices.push_back(std::move(matrix_));
    return Status::Ok();
  }

  size_t line_ = 0;
  std::string_view above_;  // The latest line that is not blank, and its number.
  size_t above_line_ = 0;
  NvbandwidthRun run_;
  State state_ = State::kBetween;
  std::string test_;  // The latest; empty before the first.
  bool ended_ = false;
  NvbandwidthMatrix matrix_;
  std::vector<NvbandwidthMatrix::Cells> ways_;  // Of the test, before its total.
};

}  // namespace

Result<NvbandwidthRun> ReadNvbandwidthText(std::string_view text) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string_view> lines, LinesOf(text));
  return TextReader().Read(lines);
}

}  // namespace assay::imports
