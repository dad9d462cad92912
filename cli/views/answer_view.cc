#include "cli/views/answer_view.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/numbers.h"
#include "common/text.h"

namespace assay::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;
using predict::Answer;
using predict::Grid;
using predict::Term;
using predict::Unit;

bool IsNumeric(const Grid& grid, size_t column) {
  return std::any_of(grid.rows.begin(), grid.rows.end(), [&](const auto& row) {
    return column < row.size() && std::holds_alternative<double>(row[column]);
  });
}

// Returns "EACH GPU" for "each_gpu".
std::string HeaderOf(std::string name) {
  for (char& c : name) c = c == '_' ? ' ' : static_cast<char>(std::toupper(c));
  return name;
}

std::string GridText(const Grid& grid, const std::string& currency, const Style& style) {
  std::vector<Column> columns;
  for (size_t i = 0; i < grid.columns.size(); ++i) {
    columns.push_back({HeaderOf(grid.columns[i].name),
                       IsNumeric(grid, i) ? Align::kRight : Align::kLeft,
                       // Columns on the right are dropped first.
                       i < 2 ? 0 : static_cast<int>(i)});
  }
  Table table(std::move(columns));
  for (const auto& row : grid.rows) {
    std::vector<Cell> cells;
    for (size_t i = 0; i < row.size(); ++i) {
      cells.emplace_back(Sanitize(GridCellText(row[i], grid.columns[i].unit, currency)));
    }
    table.Add(std::move(cells));
  }
  return (grid.title.empty() ? "" : Sanitize(grid.title) + "\n") + table.Render(style);
}

bool HasRange(const Term& term) {
  constexpr double kVisible = 1e-4;
  return term.high - term.low > kVisible * std::abs(term.value);
}

std::string RangeText(const Term& term, const std::string& currency) {
  if (!HasRange(term)) return "";
  return FormatQuantity(term.low, term.unit, currency) + " to " +
         FormatQuantity(term.high, term.unit, currency);
}

int WidestLine(const std::string& text) {
  int widest = 0;
  for (const std::string_view line : Split(text, '\n')) {
    widest = std::max(widest, DisplayWidth(line));
  }
  return widest;
}

// Returns formula and source on lines of their own below each value, for narrow terminals.
std::string StackedTerms(const Answer& answer, const Style& style) {
  constexpr int kIndent = 4;
  Table table({{""}, {"", Align::kRight}, {""}});
  for (const Term& term : answer.terms) {
    const Tone tone = term.name == answer.dominant ? Tone::kDoubtful : Tone::kPlain;
    table.Add({Cell(term.name, tone), FormatQuantity(term.value, term.unit, answer.currency),
               RangeText(term, answer.currency)});
  }
  const std::vector<std::string> rows = table.RenderRows(style);
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Term& term = answer.terms[i];
    std::string why = term.formula;
    if (!term.source.empty()) why += (why.empty() ? "" : "; ") + term.source;
    text += rows[i] + "\n";
    if (!why.empty()) {
      text += std::string(kIndent, ' ') +
              Paint(Wrap(Sanitize(why), style.width - kIndent, kIndent), Tone::kDim, style.colour) +
              "\n";
    }
  }
  return text;
}

std::string TermsText(const Answer& answer, const std::string& range, const Style& style) {
  Table table({{"TERM"}, {"VALUE", Align::kRight}, {range}, {"FORMULA"}, {"SOURCE"}});
  for (const Term& term : answer.terms) {
    const Tone tone = term.name == answer.dominant ? Tone::kDoubtful : Tone::kPlain;
    table.Add({Cell(term.name, tone), FormatQuantity(term.value, term.unit, answer.currency),
               RangeText(term, answer.currency), Sanitize(term.formula), Sanitize(term.source)});
  }
  const Style unlimited{0, false};
  if (style.width > 0 && WidestLine(table.Render(unlimited)) > style.width) {
    return StackedTerms(answer, style);
  }
  return table.Render(Style{0, style.colour});
}

std::string InputsText(const AnsweredQuestion& question, int width) {
  std::vector<std::string> given;
  std::vector<std::string> defaults;
  for (const predict::InputLine& input : question.inputs) {
    (input.given ? given : defaults).push_back(input.name + " = " + Sanitize(input.value));
  }
  std::string text;
  if (!given.empty()) text += Wrap("Given: " + Join(given, ", "), width, 2) + "\n";
  if (!defaults.empty()) text += Wrap("Defaults: " + Join(defaults, ", "), width, 2) + "\n";
  return text;
}

// Returns the unit of a term or column for machines. Money is in the answer's currency.
std::string UnitText(Unit unit, const std::string& currency) {
  if (unit == Unit::kMoney) return currency;
  if (unit == Unit::kMoneyPerHour) return currency + "/h";
  return std::string(Symbol(unit));
}

OrderedJson JsonOf(const Grid::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  return nullptr;
}

OrderedJson JsonOf(const Grid& grid, const std::string& currency) {
  OrderedJson rows = OrderedJson::array();
  for (const auto& row : grid.rows) {
    OrderedJson object = OrderedJson::object();
    for (size_t i = 0; i < row.size(); ++i) object[grid.columns[i].name] = JsonOf(row[i]);
    rows.push_back(std::move(object));
  }
  OrderedJson units = OrderedJson::object();
  for (const Grid::Column& column : grid.columns) {
    const std::string unit = UnitText(column.unit, currency);
    if (!unit.empty()) units[column.name] = unit;
  }
  return {{"title", grid.title}, {"units", units}, {"rows", rows}};
}

std::string CsvCell(const Grid::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return FormatExact(*number);
  return "";
}

std::string GridCsv(const Grid& grid, const std::string& currency) {
  std::vector<std::string> header;
  for (const Grid::Column& column : grid.columns) {
    const std::string unit = UnitText(column.unit, currency);
    header.push_back(column.name + (unit.empty() ? "" : " (" + unit + ")"));
  }
  std::string csv = CsvRecord(header);
  for (const auto& row : grid.rows) {
    std::vector<std::string> cells;
    for (const Grid::Cell& cell : row) cells.push_back(CsvCell(cell));
    csv += CsvRecord(cells);
  }
  return csv;
}

}  // namespace

std::string GridCellText(const Grid::Cell& cell, Unit unit, const std::string& currency) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) {
    std::string text = predict::FormatQuantity(*number, unit, currency);
    // In columns the binary size would only be noise.
    if (unit == Unit::kBytes) text = text.substr(0, text.find(" ("));
    return text;
  }
  return "";
}

std::string AnswerText(const AnsweredQuestion& question, const Style& style) {
  const Answer& answer = question.answer;
  std::string text;
  if (!answer.headline.empty()) text += Wrap(Sanitize(answer.headline), style.width, 0) + "\n\n";
  for (const Grid& grid : answer.grids) text += GridText(grid, answer.currency, style) + "\n";
  if (!answer.terms.empty()) text += TermsText(answer, question.range_header, style) + "\n";
  if (!answer.dominant.empty()) text += "Dominated by: " + answer.dominant + "\n";
  text += InputsText(question, style.width);
  for (const std::string& note : answer.notes) {
    text += Wrap(Sanitize(note), style.width, 2) + "\n";
  }
  return text;
}

std::string AnswerJson(const AnsweredQuestion& question) {
  const Answer& answer = question.answer;
  OrderedJson json;
  json["topic"] = question.topic;
  json["headline"] = answer.headline;
  json["inputs"] = OrderedJson::object();
  for (const predict::InputLine& input : question.inputs) json["inputs"][input.name] = input.value;
  json["terms"] = OrderedJson::array();
  for (const Term& term : answer.terms) {
    OrderedJson object = {{"name", term.name},
                          {"value", term.value},
                          {"unit", UnitText(term.unit, answer.currency)},
                          {"low", term.low},
                          {"high", term.high},
                          {"formula", term.formula},
                          {"source", term.source}};
    json["terms"].push_back(std::move(object));
  }
  json["tables"] = OrderedJson::array();
  for (const Grid& grid : answer.grids) {
    json["tables"].push_back(JsonOf(grid, answer.currency));
  }
  json["dominant"] = answer.dominant;
  json["currency"] = answer.currency;
  json["notes"] = answer.notes;
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string AnswerCsv(const AnsweredQuestion& question) {
  const bool has_table = question.answer.grids.size() == 1;
  const bool is_list = question.answer.terms.empty() || !question.topic.starts_with("predict ") ||
                       question.topic == "predict --check";
  if (has_table && is_list) return GridCsv(question.answer.grids[0], question.answer.currency);
  std::string csv = CsvRecord({"name", "value", "unit", "low", "high", "formula", "source"});
  for (const Term& term : question.answer.terms) {
    csv += CsvRecord({term.name, FormatExact(term.value),
                      UnitText(term.unit, question.answer.currency), FormatExact(term.low),
                      FormatExact(term.high), term.formula, term.source});
  }
  return csv;
}

void PrintAnswer(const AnsweredQuestion& question, OutputFormat format) {
  if (format == OutputFormat::kJson) {
    Print(AnswerJson(question));
  } else if (format == OutputFormat::kCsv) {
    Print(AnswerCsv(question));
  } else {
    Print(AnswerText(question, StyleOf(STDOUT_FILENO)));
  }
}

}  // namespace assay::cli
