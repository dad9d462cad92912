// Answers of topics. An answer consists of terms, each with a value, a formula and a source.
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
  // The range of the value, computed with the GPU's measured figures at their 5th and 95th
  // percentiles. Both ends equal `value` if the term does not depend on measurements.
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
  // A text, a number in base units, or an empty cell.
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
  // The name of the term that dominates the result. Empty if the question has no such term.
  std::string dominant;
  // Warnings and notes about what the formula leaves out, in whole sentences.
  std::vector<std::string> notes;
  // The currency of all terms that are amounts of money.
  std::string currency;

  // Adds a term and returns its value.
  double Add(std::string name, double value, Unit unit, std::string formula,
             std::string source = "");
  // Returns the term of this name, or null.
  const Term* Find(const std::string& name) const;
};

}  // namespace assay::predict
