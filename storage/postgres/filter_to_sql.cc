#include <algorithm>
#include <optional>

#include "storage/postgres/result_rows.h"
#include "wire/result_filter.h"

namespace assay::storage {
namespace {

using schema::FieldType;

// An expression over result_view; NULL where the field has no value.
struct Column {
  FieldType type = FieldType::kText;
  std::string expression;
};

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

  std::vector<std::string> TakeValues() { return std::move(values_); }

 private:
  std::string Bind(std::string value) {
    values_.push_back(std::move(value));
    return "($1::text[])[" + std::to_string(values_.size()) + "]";
  }

  // Returns a condition that is true or false, never NULL.
  Result<std::string> Restriction(const Filter& filter) {
    ASSAY_ASSIGN_OR_RETURN(const Column column, ColumnOf(filter.field));
    std::string holds;
    if (column.type == FieldType::kTexts) {
      holds = "EXISTS (SELECT FROM unnest(" + column.expression + ") AS one WHERE " +
              Holds({FieldType::kText, "one"}, filter) + ")";
    } else {
      holds = "coalesce(" + Holds(column, filter) + ", false)";
    }
    return filter.comparator == Comparator::kNotEqual ? "NOT " + holds : holds;
  }

  Result<Column> ColumnOf(const std::string& name) {
    const std::optional<schema::NamedField> named = schema::FilterableField(name);
    if (!named) {
      return InvalidArgument("filter: results have no field `" + name + "`", Reason::kUnknownField);
    }
    const FieldType type = named->field->type;
    std::string expression = "v.\"" + schema::ColumnName(named->field->name) + "\"";
    if (type != FieldType::kMap) return Column{type, std::move(expression)};
    return Column{FieldType::kText, "(" + expression + " ->> " + Bind(named->key) + ")"};
  }

  std::string Holds(const Column& column, const Filter& filter) {
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
    // A text that is not a number equals only itself. An index can answer this.
    const bool numeric = value.find_first_of("0123456789") != std::string::npos &&
                         value.find_first_not_of("+-.0123456789eE") == std::string::npos;
    if (!numeric) return expression + " = " + Bind(value);
    return "assay_compare(" + expression + ", " + Bind(value) + ") = 0";
  }

  std::vector<std::string> values_;
};

// Returns true if all fields of the filter have the same value for all results of a series.
bool DependsOnSeriesOnly(const Filter& filter) {
  if (filter.kind != Filter::Kind::kRestriction) {
    return std::all_of(filter.children.begin(), filter.children.end(), DependsOnSeriesOnly);
  }
  const std::optional<schema::NamedField> named = schema::FilterableField(filter.field);
  if (!named) return false;
  const schema::ResultField& field = *named->field;
  return field.stored_in == schema::StoredIn::kSeries ||
         field.stored_in == schema::StoredIn::kEnvironment || field.name == "parameters" ||
         field.name == "nccl_variables" || field.name == "series_id" || field.name == "lineage_id";
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

void Split(const Filter& filter, SplitFilter& split) {
  if (filter.kind == Filter::Kind::kAnd) {
    for (const Filter& child : filter.children) Split(child, split);
  } else if (filter.kind != Filter::Kind::kAll) {
    AddConjunct(DependsOnSeriesOnly(filter) ? split.of_series : split.others, filter);
  }
}

}  // namespace

SplitFilter SplitBySeries(const Filter& filter) {
  SplitFilter split;
  Split(filter, split);
  return split;
}

std::string SeriesView() {
  return "(SELECT s.series_key, s.series_id, s.lineage_id, s.parameters,"
         " e.content -> 'nccl' AS nccl_variables, s.direction::text AS direction, " +
         FieldColumns(schema::StoredIn::kEnvironment, "e.") +
         ", s.benchmark, s.benchmark_version, s.metric, s.unit, s.cache, s.fill, s.simulated"
         " FROM series s JOIN environment e USING (environment_id)) v ";
}

Result<SqlCondition> FilterToSql(const Filter& filter) {
  Translator translator;
  ASSAY_ASSIGN_OR_RETURN(std::string text, translator.Translate(filter));
  return SqlCondition{std::move(text), translator.TakeValues()};
}

}  // namespace assay::storage
