#include <algorithm>
#include <cmath>
#include <utility>

#include "common/list_text.h"
#include "cli/imports/checked_text.h"
#include "cli/imports/imports.h"
#include "cli/imports/launcher.h"
#include "cli/imports/nvbandwidth_devices.h"
#include "cli/imports/nvbandwidth_run.h"
#include "cli/imports/nvbandwidth_tests.h"

namespace assay::imports {
namespace {

// Of the way from a cell of nvbandwidth to a result: raised when it changes.
constexpr int kVersion = 2;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "copy" (engines), "sm" or "tma": who copies.
std::string EngineOf(std::string_view test) {
  return test.ends_with("_ce") ? "copy" : test.ends_with("_sm") ? "sm" : "tma";
}

// The way that a test with the host times, as host_transfer calls it. Of both ways it times
// one, with the other busy.
std::string HostWay(std::string_view test) { return test.starts_with("host_to_") ? "h2d" : "d2h"; }

void AddHostParameters(const NvbandwidthMatrix& matrix, size_t row, size_t column,
                       v1::CaseResult* result) {
  auto& parameters = *result->mutable_parameters();
  parameters["gpu"] = std::to_string(column);
  if (matrix.cells.size() > matrix.columns) parameters["cpu"] = std::to_string(row);
  if (matrix.latency) return;
  parameters["memory"] = "pinned";
  parameters["direction"] =
      Contains(matrix.test, "bidirectional") ? "bidirectional" : HostWay(matrix.test);
}

// Whether the test's copy, of two the first, goes to the GPU of the row. Read tests copy to
// it, and so does a load for its latency; write tests copy from it. But tests of both ways that
// tell them apart hand over the buffers of the read test for the write test, too, within a node
// (DeviceToDeviceBidirWriteCE and ...SM in testcases_ce.cpp and testcases_sm.cpp), and not
// between nodes (multinode_testcases.cpp). The arrows in nvbandwidth's tables point both ways.
bool FirstGoesToRow(const NvbandwidthMatrix& matrix) {
  if (matrix.latency || Contains(matrix.test, "read")) return true;
  return !matrix.first.empty() && !matrix.test.starts_with("multinode");
}

// `from` and `to` as of Assay's own peer_transfer: of both ways, the first.
Status AddPeerParameters(const NvbandwidthMatrix& matrix, size_t row, size_t column,
                         v1::CaseResult* result) {
  auto& parameters = *result->mutable_parameters();
  const size_t rows = matrix.cells.size() / matrix.columns;
  if (rows == 1 && matrix.columns == 1) {
    // Of all GPUs at once: nothing tells them apart.
  } else if (rows == 1) {
    parameters["gpu"] = std::to_string(column);
  } else if (matrix.columns == 1 && Contains(matrix.test, "bisect")) {
    parameters["gpu"] = std::to_string(row);
  } else if (rows == matrix.columns) {
    const bool to_row = FirstGoesToRow(matrix);
    parameters["from"] = std::to_string(to_row ? column : row);
    parameters["to"] = std::to_string(to_row ? row : column);
  } else {
    return FaultAt(matrix.where, "the matrix of test " + Quoted(matrix.test) + " has " +
                                     std::to_string(rows) + " rows and " +
                                     std::to_string(matrix.columns) +
                                     " columns; expected as many, or one row");
  }
  if (matrix.latency) return Status::Ok();
  parameters["mode"] = Contains(matrix.test, "read") ? "read" : "write";
  parameters["direction"] = IsBidirectional(matrix.test) ? "bidirectional" : "unidirectional";
  return Status::Ok();
}

// Called as peer_transfer and host_transfer call them.
void AddNumbers(const NvbandwidthMatrix& matrix, size_t cell, v1::CaseResult* result) {
  const double value = *matrix.cells[cell];
  if (matrix.latency) {
    AddMeasurement("latency", "us", v1::DIRECTION_LOWER_IS_BETTER, value / 1000, "events", 1,
                   result);
    return;
  }
  const auto add = [&](const std::string& metric, double number) {
    AddMeasurement(metric, "GB/s", v1::DIRECTION_HIGHER_IS_BETTER, number, "events", 1, result);
  };
  if (KindOf(matrix.test) == NvbandwidthKind::kHost) {
    const bool both = Contains(matrix.test, "bidirectional");
    add(both ? HostWay(matrix.test) + "_bandwidth" : "bandwidth", value);
    return;
  }
  // Before both ways were told apart, copy engines were timed one way, with the other busy,
  // and kernels both ways together (the descriptions in testcase.h).
  const bool one_way =
      IsBidirectional(matrix.test) && matrix.first.empty() && matrix.test.ends_with("_ce");
  add(one_way ? "forward_bandwidth" : "bandwidth", value);
  if (matrix.first.empty()) return;
  add("forward_bandwidth", *matrix.first[cell]);
  add("backward_bandwidth", *matrix.second[cell]);
}

Result<v1::CaseResult> ResultOf(const NvbandwidthMatrix& matrix, size_t cell) {
  const size_t row = cell / matrix.columns;
  const size_t column = cell % matrix.columns;
  v1::CaseResult result;
  const bool host = KindOf(matrix.test) == NvbandwidthKind::kHost;
  result.set_benchmark(host ? "host_transfer" : "peer_transfer");
  result.set_benchmark_version(kVersion);
  result.set_outcome(v1::CASE_OUTCOME_OK);
  (*result.mutable_parameters())["engine"] = EngineOf(matrix.test);
  (*result.mutable_parameters())["test"] = matrix.test;
  (*result.mutable_parameters())["policy"] = "nvbandwidth";
  if (host) {
    AddHostParameters(matrix, row, column, &result);
  } else {
    ASSAY_RETURN_IF_ERROR(AddPeerParameters(matrix, row, column, &result));
  }
  // What it checks of its copies, its output does not say.
  result.mutable_conditions()->add_flags("unverified");
  AddNumbers(matrix, cell, &result);
  return result;
}

// The most that printing has changed it.
double RoundingError(double number, Rounding rounding) {
  return rounding == Rounding::kTwoDecimals ? 0.0051 : 1e-5 * number;
}

// Nothing was moved, or it is printed with no digit left.
bool IsZero(const NvbandwidthMatrix& matrix, size_t cell) {
  return *matrix.cells[cell] == 0 ||
         (!matrix.first.empty() && (*matrix.first[cell] == 0 || *matrix.second[cell] == 0));
}

Status UnknownTest(const NvbandwidthMatrix& matrix) {
  const std::string closest = ClosestTest(matrix.test);
  return FaultAt(matrix.where, "test " + Quoted(matrix.test) + " is not known" +
                                   (closest.empty() ? "" : "; the nearest is " + closest));
}

void AddNote(const std::string& what, const std::vector<std::string>& names, Imported* imported) {
  constexpr size_t kMost = 10;
  if (!names.empty()) imported->notes.push_back(what + ": " + JoinSome(names, kMost));
}

}  // namespace

Result<std::string> NvbandwidthSource(std::string_view version) {
  const std::string text = VersionOf(version);
  if (!text.starts_with("0.") || text == "0.1" || text.starts_with("0.1.") || text == "0.0" ||
      text.starts_with("0.0.")) {
    return InvalidArgument("nvbandwidth of version " + Quoted(version) +
                               " is not known; expected v0.2 or later, before v1.0",
                           "BAD_FILE");
  }
  return "nvbandwidth " + text;
}

bool IsTestName(std::string_view name) {
  constexpr size_t kLongest = 100;
  return !name.empty() && name.size() <= kLongest &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

std::optional<bool> IsLatency(std::string_view description) {
  description = Trimmed(description);
  if (description.ends_with("(GB/s)") || description.ends_with(" CE BW")) return false;
  if (description.ends_with("(ns)")) return true;
  return std::nullopt;
}

Result<std::string> CudaOf(std::string_view text, const std::string& where) {
  text = Trimmed(text);
  const Result<int64_t> code =
      IntegerOf(text, 1, "the version of CUDA", kLeastVersionCode, kMostVersionCode);
  if (code.ok()) return CudaVersionText(*code);
  std::string version = IsDigits(text) ? "" : VersionOf(text.substr(0, text.find(" (")));
  if (!version.empty()) return version;
  return FaultAt(where, "the version of CUDA is " + Quoted(text) +
                            "; expected one such as 12.4, or its code, " +
                            std::to_string(kLeastVersionCode) + " to " +
                            std::to_string(kMostVersionCode));
}

bool AddsUp(const NvbandwidthMatrix& matrix, Rounding rounding) {
  double sum = 0;
  double tolerance = 0.0051;
  for (const std::optional<double>& cell : matrix.cells) {
    if (!cell) continue;
    sum += *cell;
    tolerance += RoundingError(*cell, rounding);
  }
  return std::abs(sum - matrix.sum) <= tolerance;
}

Result<NvbandwidthMatrix> WithWays(NvbandwidthMatrix total, NvbandwidthMatrix::Cells first,
                                   NvbandwidthMatrix::Cells second, Rounding rounding) {
  bool same = first.size() == total.cells.size() && second.size() == total.cells.size();
  for (size_t i = 0; same && i < first.size(); ++i) {
    const std::optional<double>& whole = total.cells[i];
    same = first[i].has_value() == whole.has_value() && second[i].has_value() == whole.has_value();
    if (!same || !whole) continue;
    const double tolerance = RoundingError(*first[i], rounding) +
                             RoundingError(*second[i], rounding) + RoundingError(*whole, rounding);
    same = std::abs(*first[i] + *second[i] - *whole) <= tolerance;
  }
  if (!same) {
    return FaultAt(total.where, "the total of test " + Quoted(total.test) +
                                    " is not the sum of its both ways: cells were changed");
  }
  total.first = std::move(first);
  total.second = std::move(second);
  return total;
}

bool IsBidirectional(std::string_view test) {
  return Contains(test, "bidirectional") && KindOf(test) == NvbandwidthKind::kPeer;
}

Result<Imported> ReadNvbandwidth(std::string_view text, const Origin& origin) {
  text = WithoutByteOrderMark(text);
  ASSAY_ASSIGN_OR_RETURN(const std::optional<std::string> plain, WithoutLabels(text));
  if (plain) text = *plain;
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && text[first] == '{';
  ASSAY_ASSIGN_OR_RETURN(NvbandwidthRun run,
                         json ? ReadNvbandwidthJson(text) : ReadNvbandwidthText(text));
  Imported imported;
  std::vector<std::string> local;
  std::vector<std::string> zero;
  for (const NvbandwidthMatrix& matrix : run.matrices) {
    const NvbandwidthKind kind = KindOf(matrix.test);
    if (kind == NvbandwidthKind::kUnknown) return UnknownTest(matrix);
    if (kind == NvbandwidthKind::kLocal) {
      local.push_back(matrix.test);
      continue;
    }
    for (size_t cell = 0; cell < matrix.cells.size(); ++cell) {
      if (!matrix.cells[cell]) continue;
      if (IsZero(matrix, cell)) {
        if (zero.empty() || zero.back() != matrix.test) zero.push_back(matrix.test);
        continue;
      }
      if (imported.results.size() == kMaxResults) {
        return FaultAt(matrix.where, "the file has more than " + std::to_string(kMaxResults) +
                                         " results, the most that an import takes");
      }
      ASSAY_ASSIGN_OR_RETURN(v1::CaseResult result, ResultOf(matrix, cell));
      imported.results.push_back(std::move(result));
    }
  }
  AddNote("waived by nvbandwidth", run.waived, &imported);
  AddNote("ended with an error, and so without numbers", run.failed, &imported);
  AddNote("left out, as they are printed as 0: numbers of", zero, &imported);
  AddNote("left out, as Assay has no benchmark that counts their bytes alike", local, &imported);
  if (imported.results.empty()) {
    return InvalidArgument("the file has no test of nvbandwidth with numbers to import",
                           "BAD_FILE");
  }
  ASSAY_RETURN_IF_ERROR(CountGpus(&run));
  ASSAY_RETURN_IF_ERROR(Describe(run.machines, run.source, origin, &imported));
  return imported;
}

}  // namespace assay::imports
