// Prints answers of `assay predict`, `assay plan` and `assay fit`.
#pragma once

#include <string>
#include <vector>

#include "cli/views/output.h"
#include "cli/views/table.h"
#include "predict/topic.h"

namespace assay::cli {

// An answer with the question that it belongs to.
struct AnsweredQuestion {
  std::string topic;  // "predict decode".
  std::vector<predict::InputLine> inputs;
  predict::Answer answer;
  // Header of the column with the low and high ends of terms.
  std::string range_header = "P05 TO P95";
};

// Returns the headline, tables and terms, then the inputs and what is left out.
std::string AnswerText(const AnsweredQuestion& question, const Style& style);

// Returns one JSON object. Numbers are in base units.
std::string AnswerJson(const AnsweredQuestion& question);

// Returns the terms of a prediction, and the table of any other answer. Numbers are in base units.
std::string AnswerCsv(const AnsweredQuestion& question);

// Prints the answer in the given form.
void PrintAnswer(const AnsweredQuestion& question, OutputFormat format);

// Returns a cell of a grid for people.
std::string GridCellText(const predict::Grid::Cell& cell, predict::Unit unit,
                         const std::string& currency);

}  // namespace assay::cli
