// Marks on results whose numbers need a second look, and the legend that explains them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/v1/result_service.pb.h"

namespace assay::cli {

// "sheet", "recalled" (nobody has checked it against the vendor's) or, without such a
// sheet, empty.
std::string SpecCertainty(const std::string& spec);

// Of one table: the same doubt has the same letter, the same text the same number.
class Marks {
 public:
  // The letters of everything that `run` must not be taken for: the flags of its
  // conditions, a hot cache, zeros as inputs, replays of a graph, a wide
  // interval of the median, a recalled spec sheet, an import, a simulation. "TH"; empty without
  // any.
  std::string Flags(const v1::CaseResult& run);

  // "1", "2", ... Empty when there are too many to explain.
  std::string Note(const std::string& text);

  // A line a letter, then a line a note; empty without any. Printable.
  std::string Legend(int width) const;

 private:
  std::string Flag(const std::string& flag);
  std::string FreeLetter(const std::string& flag);

  std::map<std::string, std::string> flags_;  // Letters.
  std::set<char> used_;
  std::vector<std::string> notes_;
};

}  // namespace assay::cli
