#include "storage/postgres/filter_to_sql.h"

#include <map>
#include <optional>

#include "wire/result_filter.h"

namespace assay::storage {
namespace {

struct Column {
  enum class Kind { kText, kTexts, kNumber, kBoolean };
  Kind kind = Kind::kText;
  std::string expression;
};

// NULL where the field has no value.
const std::map<std::string, Column, std::less<>>& Columns() {
  using Kind = Column::Kind;
  static const std::map<std::string, Column, std::less<>> columns = {
      {"benchmark", {Kind::kText, "NULLIF(s.benchmark, '')"}},
      {"metric", {Kind::kText, "NULLIF(s.metric, '')"}},
      {"unit", {Kind::kText, "NULLIF(s.unit, '')"}},
      {"median", {Kind::kNumber, "r.median"}},
      {"mad", {Kind::kNumber, "r.mad"}},
      {"uncertainty",
       {Kind::kNumber,
        "CASE WHEN r.n >= 6 AND r.median <> 0 THEN (r.ci_high - r.ci_low) / 2 / abs(r.median) "
        "END"}},
      {"stop_reason", {Kind::kText, "r.stop_reason"}},
      {"outcome",
       {Kind::kText,
        "CASE r.outcome WHEN 1 THEN 'ok' WHEN 2 THEN 'failed' WHEN 3 THEN 'unsupported' END"}},
      {"primary", {Kind::kBoolean, "r.is_primary"}},
      {"simulated", {Kind::kBoolean, "s.simulated"}},
      {"imported", {Kind::kBoolean, "(r.imported_from IS NOT NULL)"}},
      {"imported_from", {Kind::kText, "r.imported_from"}},
      {"campaign", {Kind::kText, "c.name"}},
      {"campaign_id", {Kind::kText, "c.campaign_id"}},
      {"job_id", {Kind::kText, "r.job_id"}},
      {"repetition", {Kind::kNumber, "r.repetition"}},
      {"series_id", {Kind::kText, "s.series_id"}},
      {"lineage_id", {Kind::kText, "s.lineage_id"}},
      {"cache", {Kind::kText, "NULLIF(s.cache, '')"}},
      {"fill", {Kind::kText, "NULLIF(s.fill, '')"}},
      {"gpu.model", {Kind::kText, "NULLIF(e.gpu_model, '')"}},
      {"gpu.form_factor", {Kind::kText, "NULLIF(e.gpu_form_factor, '')"}},
      {"gpu.mig_profile", {Kind::kText, "NULLIF(e.gpu_mig_profile, '')"}},
      {"gpu.count", {Kind::kNumber, "e.gpu_count"}},
      {"gpu.uuid", {Kind::kTexts, "r.gpu_uuids"}},
      {"topology", {Kind::kText, "NULLIF(e.topology, '')"}},
      {"cpu.model", {Kind::kText, "NULLIF(e.cpu_model, '')"}},
      {"driver", {Kind::kText, "NULLIF(e.driver_version, '')"}},
      {"cuda", {Kind::kText, "NULLIF(e.cuda_version, '')"}},
      {"cublas", {Kind::kText, "NULLIF(e.cublas_version, '')"}},
      {"nccl", {Kind::kText, "NULLIF(e.nccl_version, '')"}},
      {"blas", {Kind::kText, "NULLIF(e.blas_version, '')"}},
      {"node", {Kind::kTexts, "r.node_names"}},
      {"node_id", {Kind::kTexts, "r.node_ids"}},
      {"provider", {Kind::kText, "NULLIF(r.provider, '')"}},
      {"region", {Kind::kText, "NULLIF(r.region, '')"}},
      {"kernel", {Kind::kText, "NULLIF(r.kernel, '')"}},
      {"agent_version", {Kind::kText, "NULLIF(r.agent_version, '')"}},
      {"price_per_hour", {Kind::kNumber, "r.price_per_hour"}},
      {"efficiency_spec", {Kind::kNumber, "r.efficiency_spec"}},
      {"model_seconds", {Kind::kNumber, "r.link_model[1]"}},
      {"model_latency_seconds", {Kind::kNumber, "r.link_model[2]"}},
      {"model_bandwidth", {Kind::kNumber, "r.link_model[3]"}},
      {"model_knee_bytes", {Kind::kNumber, "r.link_model[4]"}},
      {"model_error", {Kind::kNumber, "r.link_model[5]"}},
      {"model_sizes", {Kind::kNumber, "r.link_model[6]"}},
      {"regime", {Kind::kText, "r.regime"}},
      {"failure_reason", {Kind::kText, "r.failure_reason"}},
      {"flag", {Kind::kTexts, "r.flags"}},
      {"time", {Kind::kNumber, "extract(epoch FROM r.start_time)"}},
      {"end_time", {Kind::kNumber, "extract(epoch FROM r.end_time)"}},
      {"benchmark_version", {Kind::kNumber, "s.benchmark_version"}},
      {"p05", {Kind::kNumber, "r.p05"}},
      {"p95", {Kind::kNumber, "r.p95"}},
      {"ci_low", {Kind::kNumber, "r.ci_low"}},
      {"ci_high", {Kind::kNumber, "r.ci_high"}},
  };
  return columns;
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

  // Never NULL.
  Result<std::string> Restriction(const Filter& filter) {
    ASSAY_ASSIGN_OR_RETURN(const Column column, ColumnOf(filter.field));
    std::string holds;
    if (column.kind == Column::Kind::kTexts) {
      holds = "EXISTS (SELECT FROM unnest(" + column.expression + ") AS v WHERE " +
              Holds({Column::Kind::kText, "v"}, filter) + ")";
    } else {
      holds = "coalesce(" + Holds(column, filter) + ", false)";
    }
    return filter.comparator == Comparator::kNotEqual ? "NOT " + holds : holds;
  }

  Result<Column> ColumnOf(const std::string& field) {
    const auto named = schema::FilterableField(field);
    if (named && !named->key.empty()) {
      const bool parameter = named->field->name == "parameters";
      return Column{Column::Kind::kText,
                    (parameter ? "(s.parameters ->> " : "(e.content -> 'nccl' ->> ") +
                        Bind(named->key) + ")"};
    }
    const auto it = Columns().find(field);
    if (it == Columns().end()) {
      return InvalidArgument("filter: results have no field `" + field + "`", "UNKNOWN_FIELD");
    }
    return it->second;
  }

  std::string Holds(const Column& column, const Filter& filter) {
    const std::string& expression = column.expression;
    if (filter.comparator == Comparator::kHas) {
      return filter.value == "*" ? "(" + expression + ") IS NOT NULL"
                                 : "strpos(" + expression + ", " + Bind(filter.value) + ") > 0";
    }
    const std::string sign = std::string(" ") + Sign(filter.comparator) + " ";
    if (column.kind == Column::Kind::kNumber) {
      return expression + sign + Bind(filter.value) + "::float8";
    }
    if (column.kind == Column::Kind::kBoolean) {
      return expression + sign + Bind(filter.value) + "::boolean";
    }
    if (sign == " = ") return Equals(expression, filter.value);
    if (filter.numbers_only) return Ordered(expression, sign, Bind(filter.value));
    return "assay_compare(" + expression + ", " + Bind(filter.value) + ")" + sign + "0";
  }

  // As CompareNumbers: what assay_compare would order as text has no order. NULL then.
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
    // Text that is no number equals only itself, which an index can answer.
    const bool numeric = value.find_first_of("0123456789") != std::string::npos &&
                         value.find_first_not_of("+-.0123456789eE") == std::string::npos;
    if (!numeric) return expression + " = " + Bind(value);
    return "assay_compare(" + expression + ", " + Bind(value) + ") = 0";
  }

  std::vector<std::string> values_;
};

}  // namespace

Result<SqlCondition> FilterToSql(const Filter& filter) {
  Translator translator;
  ASSAY_ASSIGN_OR_RETURN(std::string text, translator.Translate(filter));
  return SqlCondition{std::move(text), translator.TakeValues()};
}

}  // namespace assay::storage
