// The JSON of nvbandwidth's `-j` (json_output.cpp of 0.5 to 0.10). Its host name is not
// read.
#include <utility>

#include "cli/imports/checked_json.h"
#include "cli/imports/checked_text.h"
#include "cli/imports/launcher.h"
#include "cli/imports/nvbandwidth_devices.h"
#include "cli/imports/nvbandwidth_run.h"

namespace assay::imports {
namespace {

Status Fault(std::string message) { return InvalidArgument(std::move(message), "BAD_FILE"); }

Status ReadVersions(const Json& root, Machines* machines) {
  const std::string name = "CUDA Runtime Version";
  if (const auto cuda = root.find(name); cuda != root.end()) {
    const std::string text = cuda->is_string() ? cuda->get<std::string>() : cuda->dump();
    ASSAY_ASSIGN_OR_RETURN(machines->cuda, CudaOf(text, "`" + name + "` of `nvbandwidth`"));
  }
  if (const auto driver = root.find("Driver Version"); driver != root.end()) {
    if (driver->is_string()) machines->driver = VersionOf(driver->get_ref<const std::string&>());
  }
  return Status::Ok();
}

// Of an output that has it: early ones do not.
Status ReadDevices(const Json& root, NvbandwidthRun* run) {
  const std::string list = "GPU Device list";
  if (!root.contains(list)) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(const Json* devices, JsonArray(root, list, "`nvbandwidth`"));
  for (size_t i = 0; i < devices->size(); ++i) {
    const std::string where = "entry " + std::to_string(i + 1) + " of `" + list + "`";
    const Json& text = (*devices)[i];
    const std::optional<ListedDevice> device =
        text.is_string() ? DeviceOf(text.get_ref<const std::string&>()) : std::nullopt;
    if (!device) {
      return FaultAt(where, "expected \"" + std::to_string(i) + ": NVIDIA H200 (BUS): (HOST)\"");
    }
    ASSAY_RETURN_IF_ERROR(AddDevice(*device, where, run));
  }
  return Status::Ok();
}

Status ReadCells(const Json& rows, const std::string& where, NvbandwidthMatrix* matrix) {
  for (const Json& row : rows) {
    if (!row.is_array() || row.empty() || row.size() > kMaxMatrixColumns ||
        (matrix->columns > 0 && row.size() != matrix->columns)) {
      return Fault("`bandwidth_matrix` of " + where + " is no matrix of at most " +
                   std::to_string(kMaxMatrixColumns) + " columns");
    }
    matrix->columns = row.size();
    for (const Json& value : row) {
      std::optional<double>& cell = matrix->cells.emplace_back();
      if (value == "N/A") continue;
      ASSAY_ASSIGN_OR_RETURN(cell, ToNumber(value, "a cell of " + where));
    }
  }
  return matrix->cells.empty() ? Fault("`bandwidth_matrix` of " + where + " is empty")
                               : Status::Ok();
}

// Tests of both ways put three square matrices below each other: each way, and the total, of
// which alone the sum is.
Status AddMatrix(NvbandwidthMatrix matrix, const std::string& where, NvbandwidthRun* run) {
  constexpr Rounding kRounding = Rounding::kSixDigits;
  const auto square = static_cast<std::ptrdiff_t>(matrix.columns * matrix.columns);
  const auto begin = matrix.cells.begin();
  const bool ways = IsBidirectional(matrix.test) && matrix.columns > 1 &&
                    matrix.cells.end() - begin == 3 * square;
  if (ways) {
    NvbandwidthMatrix total = matrix;
    total.cells.assign(begin + 2 * square, matrix.cells.end());
    ASSAY_ASSIGN_OR_RETURN(matrix, WithWays(std::move(total), {begin, begin + square},
                                            {begin + square, begin + 2 * square}, kRounding));
  }
  if (!AddsUp(matrix, kRounding)) {
    return Fault("the matrix of " + where +
                 " does not add up to its `sum`: rows are missing or were changed");
  }
  run->matrices.push_back(std::move(matrix));
  return Status::Ok();
}

Status ReadTest(const Json& test, size_t position, NvbandwidthRun* run) {
  const std::string where = "test " + std::to_string(position);
  NvbandwidthMatrix matrix;
  matrix.where = where;
  ASSAY_ASSIGN_OR_RETURN(matrix.test, JsonText(test, "name", where));
  ASSAY_ASSIGN_OR_RETURN(const std::string status, JsonText(test, "status", where));
  if (!IsTestName(matrix.test)) {
    return Fault("`name` of " + where + " is " + Quoted(matrix.test) + ", no name of a test");
  }
  const std::string named = where + " (" + Quoted(matrix.test) + ")";
  if (status == "Waived") run->waived.push_back(matrix.test);
  if (status == "Error") run->failed.push_back(matrix.test);
  if (status == "Waived" || status == "Error") return Status::Ok();
  if (status != "Passed") {
    return Fault("`status` of " + named + " is " + Quoted(status) +
                 "; expected Passed, Waived or Error");
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string description,
                         JsonText(test, "bandwidth_description", named));
  const std::optional<bool> latency = IsLatency(description);
  if (!latency) {
    return Fault("`bandwidth_description` of " + named + " is " + Quoted(description) +
                 "; expected it to end with (GB/s) or (ns)");
  }
  matrix.latency = *latency;
  ASSAY_ASSIGN_OR_RETURN(const Json* rows, JsonArray(test, "bandwidth_matrix", named));
  ASSAY_RETURN_IF_ERROR(ReadCells(*rows, named, &matrix));
  ASSAY_ASSIGN_OR_RETURN(matrix.sum, JsonNumber(test, "sum", named));
  return AddMatrix(std::move(matrix), named, run);
}

}  // namespace

Result<NvbandwidthRun> ReadNvbandwidthJson(std::string_view text) {
  ASSAY_ASSIGN_OR_RETURN(const Json root, ParseJson(text));
  if (root.contains("nccl_version")) return OutputOf("the file", "nccl-tests");
  ASSAY_ASSIGN_OR_RETURN(const Json* body, MemberOf(root, "nvbandwidth", "the file"));
  ASSAY_ASSIGN_OR_RETURN(const std::string version, JsonText(*body, "version", "`nvbandwidth`"));
  if (body->contains("error")) {
    return Fault("nvbandwidth ended with an error: " +
                 Quoted((*body)["error"].is_string()
                            ? (*body)["error"].get_ref<const std::string&>()
                            : "of no text"));
  }
  NvbandwidthRun run;
  ASSAY_ASSIGN_OR_RETURN(run.source, NvbandwidthSource(version));
  ASSAY_RETURN_IF_ERROR(ReadVersions(*body, &run.machines));
  ASSAY_RETURN_IF_ERROR(ReadDevices(*body, &run));
  ASSAY_ASSIGN_OR_RETURN(const Json* tests, JsonArray(*body, "testcases", "`nvbandwidth`"));
  for (size_t i = 0; i < tests->size(); ++i) {
    ASSAY_RETURN_IF_ERROR(ReadTest((*tests)[i], i + 1, &run));
  }
  return run;
}

}  // namespace assay::imports
