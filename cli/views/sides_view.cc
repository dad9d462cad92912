#include "cli/views/sides_view.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "cli/views/case_text.h"
#include "cli/views/format.h"
#include "cli/views/output.h"
#include "common/text.h"
#include "wire/field.h"

namespace assay::cli {
namespace {

constexpr size_t kMostNames = 4;

std::vector<v1::CaseIdentity> CasesOf(const v1::CompareResultsResponse& comparison) {
  std::vector<v1::CaseIdentity> cases;
  for (const v1::CaseComparison& one : comparison.cases()) cases.push_back(one.case_());
  return cases;
}

int64_t CountOf(const v1::CompareResultsResponse& comparison, v1::ComparisonVerdict verdict) {
  return std::count_if(comparison.cases().begin(), comparison.cases().end(),
                       [&](const v1::CaseComparison& one) { return one.verdict() == verdict; });
}

// Returns a name for the comparison, such as "driver 590.10 against 580.95.05". If both labels
// begin with the same word, such as "driver", includes that word only once.
std::string SidesName(const v1::CompareResultsResponse& comparison) {
  const std::string a = comparison.label_a().empty() ? "A" : comparison.label_a();
  const std::string b = comparison.label_b().empty() ? "B" : comparison.label_b();
  const size_t word = a.find(' ');
  // Show filters unabridged, because their first word belongs to the operator that follows it.
  const bool filters = a.find_first_of("=<>:!(") != std::string::npos;
  const bool shared = !filters && word != std::string::npos && b.starts_with(a.substr(0, word + 1));
  return Sanitize(b + " against " + (shared ? a.substr(word + 1) : a));
}

std::string Headline(const v1::CompareResultsResponse& comparison) {
  static constexpr std::array<std::pair<v1::ComparisonVerdict, const char*>, 4> kWords = {{
      {v1::COMPARISON_VERDICT_REGRESSED, "regressed"},
      {v1::COMPARISON_VERDICT_IMPROVED, "improved"},
      {v1::COMPARISON_VERDICT_EQUIVALENT, "equivalent"},
      {v1::COMPARISON_VERDICT_INCONCLUSIVE, "inconclusive"},
  }};
  std::vector<std::string> parts;
  for (const auto& [verdict, word] : kWords) {
    const int64_t count = CountOf(comparison, verdict);
    if (verdict == v1::COMPARISON_VERDICT_REGRESSED) {
      parts.push_back((count == 0 ? "no case" : Counted(count, "case")) + " " + word);
    } else if (count > 0) {
      parts.push_back(std::to_string(count) + " " + word);
    }
  }
  return SidesName(comparison) + ": " + Join(parts);
}

// Returns "-9.9..-9.5%".
std::string IntervalText(const v1::CaseComparison& one) {
  if (!one.has_ratio_low() || !one.has_ratio_high()) return "";
  std::string low = ChangeText(one.ratio_low());
  if (!low.empty()) low.pop_back();  // "%"
  return low + ".." + ChangeText(one.ratio_high());
}

Tone ToneOf(v1::ComparisonVerdict verdict) {
  switch (verdict) {
    case v1::COMPARISON_VERDICT_REGRESSED:
      return Tone::kBad;
    case v1::COMPARISON_VERDICT_IMPROVED:
      return Tone::kGood;
    case v1::COMPARISON_VERDICT_INCONCLUSIVE:
      return Tone::kDoubtful;
    default:
      return Tone::kPlain;
  }
}

std::string VerdictWord(v1::ComparisonVerdict verdict) {
  return schema::EnumWord(*v1::ComparisonVerdict_descriptor(), verdict);
}

// Returns the numbers of places on both sides, or the one number if all are common.
std::string PlacesText(const v1::CaseComparison& one) {
  if (one.common_places() > 0) return std::to_string(one.common_places());
  return std::to_string(one.places_a()) + "/" + std::to_string(one.places_b());
}

// Returns both medians in the same unit.
std::array<Quantity, 2> MediansOf(const v1::CaseComparison& one) {
  const std::string& unit = one.case_().unit();
  std::array<Quantity, 2> medians = {FormatQuantity(one.median_a(), unit),
                                     FormatQuantity(one.median_b(), unit)};
  if (medians[0].unit == medians[1].unit) return medians;
  constexpr int kDigits = 4;
  return {Quantity{FormatNumber(one.median_a(), unit, kDigits), unit},
          Quantity{FormatNumber(one.median_b(), unit, kDigits), unit}};
}

Table CaseTable(const v1::CompareResultsResponse& comparison, const CaseNames& names, int limit,
                const std::string& noun) {
  Table table({{"CASE"},
               {"CHANGE", Align::kRight},
               {"99% INTERVAL", Align::kLeft, 1},
               {"A", Align::kRight},
               {"B", Align::kRight},
               {"UNIT"},
               {"RUNS", Align::kRight, 3},
               {noun == "GPU"    ? "GPUS"
                : noun == "node" ? "NODES"
                                 : "PLACES",
                Align::kRight, 4},
               {"VERDICT"}});
  for (const v1::CaseComparison& one : comparison.cases()) {
    if (limit-- == 0) break;
    const auto [a, b] = MediansOf(one);
    const Tone tone = ToneOf(one.verdict());
    table.Add({names.Short(one.case_()), Cell(ChangeText(one.ratio()), tone), IntervalText(one),
               a.number, b.number, a.unit,
               std::to_string(one.runs_a()) + "/" + std::to_string(one.runs_b()), PlacesText(one),
               Cell(VerdictWord(one.verdict()), tone)});
  }
  return table;
}

// Says what would give an inconclusive case a verdict.
std::string NeedText(const v1::CaseComparison& one, const std::string& noun) {
  const int count = one.missing_count();
  const std::string about = count > 0 ? "about " + std::to_string(count) + " " : "";
  switch (one.missing()) {
    case v1::MISSING_EVIDENCE_RUNS:
      return "needs " + about + "more " + Plural(count, "run") + " per " + noun;
    case v1::MISSING_EVIDENCE_PLACES:
      return "needs " + about + "more " + Plural(count, noun);
    case v1::MISSING_EVIDENCE_ALTERNATING_RUNS:
      return "needs " + about + (count > 0 ? "more " : "") + "runs of A and B in turns";
    default:
      return "needs more runs";
  }
}

// Lists the inconclusive cases by their needs, in the order of the cases.
std::string NeedsText(const v1::CompareResultsResponse& comparison, const CaseNames& names,
                      const std::string& noun, int width) {
  std::vector<std::pair<std::string, std::vector<std::string>>> needs;
  for (const v1::CaseComparison& one : comparison.cases()) {
    if (one.verdict() != v1::COMPARISON_VERDICT_INCONCLUSIVE) continue;
    const std::string need = NeedText(one, noun);
    auto known = std::find_if(needs.begin(), needs.end(),
                              [&](const auto& entry) { return entry.first == need; });
    if (known == needs.end()) known = needs.insert(needs.end(), {need, {}});
    known->second.push_back(names.Short(one.case_()));
  }
  if (needs.empty()) return "";
  std::string text = "Inconclusive:\n";
  for (const auto& [need, cases] : needs) {
    text +=
        "  " + Wrap(need + ": " + JoinSome(cases, kMostNames), std::max(width - 2, 0), 4) + "\n";
  }
  return text;
}

// Returns a sentence if verdicts hold only for the places that were compared.
std::string ReachText(const v1::CompareResultsResponse& comparison, const std::string& noun) {
  const int64_t limited =
      std::count_if(comparison.cases().begin(), comparison.cases().end(),
                    [](const v1::CaseComparison& one) { return one.these_places_only(); });
  if (limited == 0) return "";
  const std::string reach =
      " for these " + Plural(2, noun) + " only, because there are fewer than three.";
  return (limited == comparison.cases_size() ? "The verdicts hold"
                                             : Counted(limited, "verdict holds", "verdicts hold")) +
         reach;
}

std::string LeftOutRuns(const v1::CompareResultsResponse& comparison) {
  if (comparison.excluded_runs() == 0) return "";
  return Counted(comparison.excluded_runs(), "run was", "runs were") +
         " left out because their output was not verified.";
}

std::string OneSidedCases(const v1::CompareResultsResponse& comparison) {
  const int only_a = comparison.cases_only_a();
  const int only_b = comparison.cases_only_b();
  if (only_a + only_b == 0) return "";
  return Counted(only_a + only_b, "case has", "cases have") +
         " runs on one side only: " + std::to_string(only_a) + " of A, " + std::to_string(only_b) +
         " of B.";
}

// Explains why nothing was compared.
std::string NothingCommon(const v1::CompareResultsResponse& comparison) {
  const auto label = [](const std::string& name, const std::string& text) {
    return name + (text.empty() ? "" : " (" + Sanitize(text) + ")");
  };
  const std::string a = label("A", comparison.label_a());
  const std::string b = label("B", comparison.label_b());
  if (comparison.runs_a() == 0 || comparison.runs_b() == 0) {
    const bool both = comparison.runs_a() == 0 && comparison.runs_b() == 0;
    return "No runs match " + (both ? a + " or " + b : comparison.runs_a() == 0 ? a : b) + ".";
  }
  std::string text = "No case has runs on both sides: " + a + " has " +
                     Counted(comparison.runs_a(), "run") + ", " + b + " has " +
                     Counted(comparison.runs_b(), "run") + ".";
  if (!comparison.differing_fields().empty()) {
    text += " The sides differ in " + Sanitize(Join(comparison.differing_fields())) + ".";
  }
  return text;
}

}  // namespace

bool HasRegressed(const v1::CompareResultsResponse& comparison) {
  return CountOf(comparison, v1::COMPARISON_VERDICT_REGRESSED) > 0;
}

std::string SidesText(const v1::CompareResultsResponse& comparison, int limit, const Style& style) {
  std::string text;
  const auto add = [&](const std::string& sentence) {
    if (!sentence.empty()) text += Wrap(sentence, style.width, 2) + "\n";
  };
  if (comparison.cases().empty()) {
    add(NothingCommon(comparison));
    add(LeftOutRuns(comparison));
    return text;
  }
  const std::vector<v1::CaseIdentity> cases = CasesOf(comparison);
  const CaseNames names(cases);
  const std::string noun = PlaceNoun(cases);
  add(Headline(comparison));
  text += CaseTable(comparison, names, limit == 0 ? comparison.cases_size() : limit, noun)
              .Render(style);
  if (limit > 0 && comparison.cases_size() > limit) {
    add(Counted(comparison.cases_size() - limit, "more case") + "; --limit 0 for all");
  }
  text += NeedsText(comparison, names, noun, style.width);
  add(ReachText(comparison, noun));
  add(LeftOutRuns(comparison));
  add(OneSidedCases(comparison));
  return text;
}

std::string SidesCsv(const v1::CompareResultsResponse& comparison) {
  std::string csv = CsvRecordAfter(
      CaseColumns(), {"side_a", "side_b", "verdict", "ratio", "ratio_low", "ratio_high", "median_a",
                      "median_b", "places_a", "places_b", "common_places", "runs_a", "runs_b",
                      "these_places_only", "missing", "missing_count"});
  for (const v1::CaseComparison& one : comparison.cases()) {
    csv += CsvRecordAfter(
        CaseValues(one.case_()),
        {comparison.label_a(), comparison.label_b(), VerdictWord(one.verdict()),
         FormatExact(one.ratio()), one.has_ratio_low() ? FormatExact(one.ratio_low()) : "",
         one.has_ratio_high() ? FormatExact(one.ratio_high()) : "", FormatExact(one.median_a()),
         FormatExact(one.median_b()), std::to_string(one.places_a()),
         std::to_string(one.places_b()), std::to_string(one.common_places()),
         std::to_string(one.runs_a()), std::to_string(one.runs_b()),
         one.these_places_only() ? "true" : "false",
         schema::EnumWord(*v1::MissingEvidence_descriptor(), one.missing()),
         std::to_string(one.missing_count())});
  }
  return csv;
}

}  // namespace assay::cli
