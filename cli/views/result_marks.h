// Letters that mark questionable results in a table, and the legend that explains them.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/v1/result_service.pb.h"

namespace assay::cli {

// A flag that tables show as a letter.
struct Mark {
  std::string_view flag;
  char letter;
  std::string_view meaning;
};

// Returns all known marks, sorted by flag.
std::span<const Mark> AllMarks();

// Returns "sheet" for a spec sheet that was checked against the vendor's, "recalled" for one that
// was not, and an empty text if there is no such sheet.
std::string SpecCertainty(const std::string& spec);

// Returns the names of everything that makes `run` special or questionable: the flags of its
// conditions, then "hot_cache", "zeros", "graph", "noisy" (a wide interval of the median),
// "recalled_spec", "imported", "simulated".
std::vector<std::string> DoubtsOf(const v1::CaseResult& run);

// The marks of one table. Equal flags have equal letters, and equal notes have equal numbers.
class Marks {
 public:
  // Returns the letters of DoubtsOf(run), such as "TH".
  std::string Flags(const v1::CaseResult& run) { return Letters(DoubtsOf(run)); }

  // Returns one letter per flag, in order.
  std::string Letters(const std::vector<std::string>& flags);

  // Returns the number of a note: "1", "2", ... Returns an empty text after too many notes.
  std::string Note(const std::string& text);

  // Returns one line per letter, then one per note. Printable.
  std::string Legend(int width) const;

 private:
  std::string Flag(const std::string& flag);
  std::string FreeLetter(const std::string& flag);

  std::map<std::string, std::string> flags_;  // Letters by flag.
  std::set<char> used_;
  std::vector<std::string> notes_;
};

}  // namespace assay::cli
