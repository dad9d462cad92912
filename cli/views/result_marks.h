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

// The relative uncertainty above which a result is noisy. The relative uncertainty is half the
// width of the median's 95% confidence interval, divided by the median. Two noisy results that
// differ by 5% cannot be told apart.
inline constexpr double kNoisy = 0.025;

// A flag that tables show as a letter.
struct Mark {
  std::string_view flag;
  char letter;
  std::string_view meaning;
};

// Returns all known marks, sorted by flag.
std::span<const Mark> AllMarks();

// Returns how reliable a GPU's spec sheet is: "sheet" if its values were checked against the
// vendor's data sheet, "recalled" if not, or "" if there is no spec sheet with this name.
std::string SpecCertainty(const std::string& spec);

// Returns the names of everything that makes a result special or questionable: first the flags
// recorded with the result, then any of these names that apply: "hot_cache", "zeros", "quick",
// "graph", "noisy" (see kNoisy), "recalled_spec" (see SpecCertainty), "imported" and "simulated".
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
