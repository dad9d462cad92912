#include "storage/postgres/filter_to_sql.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "wire/result_fields.h"
#include "wire/result_filter.h"

namespace assay::storage {
namespace {

using schema::FieldType;

constexpr JoinedTables kOnlySeries{.series = true};
constexpr JoinedTables kOnlyOrigin{.origin = true};
constexpr JoinedTables kOnlyCampaign{.campaign = true};

// Returns the column of a field, and the table that contains it.
SqlField ColumnOf(const schema::ResultField& field) {
  const auto column = [&](const char* alias, const JoinedTables& tables) {
    return SqlField{field.type, false,
                    std::string(alias) + "\"" + schema::ColumnName(field.name) + "\"", tables};
  };
  switch (field.stored_in) {
    case schema::StoredIn::kSeries:
      return column("s.", kOnlySeries);
    case schema::StoredIn::kEnvironment:
      return column("e.", kOnlySeries);
    case schema::StoredIn::kOrigin:
      return column("o.", kOnlyOrigin);
    case schema::StoredIn::kResult:
      // Outcomes are compared as text.
      if (field.name == "outcome") return {field.type, false, "r.outcome::text", {}};
      return column("r.", {});
    default:
      break;
  }
  const auto computed = [&](const char* expression, const JoinedTables& tables) {
    return SqlField{field.type, false, expression, tables};
  };
  if (field.name == "campaign") return computed("c.name", kOnlyCampaign);
  if (field.name == "campaign_id") return computed("c.campaign_id", kOnlyCampaign);
  if (field.name == "nccl_variables") return computed("(e.content -> 'nccl')", kOnlySeries);
  if (field.name == "imported") return computed("(o.imported_from IS NOT NULL)", kOnlyOrigin);
  if (field.name == "uncertainty") {
    return computed("CASE WHEN r.median <> 0 THEN (r.ci_high - r.ci_low) / 2 / abs(r.median) END",
                    {});
  }
  const bool of_series =
      field.name == "series_id" || field.name == "lineage_id" || field.name == "parameters";
  return of_series ? column("s.", kOnlySeries) : column("r.", {});
}

// Returns true if a text may equal other texts as a number or version.
bool IsNumeric(const std::string& value) {
  return value.find_first_of("0123456789") != std::string::npos &&
         value.find_first_not_of("+-.0123456789eE") == std::string::npos;
}

// Returns true if a text that equals `value` is the same text.
bool IsExact(const std::string& value) {
  return !value.starts_with('*') && !value.ends_with('*') && !IsNumeric(value);
}

const char* Sign(Comparator comparator) {
  switch (comparator) {
    case Comparator::kLess:
      return "<";
    case Comparator::kLessOrEqual:
      return "<=";
    case Comparator::kGreater:
      return ">";
    case Comparator::kGreaterOrEqual:
      return ">=";
    default:  // != is the negation of =.
      return "=";
  }
}

class Translator {
 public:
  explicit Translator(std::vector<std::string> values = {}) : values_(std::move(values)) {}

  Result<std::string> Translate(const Filter& filter) {
    switch (filter.kind) {
      case Filter::Kind::kAll:
        return std::string("true");
      case Filter::Kind::kRestriction:
        return Restriction(filter);
      case Filter::Kind::kNot: {
        ASSAY_ASSIGN_OR_RETURN(const std::string inner, Translate(filter.children[0]));
        return "NOT " + inner;
      }
      case Filter::Kind::kAnd:
      case Filter::Kind::kOr:
        break;
    }
    std::string text = "(";
    for (const Filter& child : filter.children) {
      ASSAY_ASSIGN_OR_RETURN(const std::string inner, Translate(child));
      if (text.size() > 1) text += filter.kind == Filter::Kind::kAnd ? " AND " : " OR ";
      text += inner;
    }
    return text + ")";
  }

  Result<SqlField> Field(const std::string& name) {
    const std::optional<schema::NamedField> named = schema::FilterableField(name);
    if (!named) {
      return InvalidArgument("filter: results have no field `" + name + "`", Reason::kUnknownField);
    }
    SqlField field = ColumnOf(*named->field);
    tables_.Add(field.tables);
    if (field.type != FieldType::kMap) return field;
    return SqlField{FieldType::kText, true,
                    "(" + field.expression + " ->> " + Bind(named->key) + ")", field.tables};
  }

  std::vector<std::string> TakeValues() { return std::move(values_); }
  const JoinedTables& tables() const { return tables_; }

 private:
  std::string Bind(std::string value) {
    values_.push_back(std::move(value));
    return "($1::text[])[" + std::to_string(values_.size()) + "]";
  }

  // Returns a condition that is true or false, never NULL.
  Result<std::string> Restriction(const Filter& filter) {
    ASSAY_ASSIGN_OR_RETURN(const SqlField field, Field(filter.field));
    const std::string holds = NeverNull(field, filter);
    return filter.comparator == Comparator::kNotEqual ? "NOT " + holds : holds;
  }

  std::string NeverNull(const SqlField& field, const Filter& filter) {
    const bool equality =
        filter.comparator == Comparator::kEqual || filter.comparator == Comparator::kNotEqual;
    const bool texts = field.type == FieldType::kTexts;
    // PostgreSQL can use an index for these two forms, but not for an expression in coalesce().
    if (equality && IsExact(filter.value)) {
      const std::string known = "(" + field.expression + " IS NOT NULL AND " + field.expression;
      if (texts) return known + " && ARRAY[" + Bind(filter.value) + "])";
      if (field.type == FieldType::kText) return known + " = " + Bind(filter.value) + ")";
    }
    if (!texts) return "coalesce(" + Holds(field, filter) + ", false)";
    return "EXISTS (SELECT FROM unnest(" + field.expression + ") AS one WHERE " +
           Holds({FieldType::kText, false, "one", {}}, filter) + ")";
  }

  std::string Holds(const SqlField& column, const Filter& filter) {
    const std::string& expression = column.expression;
    if (filter.comparator == Comparator::kHas) {
      return filter.value == "*" ? "(" + expression + ") IS NOT NULL"
                                 : "strpos(" + expression + ", " + Bind(filter.value) + ") > 0";
    }
    const std::string sign = std::string(" ") + Sign(filter.comparator) + " ";
    switch (column.type) {
      case FieldType::kNumber:
        return expression + sign + Bind(filter.value) + "::float8";
      case FieldType::kTime:
        return expression + sign + "to_timestamp(" + Bind(filter.value) + "::float8)";
      case FieldType::kBoolean:
        return expression + sign + Bind(filter.value) + "::boolean";
      default:
        break;
    }
    if (sign == " = ") return Equals(expression, filter.value);
    if (filter.numbers_only) return Ordered(expression, sign, Bind(filter.value));
    return "assay_compare(" + expression + ", " + Bind(filter.value) + ")" + sign + "0";
  }

  // Compares like CompareNumbers: NULL if assay_compare would compare the two as text.
  static std::string Ordered(const std::string& expression, const std::string& sign,
                             const std::string& value) {
    const auto both = [&](const std::string& pattern) {
      return "(" + expression + " ~ '" + pattern + "' AND " + value + " ~ '" + pattern + "')";
    };
    return "CASE WHEN " + both(R"(^\d{1,18}(\.\d{1,18})*$)") + " OR (length(" + expression +
           ") <= 80 AND " + both(R"(^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,2})?$)") +
           ") THEN assay_compare(" + expression + ", " + value + ")" + sign + "0 END";
  }

  std::string Equals(const std::string& expression, const std::string& value) {
    const bool prefix = value.ends_with('*');
    const bool suffix = value.starts_with('*');
    if (value == "*") return "(" + expression + ") IS NOT NULL";
    if (prefix && suffix) {
      return "strpos(" + expression + ", " + Bind(value.substr(1, value.size() - 2)) + ") > 0";
    }
    if (prefix) {
      return "starts_with(" + expression + ", " + Bind(value.substr(0, value.size() - 1)) + ")";
    }
    if (suffix) {
      const std::string end = Bind(value.substr(1));
      return "right(" + expression + ", length(" + end + ")) = " + end;
    }
    if (!IsNumeric(value)) return expression + " = " + Bind(value);
    return "assay_compare(" + expression + ", " + Bind(value) + ") = 0";
  }

  std::vector<std::string> values_;
  JoinedTables tables_;
};

// Returns the tables to which a filter refers.
JoinedTables TablesOf(const Filter& filter) {
  JoinedTables tables;
  for (const Filter& child : filter.children) tables.Add(TablesOf(child));
  if (filter.kind != Filter::Kind::kRestriction) return tables;
  if (const auto named = schema::FilterableField(filter.field)) {
    tables.Add(ColumnOf(*named->field).tables);
  }
  return tables;
}

// Returns true if the filter refers to `result` itself.
bool RefersToResult(const Filter& filter) {
  if (filter.kind == Filter::Kind::kRestriction) return TablesOf(filter) == JoinedTables();
  return std::any_of(filter.children.begin(), filter.children.end(), RefersToResult);
}

void AddConjunct(Filter& conjunction, const Filter& filter) {
  if (conjunction.kind == Filter::Kind::kAll) {
    conjunction = filter;
    return;
  }
  Filter both;
  both.kind = Filter::Kind::kAnd;
  both.children = {std::move(conjunction), filter};
  conjunction = std::move(both);
}

bool Is(const Filter& filter, std::string_view field, std::string_view value) {
  return filter.kind == Filter::Kind::kRestriction && filter.field == field &&
         filter.comparator == Comparator::kEqual && filter.value == value;
}

// Adds the jobs of `job_id = a OR job_id = b`. Returns false if the filter has any other form.
bool AddJobs(const Filter& filter, std::vector<std::string>& jobs) {
  if (filter.kind == Filter::Kind::kOr) {
    return std::all_of(filter.children.begin(), filter.children.end(),
                       [&](const Filter& child) { return AddJobs(child, jobs); });
  }
  jobs.push_back(filter.value);
  return Is(filter, "job_id", filter.value) && IsExact(filter.value);
}

// If the filter requires results to begin or end after some time, raises `since` to this time.
void SetSince(const Filter& filter, std::optional<double>& since) {
  const bool later =
      filter.comparator == Comparator::kGreater || filter.comparator == Comparator::kGreaterOrEqual;
  // A case ends after it has begun, so a lower bound of its begin is also one of its end.
  const bool of_time = filter.field == "time" || filter.field == "end_time";
  if (filter.kind != Filter::Kind::kRestriction || !of_time || !later) return;
  const double seconds = std::strtod(filter.value.c_str(), nullptr);
  since = std::max(since.value_or(seconds), seconds);
}

void Split(const Filter& filter, SplitFilter& split) {
  if (filter.kind == Filter::Kind::kAll) return;
  if (filter.kind == Filter::Kind::kAnd) {
    for (const Filter& child : filter.children) Split(child, split);
    return;
  }
  if (Is(filter, "imported", "false")) {
    split.measured_only = true;
    return;
  }
  const JoinedTables tables = TablesOf(filter);
  const bool simple = !RefersToResult(filter);
  if (simple && tables == kOnlySeries) return AddConjunct(split.of_series, filter);
  if (simple && tables == kOnlyOrigin) return AddConjunct(split.of_origin, filter);
  if (simple && tables == kOnlyCampaign) return AddConjunct(split.of_campaign, filter);
  AddConjunct(split.others, filter);
  split.more = split.more || !Is(filter, "primary", "true");
  SetSince(filter, split.since);
  std::vector<std::string> jobs;
  if (split.jobs.empty() && AddJobs(filter, jobs)) split.jobs = std::move(jobs);
}

}  // namespace

void JoinedTables::Add(const JoinedTables& other) {
  series = series || other.series;
  origin = origin || other.origin;
  campaign = campaign || other.campaign;
}

std::string ResultsFrom(const JoinedTables& tables) {
  std::string from = "result r";
  if (tables.series) {
    from += " JOIN series s USING (series_key) JOIN environment e USING (environment_id)";
  }
  if (tables.origin) from += " JOIN origin o USING (origin_key)";
  if (tables.campaign) from += " JOIN campaign c USING (campaign_id)";
  return from;
}

SplitFilter SplitByTable(const Filter& filter) {
  SplitFilter split;
  Split(filter, split);
  return split;
}

Result<SqlField> FieldToSql(const std::string& name, std::vector<std::string>& values) {
  Translator translator(std::move(values));
  Result<SqlField> field = translator.Field(name);
  values = translator.TakeValues();
  return field;
}

Result<SqlCondition> FilterToSql(const Filter& filter) {
  Translator translator;
  ASSAY_ASSIGN_OR_RETURN(std::string text, translator.Translate(filter));
  return SqlCondition{std::move(text), translator.TakeValues(), translator.tables()};
}

}  // namespace assay::storage
