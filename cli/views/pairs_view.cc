#include "cli/views/pairs_view.h"

#include <algorithm>
#include <set>

#include "cli/views/format.h"
#include "cli/views/result_marks.h"
#include "cli/views/utf8.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr char kBadMark[] = "!";
constexpr char kDoubtfulMark[] = "?";

bool Concerns(const BadNode& bad, size_t from, size_t to) {
  return (bad.node == from && bad.side != NodeSide::kReceiving) ||
         (bad.node == to && bad.side != NodeSide::kSending);
}

bool Concerns(const BadLink& bad, size_t from, size_t to) {
  return (bad.from == from && bad.to == to) || (!bad.one_way && bad.from == to && bad.to == from);
}

template <typename Bad>
bool AnyConcerns(const std::vector<Bad>& named, size_t from, size_t to) {
  return std::any_of(named.begin(), named.end(),
                     [&](const Bad& bad) { return Concerns(bad, from, to); });
}

// The value from `row` to `column`, or the other way where directions are not told apart.
const PairCell* CellAt(const PairCase& measured, size_t row, size_t column) {
  const PairCell* back = nullptr;
  for (const PairCell& cell : measured.cells) {
    if (cell.value.from == row && cell.value.to == column) return &cell;
    if (cell.value.from == column && cell.value.to == row) back = &cell;
  }
  return measured.analysis.both_ways ? nullptr : back;
}

const PairFailure* FailureAt(const PairCase& measured, size_t row, size_t column) {
  const auto found = std::find_if(
      measured.failures.begin(), measured.failures.end(), [&](const PairFailure& failure) {
        return (failure.from == row && failure.to == column) ||
               (!failure.one_way && failure.from == column && failure.to == row);
      });
  return found == measured.failures.end() ? nullptr : &*found;
}

// Flags that every value has: said once, they need no place in the matrix.
std::set<std::string> CommonFlags(const PairCase& measured) {
  if (measured.cells.size() < 2) return {};
  std::set<std::string> common(measured.cells[0].flags.begin(), measured.cells[0].flags.end());
  for (const PairCell& cell : measured.cells) {
    std::erase_if(common, [&](const std::string& flag) {
      return std::find(cell.flags.begin(), cell.flags.end(), flag) == cell.flags.end();
    });
  }
  return common;
}

// Which of the view's own marks were used.
struct Used {
  bool bad = false;
  bool doubtful = false;
};

struct MarkedCell {
  std::string number;
  std::string mark;
  Tone tone = Tone::kPlain;
};

MarkedCell MarkedCellAt(const PairCase& measured, size_t row, size_t column,
                        const std::set<std::string>& common, Marks& marks, Used& used) {
  const PairCell* const cell = CellAt(measured, row, column);
  if (cell == nullptr) {
    const PairFailure* const failure = FailureAt(measured, row, column);
    if (failure == nullptr) return {"-", "", Tone::kDim};
    const bool unsupported = failure->kind == PairFailureKind::kUnsupported;
    return {unsupported ? "unsupported" : "failed", "", unsupported ? Tone::kDim : Tone::kBad};
  }
  MarkedCell marked{FormatNumber(cell->value.value, measured.unit, 4), "", Tone::kPlain};
  const std::string verdict = PairVerdict(measured, cell->value.from, cell->value.to);
  if (verdict.starts_with("bad")) {
    used.bad = true;
    marked.mark = kBadMark;
    marked.tone = Tone::kBad;
  } else if (verdict == "doubtful") {
    used.doubtful = true;
    marked.mark = kDoubtfulMark;
    marked.tone = Tone::kDoubtful;
  }
  std::vector<std::string> flags = cell->flags;
  std::erase_if(flags, [&](const std::string& flag) { return common.count(flag) > 0; });
  marked.mark += marks.Letters(flags);
  if (!flags.empty() && marked.tone == Tone::kPlain) marked.tone = Tone::kDoubtful;
  return marked;
}

// Where the last column's marks are blank.
std::string WithoutTrailingBlanks(const std::string& lines) {
  std::string text;
  for (const char c : lines) {
    while (c == '\n' && text.ends_with(' ')) text.pop_back();
    text += c;
  }
  return text;
}

std::string Matrix(const PairCase& measured, const Style& style,
                   const std::set<std::string>& common, Marks& marks, Used& used) {
  const size_t nodes = measured.nodes.size();
  std::vector<std::vector<MarkedCell>> cells(nodes);
  // Marks stand in a column of their own, so that numbers stay aligned.
  std::vector<size_t> widths(nodes, 0);
  for (size_t row = 0; row < nodes; ++row) {
    for (size_t column = 0; column < nodes; ++column) {
      cells[row].push_back(MarkedCellAt(measured, row, column, common, marks, used));
      widths[column] = std::max(widths[column], cells[row].back().mark.size());
    }
  }
  std::vector<Column> columns = {{"NODE"}};
  for (size_t i = 0; i < nodes; ++i) {
    columns.push_back(
        {Sanitize(measured.nodes[i]) + std::string(widths[i], ' '), Align::kRight, 1});
  }
  Table table(std::move(columns));
  for (size_t row = 0; row < nodes; ++row) {
    std::vector<Cell> line = {Sanitize(measured.nodes[row])};
    for (size_t column = 0; column < nodes; ++column) {
      const MarkedCell& cell = cells[row][column];
      line.emplace_back(
          cell.number + cell.mark + std::string(widths[column] - cell.mark.size(), ' '), cell.tone);
    }
    table.Add(std::move(line));
  }
  return WithoutTrailingBlanks(table.Render(style));
}

std::string CaseName(const PairCase& measured) {
  return measured.benchmark + (measured.parameters.empty() ? "" : " " + measured.parameters);
}

std::string Heading(const PairCase& measured, const std::string& common) {
  std::string text = CaseName(measured);
  if (!measured.metric.empty()) {
    text += ": " + measured.metric + " in " + measured.unit +
            (measured.analysis.both_ways ? " from row to column" : " between row and column");
  }
  return text + (common.empty() ? "" : ", all " + common);
}

std::string LookAtText(const std::vector<PairCase>& cases, const Style& style) {
  const std::vector<PairSuspect> suspects = PairSuspects(cases);
  if (suspects.empty()) return "";
  std::string text = "\nTo look at, the likeliest first:\n";
  for (const PairSuspect& suspect : suspects) {
    std::string where;
    if (cases.size() > 1 && suspect.cases.size() == cases.size()) {
      where = ", in all " + std::to_string(cases.size()) + " cases";
    } else if (cases.size() > 1) {
      where = ", in " + std::to_string(suspect.cases.size()) + " of " +
              std::to_string(cases.size()) + " cases (";
      for (const size_t i : suspect.cases) {
        where += (i == suspect.cases[0] ? "" : "; ") + CaseName(cases[i]);
      }
      where += ")";
    }
    text +=
        Wrap(Sanitize("  " + suspect.name + where + ": " + suspect.advice), style.width, 4) + "\n";
  }
  return text;
}

}  // namespace

std::string PairVerdict(const PairCase& measured, size_t from, size_t to) {
  const PairAnalysis& analysis = measured.analysis;
  if (AnyConcerns(analysis.links, from, to)) return "bad_link";
  if (AnyConcerns(analysis.nodes, from, to)) return "bad_node";
  if (AnyConcerns(analysis.doubtful_links, from, to) ||
      AnyConcerns(analysis.doubtful_nodes, from, to)) {
    return "doubtful";
  }
  const auto& unjudged = analysis.unjudged_nodes;
  const bool judged = analysis.judged && std::count(unjudged.begin(), unjudged.end(), from) +
                                                 std::count(unjudged.begin(), unjudged.end(), to) ==
                                             0;
  return judged ? "ok" : "unjudged";
}

PairJudgement JudgementOf(const PairCase& measured) {
  const auto unjudged =
      std::count_if(measured.cells.begin(), measured.cells.end(), [&](const PairCell& cell) {
        return PairVerdict(measured, cell.value.from, cell.value.to) == "unjudged";
      });
  if (static_cast<size_t>(unjudged) == measured.cells.size()) return PairJudgement::kNone;
  return unjudged == 0 && measured.missing.empty() ? PairJudgement::kWhole
                                                   : PairJudgement::kPartial;
}

bool IsClear(const PairCase& measured) {
  const PairAnalysis& analysis = measured.analysis;
  return JudgementOf(measured) == PairJudgement::kWhole && !AnyBad(measured) &&
         !NoiseHides(measured) && analysis.doubtful_nodes.empty() &&
         analysis.doubtful_links.empty();
}

std::string PairsText(const std::vector<PairCase>& cases, const Style& style) {
  std::string text;
  Marks marks;
  Used used;
  for (const PairCase& measured : cases) {
    const std::set<std::string> common = CommonFlags(measured);
    const std::string letters = marks.Letters({common.begin(), common.end()});
    text += (text.empty() ? "" : "\n") + Sanitize(Heading(measured, letters)) + "\n" +
            Matrix(measured, style, common, marks, used);
    for (const std::string& finding : PairFindings(measured)) {
      text += Wrap(Sanitize(finding), style.width, 2) + "\n";
    }
  }
  std::string legend;
  if (used.bad) legend += std::string(kBadMark) + "  of a node or link that is named\n";
  if (used.doubtful) {
    legend += Wrap(std::string(kDoubtfulMark) + "  bad if it were certain: measure it again",
                   style.width, 3) +
              "\n";
  }
  legend += marks.Legend(style.width);
  return text + (legend.empty() ? "" : "\n" + legend) + LookAtText(cases, style);
}

}  // namespace assay::cli
