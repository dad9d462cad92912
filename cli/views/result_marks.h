// Marks on results whose numbers need a second look, and the legend that explains them.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/v1/result_service.pb.h"

namespace assay::cli {

// A doubt that tables show as a letter.
struct Mark {
  std::string_view flag;
  char letter;
  std::string_view meaning;
};

// Sorted by flag.
std::span<const Mark> AllMarks();

// "sheet", "recalled" (nobody has checked it against the vendor's) or, without such a
// sheet, empty.
std::string SpecCertainty(const std::string& spec);

// Everything that `run` must not be taken for, by name: the flags of its conditions, then
// "hot_cache", "zeros", "graph", "noisy" (a wide interval of the median), "recalled_spec",
// "imported", "simulated".
std::vector<std::string> DoubtsOf(const v1::CaseResult& run);

// Of one table: the same doubt has the same letter, the same text the same number.
class Marks {
 public:
  // The letters of DoubtsOf(run): "TH"; empty without any.
  std::string Flags(const v1::CaseResult& run) { return Letters(DoubtsOf(run)); }

  // A letter each of `flags`, in their order.
  std::string Letters(const std::vector<std::string>& flags);

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
