// Answers of topics: terms with value, formula and source.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "predict/quantity.h"

namespace assay::predict {

// One line of an answer.
struct Term {
  std::string name;  // "weights", "step"; unique within an answer, snake_case.
  double value = 0;  // In base units.
  Unit unit = Unit::kNumber;
  // The value with the hardware's figures at their 5th and 95th percentiles. Evaluate() sets them;
  // both equal `value` for terms that do not depend on measurements.
  double low = 0;
  double high = 0;
  std::string formula;  // "2 L g e k c B".
  std::string source;   // Who says so: "measured: ...", "sheet", "given", or a citation.
};

// A table for answers with several rows, such as one per GPU or per batch size.
struct Grid {
  struct Column {
    std::string name;
    Unit unit = Unit::kNumber;
  };
  // Text, a number in base units, or nothing.
  using Cell = std::variant<std::monostate, std::string, double>;
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

struct Answer {
  // One sentence that answers the question. May be empty.
  std::string headline;
  std::vector<Term> terms;
  std::vector<Grid> grids;
  // Name of the term that dominates the result. Empty if the question has none.
  std::string dominant;
  // Lines about what the formula leaves out, and warnings. Whole sentences.
  std::vector<std::string> notes;
  // Currency of all terms in money.
  std::string currency;

  // Adds a term and returns its value.
  double Add(std::string name, double value, Unit unit, std::string formula,
             std::string source = "");
  // Returns the term of this name, or null.
  const Term* Find(const std::string& name) const;
};

}  // namespace assay::predict
