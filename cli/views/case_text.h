// Names cases and places in tables, sentences and CSV.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/v1/analysis.pb.h"

namespace assay::cli {

// The cells that name a case. Printable.
struct CaseCells {
  std::string benchmark;
  std::string parameters;
  std::string metric;
};

// Names of the benchmark cases in one output, such as a table. Parameters that differ between the
// cases come first. The cache and fill parameters appear only if they differ.
class CaseNames {
 public:
  explicit CaseNames(const std::vector<v1::CaseIdentity>& cases);

  // Returns the cells for one of the cases, with all parameters that identify it.
  CaseCells Cells(const v1::CaseIdentity& identity) const;

  // Returns a name short enough for a table column, such as "gemm m=n=k=8192". If the benchmark has
  // several cases, the name contains only the parameters that differ between them. Metric and
  // hardware appear only if there is more than one.
  std::string Short(const v1::CaseIdentity& identity) const;

  // Returns "gemm m=n=k=8192 bf16: tflops".
  std::string Full(const v1::CaseIdentity& identity) const;

 private:
  std::string Settings(const v1::CaseIdentity& identity) const;

  std::map<std::string, std::set<std::string>> varying_;  // By benchmark.
  std::map<std::string, std::set<std::string>> metrics_;  // By benchmark.
  std::set<std::string> caches_;
  std::set<std::string> fills_;
  std::set<std::string> hardware_;
};

// Returns the hardware that a case needs: "8x H200 SXM", or the model of the CPU. Printable.
std::string HardwareText(const v1::Environment& environment);

// Returns the name of a place, that is, a GPU, a node or several nodes: "GPU 3 of sim-0007",
// "sim-0007 (8 GPUs)" or "sim-0001 +3 (32 GPUs)". If the GPU's index is unknown, uses the beginning
// of its UUID. Replaces control characters.
std::string PlaceText(const v1::Place& place);

// Returns the GPUs of a place without its nodes: "3", "8 GPUs" or the beginning of a UUID. Returns
// an empty string for places without GPUs. Replaces control characters.
std::string PlaceGpus(const v1::Place& place);

// Returns "sim-0007", "sim-0001, sim-0002" or "sim-0001 +3".
std::string PlaceNodes(const v1::Place& place);

// Returns the noun for the places where `cases` ran: "GPU" if each case ran on one GPU, "node" if
// none used a GPU, and "place" otherwise.
std::string PlaceNoun(const std::vector<v1::CaseIdentity>& cases);

// Return the names and the values of the CSV columns that identify a case or a place.
std::vector<std::string> CaseColumns();
std::vector<std::string> CaseValues(const v1::CaseIdentity& identity);
std::vector<std::string> PlaceColumns();
std::vector<std::string> PlaceValues(const v1::Place& place);

// Formats one CSV record that begins with the cells of `first`.
std::string CsvRecordAfter(std::vector<std::string> first, const std::vector<std::string>& rest);

// Returns a change in percent for a ratio of performances: "-19.7%" for 0.803.
std::string ChangeText(double ratio);

// Formats local time to the minute: "2026-11-21 08:30". `width` is the width of the terminal, or 0
// if it does not matter. Omits the year on terminals with fewer than 100 columns. Returns an empty
// string for an unset timestamp.
std::string MinuteText(const google::protobuf::Timestamp& time, int width = 0);

// Returns the first `count` characters of a text, made printable.
std::string Beginning(const std::string& text, size_t count);

// Returns "580.95.05 -> 590.10". Printable.
std::string ArrowText(const std::string& before, const std::string& after);

}  // namespace assay::cli
