#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/utf8.h"
#include "imports/checked_text.h"
#include "imports/imports.h"
#include "imports/nvbandwidth_run.h"

namespace assay::imports {
namespace {

// Of the way from a cell of nvbandwidth to a result: raised when it changes.
constexpr int kVersion = 1;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "device_to_device_memcpy_read_ce" of "..._ce_total".
std::string_view WithoutPart(std::string_view test) {
  for (const std::string_view part : {"_read1", "_read2", "_write1", "_write2", "_total"}) {
    if (test.ends_with(part)) return test.substr(0, test.size() - part.size());
  }
  return test;
}

enum class Kind { kHost, kPeer, kLocal, kUnknown };

Kind KindOf(std::string_view test) {
  if (Contains(test, "device_local")) return Kind::kLocal;
  if (Contains(test, "host")) return Kind::kHost;
  for (const std::string_view word :
       {"device_to_device", "all_to_one", "one_to_all", "multicast", "bisect"}) {
    if (Contains(test, word)) return Kind::kPeer;
  }
  return Kind::kUnknown;
}

// "copy" (engines), "sm" or "tma": who copies.
Result<std::string> EngineOf(const NvbandwidthMatrix& matrix) {
  const std::string_view test = WithoutPart(matrix.test);
  if (test.ends_with("_ce")) return std::string("copy");
  if (test.ends_with("_sm")) return std::string("sm");
  if (test.ends_with("_tma")) return std::string("tma");
  return FaultAt(matrix.line, "test " + Quoted(matrix.test) +
                                  " ends neither with _ce, _sm nor _tma; it is not known");
}

Status AddHostParameters(const NvbandwidthMatrix& matrix, size_t row, size_t column,
                         v1::CaseResult* result) {
  auto& parameters = *result->mutable_parameters();
  parameters["gpu"] = std::to_string(column);
  if (matrix.cells.size() > matrix.columns) parameters["cpu"] = std::to_string(row);
  if (matrix.latency) return Status::Ok();
  parameters["memory"] = "pinned";
  parameters["direction"] = Contains(matrix.test, "host_to_")   ? "h2d"
                            : Contains(matrix.test, "_to_host") ? "d2h"
                                                                : "";
  if (!parameters["direction"].empty()) return Status::Ok();
  return FaultAt(matrix.line, "test " + Quoted(matrix.test) + " is not known");
}

// The row's GPU runs the copy: read tests copy from the column's GPU, write tests to it
// (nvbandwidth's descriptions of its tests; the arrows in its tables point both ways).
void AddPeerParameters(const NvbandwidthMatrix& matrix, size_t row, size_t column,
                       v1::CaseResult* result) {
  auto& parameters = *result->mutable_parameters();
  const bool read = Contains(matrix.test, "read");
  if (matrix.cells.size() == matrix.columns && matrix.columns > 1) {
    parameters["gpu"] = std::to_string(column);
  } else {
    parameters["from"] = std::to_string(read ? column : row);
    parameters["to"] = std::to_string(read ? row : column);
  }
  if (matrix.latency) return;
  parameters["mode"] = read ? "read" : "write";
  parameters["direction"] =
      Contains(matrix.test, "bidirectional") ? "bidirectional" : "unidirectional";
}

Result<v1::CaseResult> ResultOf(const NvbandwidthMatrix& matrix, size_t cell) {
  const size_t row = cell / matrix.columns;
  const size_t column = cell % matrix.columns;
  v1::CaseResult result;
  const bool host = KindOf(matrix.test) == Kind::kHost;
  result.set_benchmark(host ? "host_transfer" : "peer_transfer");
  result.set_benchmark_version(kVersion);
  result.set_outcome(v1::CASE_OUTCOME_OK);
  ASSAY_ASSIGN_OR_RETURN((*result.mutable_parameters())["engine"], EngineOf(matrix));
  (*result.mutable_parameters())["test"] = matrix.test;
  (*result.mutable_parameters())["policy"] = "nvbandwidth";
  if (host) {
    ASSAY_RETURN_IF_ERROR(AddHostParameters(matrix, row, column, &result));
  } else {
    AddPeerParameters(matrix, row, column, &result);
  }
  // What it checks of its copies, its output does not say.
  result.mutable_conditions()->add_flags("unverified");
  const double value = *matrix.cells[cell];
  if (matrix.latency) {
    AddMeasurement("latency", "us", v1::DIRECTION_LOWER_IS_BETTER, value / 1000, "events", 1,
                   &result);
  } else {
    AddMeasurement("bandwidth", "GB/s", v1::DIRECTION_HIGHER_IS_BETTER, value, "events", 1,
                   &result);
  }
  return result;
}

std::string NamesOf(const std::vector<std::string>& names) {
  constexpr size_t kMost = 10;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  return names.size() > kMost ? text + " and " + std::to_string(names.size() - kMost) + " more"
                              : text;
}

void AddNote(const std::string& what, const std::vector<std::string>& names, Imported* imported) {
  if (!names.empty()) imported->notes.push_back(what + ": " + NamesOf(names));
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
  if (description.ends_with("(GB/s)")) return false;
  if (description.ends_with("(ns)")) return true;
  return std::nullopt;
}

std::string CudaOf(std::string_view text) {
  text = Trimmed(text);
  const size_t bracket = text.find(" (");
  if (bracket != std::string_view::npos) return VersionOf(text.substr(0, bracket));
  const Result<int64_t> code = IntegerOf(text, 1, "the version of CUDA", 1000);
  return code.ok() ? CudaVersionText(*code) : VersionOf(text);
}

bool AddDevice(std::string_view text, Machines* machines) {
  constexpr size_t kLongest = 200;
  if (text.size() > kLongest || !IsPlainText(text)) return false;
  std::string_view rest = text;
  std::string_view host;
  if (rest.starts_with("Process ")) {
    const size_t open = rest.find(" (");
    const size_t close = rest.find("): device ");
    if (open == std::string_view::npos || close == std::string_view::npos || open > close) {
      return false;
    }
    host = rest.substr(open + 2, close - open - 2);
    rest.remove_prefix(close + 10);
  } else if (rest.starts_with("Device ")) {
    rest.remove_prefix(7);
  }
  const size_t colon = rest.find(": ");
  if (colon == std::string_view::npos || !IsDigits(rest.substr(0, colon))) return false;
  rest.remove_prefix(colon + 2);
  const std::string_view name = Trimmed(rest.substr(0, rest.find(" (")));
  if (name.empty()) return false;
  machines->gpus += 1;
  machines->gpu_names.insert(std::string(name));
  if (!host.empty()) machines->hosts.insert(std::string(host));
  return true;
}

bool AddsUp(const NvbandwidthMatrix& matrix, size_t begin, int digits) {
  double sum = 0;
  double tolerance = 0.0051;
  for (size_t i = begin; i < matrix.cells.size(); ++i) {
    if (!matrix.cells[i]) continue;
    sum += *matrix.cells[i];
    tolerance += digits == 0 ? 0.0051 : *matrix.cells[i] * std::pow(10, 1 - digits);
  }
  return std::abs(sum - matrix.sum) <= tolerance;
}

Result<Imported> ReadNvbandwidth(std::string_view text, const Origin& origin) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && text[first] == '{';
  ASSAY_ASSIGN_OR_RETURN(NvbandwidthRun run,
                         json ? ReadNvbandwidthJson(text) : ReadNvbandwidthText(text));
  Imported imported;
  std::vector<std::string> local;
  size_t columns = 0;
  for (const NvbandwidthMatrix& matrix : run.matrices) {
    columns = std::max(columns, matrix.columns);
    const Kind kind = KindOf(matrix.test);
    if (kind == Kind::kLocal) local.push_back(matrix.test);
    if (kind == Kind::kLocal) continue;
    if (kind == Kind::kUnknown) {
      return FaultAt(matrix.line, "test " + Quoted(matrix.test) + " is not known");
    }
    for (size_t cell = 0; cell < matrix.cells.size(); ++cell) {
      if (!matrix.cells[cell]) continue;
      if (imported.results.size() == kMaxResults) {
        return FaultAt(matrix.line, "the file has more than " + std::to_string(kMaxResults) +
                                        " results, the most that an import takes");
      }
      ASSAY_ASSIGN_OR_RETURN(v1::CaseResult result, ResultOf(matrix, cell));
      imported.results.push_back(std::move(result));
    }
  }
  AddNote("waived by nvbandwidth", run.waived, &imported);
  AddNote("ended with an error, and so without numbers", run.failed, &imported);
  AddNote("left out, as Assay has no benchmark that counts their bytes alike", local, &imported);
  if (imported.results.empty()) {
    return InvalidArgument("the file has no test of nvbandwidth with numbers to import",
                           "BAD_FILE");
  }
  if (run.machines.gpus == 0) run.machines.gpus = static_cast<int>(columns);
  ASSAY_RETURN_IF_ERROR(Describe(run.machines, run.source, origin, &imported));
  return imported;
}

}  // namespace assay::imports
