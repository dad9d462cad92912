// The JSON that nvbandwidth writes with -j (json_output.cpp of 0.5 to 0.10).
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/imports/checked_input.h"
#include "cli/imports/imports.h"
#include "cli/imports/records.h"
#include "common/text.h"

namespace assay::imports {
namespace {

// Version of the conversion from cells to results. Raise it when the conversion changes.
constexpr int kNvbandwidthVersion = 1;
constexpr size_t kMaxColumns = 1024;

using Cells = std::vector<std::optional<double>>;  // Row by row; absent: "N/A".

struct Matrix {
  std::string where;
  std::string test;      // "device_to_device_memcpy_read_ce".
  bool latency = false;  // Nanoseconds; otherwise GB/s.
  size_t columns = 0;
  Cells cells;
  // For bidirectional GPU-to-GPU tests: the values of each direction. `cells` contains their sums.
  Cells first;
  Cells second;

  size_t rows() const { return cells.size() / columns; }
  bool Has(std::string_view part) const { return test.find(part) != std::string::npos; }
  bool IsHost() const { return Has("host"); }
  bool IsMultinode() const { return test.starts_with("multinode_"); }
};

// Returns true if Assay has an equivalent of this nvbandwidth test. The tests device_local_* have
// none, because Assay's memory benchmarks count bytes differently.
bool IsKnown(const std::string& test) {
  constexpr std::string_view kBegins[] = {"host_to_",    "device_to_",           "all_to_",
                                          "one_to_all_", "host_device_latency_", "multinode_"};
  const bool engine = test.ends_with("_ce") || test.ends_with("_sm") || test.ends_with("_tma");
  return engine && std::any_of(std::begin(kBegins), std::end(kBegins),
                               [&](std::string_view begin) { return test.starts_with(begin); });
}

// Returns the direction of a test that copies between host and GPU: "h2d" or "d2h". For a
// bidirectional test, returns the direction that is timed; copies in the other direction only
// generate load.
std::string HostDirection(const Matrix& matrix) {
  return matrix.test.starts_with("host_to_") ? "h2d" : "d2h";
}

// Returns true if a GPU-to-GPU test copies to the GPU of the table's row, and false if it copies
// from that GPU:
// - Read and latency tests copy to it.
// - Write tests copy from it, except for bidirectional ones within a node, which use the buffers of
//   the read test.
// See testcases_ce.cpp, testcases_sm.cpp and multinode_testcases.cpp in nvbandwidth.
bool GoesToRow(const Matrix& matrix) {
  if (matrix.latency || matrix.Has("read")) return true;
  return !matrix.first.empty() && !matrix.IsMultinode();
}

void AddPeerParameters(const Matrix& matrix, size_t row, size_t column, v1::CaseResult* result) {
  auto& parameters = *result->mutable_parameters();
  const bool one_number = matrix.cells.size() == 1;  // For all GPUs together.
  if (matrix.rows() == 1 && !one_number) {
    parameters["gpu"] = std::to_string(column);
  } else if (matrix.columns == 1 && !one_number) {
    parameters["gpu"] = std::to_string(row);
  } else if (!one_number) {
    parameters["from"] = std::to_string(GoesToRow(matrix) ? column : row);
    parameters["to"] = std::to_string(GoesToRow(matrix) ? row : column);
  }
  if (matrix.latency) return;
  parameters["mode"] = matrix.Has("read") ? "read" : "write";
  parameters["direction"] = matrix.Has("bidirectional") ? "bidirectional" : "unidirectional";
}

void AddHostParameters(const Matrix& matrix, size_t row, size_t column, v1::CaseResult* result) {
  auto& parameters = *result->mutable_parameters();
  parameters["gpu"] = std::to_string(column);
  if (matrix.rows() > 1) parameters["cpu"] = std::to_string(row);
  if (matrix.latency) return;
  parameters["memory"] = "pinned";
  parameters["direction"] = matrix.Has("bidirectional") ? "bidirectional" : HostDirection(matrix);
}

// The metrics have the names of Assay's host_transfer and peer_transfer.
void AddNumbers(const Matrix& matrix, size_t cell, v1::CaseResult* result) {
  if (matrix.latency) {
    return AddMeasurement("latency", "us", *matrix.cells[cell] / 1000, "events", 1, result);
  }
  const auto add = [&](const std::string& metric, double value) {
    AddMeasurement(metric, "GB/s", value, "events", 1, result);
  };
  const bool one_of_two = matrix.IsHost() && matrix.Has("bidirectional");
  add(one_of_two ? HostDirection(matrix) + "_bandwidth" : "bandwidth", *matrix.cells[cell]);
  if (matrix.first.empty()) return;
  add("forward_bandwidth", *matrix.first[cell]);
  add("backward_bandwidth", *matrix.second[cell]);
}

v1::CaseResult ResultOf(const Matrix& matrix, size_t cell) {
  v1::CaseResult result;
  result.set_benchmark(matrix.IsHost() ? "host_transfer" : "peer_transfer");
  result.set_benchmark_version(kNvbandwidthVersion);
  result.set_outcome(v1::CASE_OUTCOME_OK);
  const std::string engine = matrix.test.substr(matrix.test.rfind('_') + 1);
  (*result.mutable_parameters())["engine"] = engine == "ce" ? "copy" : engine;
  (*result.mutable_parameters())["test"] = matrix.test;
  (*result.mutable_parameters())["policy"] = "nvbandwidth";
  const size_t row = cell / matrix.columns;
  const size_t column = cell % matrix.columns;
  matrix.IsHost() ? AddHostParameters(matrix, row, column, &result)
                  : AddPeerParameters(matrix, row, column, &result);
  // The output does not say what nvbandwidth checked.
  result.mutable_conditions()->add_flags("unverified");
  AddNumbers(matrix, cell, &result);
  return result;
}

class Reader {
 public:
  explicit Reader(const JsonValue& root) : root_(root) {}

  // Errors are recorded in the JSON's status.
  void Read() {
    if (root_.Has("error")) return root_.Fail("nvbandwidth failed: " + root_.Text("error"));
    const std::string version = VersionOf(root_.Text("version"));
    if (!version.starts_with("0.")) root_.Fail("version: expected nvbandwidth 0.5 to 0.x");
    source = "nvbandwidth " + version;
    ReadVersions();
    if (root_.Has("GPU Device list")) {
      for (const JsonValue& device : root_.Array("GPU Device list")) ReadDevice(device);
    }
    for (const JsonValue& test : root_.Array("testcases")) ReadTest(test);
    machines.gpus = static_cast<int>(std::max(devices_, widest_));
  }

  std::string source;
  Machines machines;
  std::vector<v1::CaseResult> results;
  // Names of tests without results, by the reason.
  std::map<std::string, std::set<std::string>> left_out;

 private:
  void ReadVersions() {
    // Older versions write CUDA's code, 12040; newer ones "13.2 (13020)".
    if (root_.Has("CUDA Runtime Version")) {
      const JsonValue cuda = root_.Member("CUDA Runtime Version");
      machines.cuda = cuda.IsText() ? VersionOf(WordsOf(cuda.Text() + " -")[0]) : "";
      if (machines.cuda.find('.') == std::string::npos) {
        const int64_t code = cuda.Integer("", kLeastVersionCode, kMostVersionCode);
        machines.cuda = std::to_string(code / 1000) + "." + std::to_string(code % 1000 / 10);
      }
    }
    if (root_.Has("Driver Version")) machines.driver = VersionOf(root_.Text("Driver Version"));
  }

  // "0: NVIDIA H200 (00000000:1b:00): (HOST)".
  void ReadDevice(const JsonValue& device) {
    const std::string text = device.Text();
    const std::string begin = std::to_string(devices_++) + ": ";
    const size_t end = text.find(" (");
    if (!text.starts_with(begin) || end == std::string::npos || end <= begin.size()) {
      return device.Fail("expected \"" + begin + "GPU (BUS): (HOST)\"");
    }
    machines.gpu_names.insert(text.substr(begin.size(), end - begin.size()));
  }

  void ReadTest(const JsonValue& json) {
    Matrix matrix;
    matrix.where = json.path();
    matrix.test = json.Text("name");
    const std::string status = json.Text("status");
    if (status == "Waived" || status == "Error") {
      left_out[status == "Waived" ? "waived by nvbandwidth" : "failed in nvbandwidth"].insert(
          matrix.test);
      return;
    }
    if (status != "Passed") return json.Fail("status: expected Passed, Waived or Error");
    if (!IsKnown(matrix.test)) {
      left_out["tests without a counterpart in Assay, left out"].insert(matrix.test);
      return;
    }
    const std::string description = json.Text("bandwidth_description");
    matrix.latency = description.find("(ns)") != std::string::npos;
    const bool bandwidth =
        description.find("(GB/s)") != std::string::npos || description.ends_with(" CE BW");
    if (matrix.latency == bandwidth) {
      return json.Fail("bandwidth_description: expected \"(GB/s)\" or \"(ns)\" at its end");
    }
    ReadCells(json, &matrix);
    if (matrix.cells.empty()) return json.Fail("bandwidth_matrix: no cells");
    if (matrix.Has("bidirectional") && !matrix.IsHost()) SplitDirections(json, &matrix);
    CheckSum(json, matrix);
    CheckGpus(json, matrix);
    AddResults(json, matrix);
  }

  static void ReadCells(const JsonValue& json, Matrix* matrix) {
    for (const JsonValue& row : json.Array("bandwidth_matrix")) {
      const std::vector<JsonValue> cells = row.Array("");
      if (cells.empty() || cells.size() > kMaxColumns ||
          (matrix->columns > 0 && cells.size() != matrix->columns)) {
        return row.Fail("expected rows of the same length, at most 1024 cells");
      }
      matrix->columns = cells.size();
      for (const JsonValue& cell : cells) {
        const bool absent = cell.IsText() && cell.Text() == "N/A";
        matrix->cells.push_back(absent ? std::nullopt : std::optional(cell.Number()));
      }
    }
  }

  // The rows hold three square matrices: one per direction, then their sums.
  static void SplitDirections(const JsonValue& json, Matrix* matrix) {
    const auto size = static_cast<std::ptrdiff_t>(matrix->columns * matrix->columns);
    const Cells all = std::move(matrix->cells);
    if (static_cast<std::ptrdiff_t>(all.size()) != 3 * size) {
      return json.Fail("bandwidth_matrix: expected three square matrices");
    }
    matrix->first.assign(all.begin(), all.begin() + size);
    matrix->second.assign(all.begin() + size, all.begin() + 2 * size);
    matrix->cells.assign(all.begin() + 2 * size, all.end());
    for (size_t i = 0; i < matrix->cells.size(); ++i) {
      const bool present = matrix->cells[i].has_value();
      const double total = matrix->cells[i].value_or(0);
      const double sum = matrix->first[i].value_or(0) + matrix->second[i].value_or(0);
      // Cells have six significant digits.
      if (matrix->first[i].has_value() != present || matrix->second[i].has_value() != present ||
          std::abs(sum - total) > 2e-5 * (sum + total)) {
        return json.Fail("bandwidth_matrix: the third matrix is not the sum of the first two");
      }
    }
  }

  static void CheckSum(const JsonValue& json, const Matrix& matrix) {
    double sum = 0;
    for (const std::optional<double>& cell : matrix.cells) sum += cell.value_or(0);
    if (std::abs(sum - json.Number("sum")) > 0.01 + 1e-5 * sum) {
      json.Fail("bandwidth_matrix: it does not add up to `sum`; cells are missing or changed");
    }
  }

  void CheckGpus(const JsonValue& json, const Matrix& matrix) {
    const size_t rows = matrix.rows();
    if (!matrix.IsHost() && rows != 1 && matrix.columns != 1 && rows != matrix.columns) {
      return json.Fail("bandwidth_matrix: expected a square matrix or one row");
    }
    widest_ = std::max({widest_, matrix.columns, matrix.IsHost() ? 0 : rows});
    // With several processes, the list has the GPUs of the first one only.
    if (devices_ > 0 && !matrix.IsMultinode() && matrix.columns != devices_) {
      json.Fail("bandwidth_matrix: " + std::to_string(matrix.columns) +
                " columns, but the list of GPUs has " + std::to_string(devices_));
    }
  }

  void AddResults(const JsonValue& json, const Matrix& matrix) {
    for (size_t cell = 0; cell < matrix.cells.size(); ++cell) {
      if (!matrix.cells[cell]) continue;
      if (*matrix.cells[cell] == 0 ||
          (!matrix.first.empty() && (*matrix.first[cell] == 0 || *matrix.second[cell] == 0))) {
        left_out["cells of 0, left out"].insert(matrix.test);
        continue;
      }
      if (results.size() == kMaxResults) return json.Fail("more than 10000 results in the file");
      results.push_back(ResultOf(matrix, cell));
    }
  }

  const JsonValue root_;
  size_t devices_ = 0;
  size_t widest_ = 0;  // Columns or rows of the widest matrix.
};

}  // namespace

Result<Imported> ReadNvbandwidth(std::string_view text, const Origin& origin) {
  if (text.find("nvbandwidth Version") != std::string_view::npos) {
    return BadFile("the file", "this is nvbandwidth's text; run nvbandwidth -j for its JSON");
  }
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text));
  Status status;
  Reader reader(JsonValue(json, status).Member("nvbandwidth"));
  reader.Read();
  if (!status.ok()) return status;
  Imported imported;
  imported.results = std::move(reader.results);
  for (const auto& [reason, tests] : reader.left_out) {
    imported.notes.push_back(reason + ": " + JoinSome({tests.begin(), tests.end()}));
  }
  if (imported.results.empty()) return BadFile("the file", "it has no results to import");
  ASSAY_RETURN_IF_ERROR(Describe(reader.machines, reader.source, origin, &imported));
  return imported;
}

}  // namespace assay::imports
