#include "cli/views/result_columns.h"

#include <algorithm>
#include <cctype>

#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/result_text.h"
#include "common/text.h"

namespace assay::cli {
namespace {

constexpr int kDigits = 5;

Result<ResultColumn> ParseColumn(const std::string& name) {
  if (const schema::ResultField* field = schema::FindResultField(name))
    return ResultColumn{name, field, ""};
  const size_t dot = name.find('.');
  const schema::ResultField* map = schema::FindResultField(name.substr(0, dot));
  if (dot != std::string::npos && map != nullptr && map->type == schema::FieldType::kMap) {
    return ResultColumn{name, map, name.substr(dot + 1)};
  }
  std::vector<std::string> known;
  for (const schema::ResultField& field : schema::ResultFields()) known.emplace_back(field.name);
  const std::string closest = ClosestName(name, known);
  return InvalidArgument("results have no field " + Quote(name), Reason::kUnknownField)
      .WithHint(closest.empty() ? "the fields are listed in docs/reference/filter-fields.md"
                                : "did you mean " + Quote(closest) + "?");
}

bool IsNumber(const ResultColumn& column) {
  return column.field->type == schema::FieldType::kNumber;
}

}  // namespace

schema::FieldValue ResultColumn::Value(const v1::StoredResult& result) const {
  const schema::FieldValue value = field->Value(result);
  if (member.empty()) return value;
  const auto found = value.find(member);
  return found == value.end() ? schema::FieldValue() : *found;
}

Result<std::vector<ResultColumn>> ParseResultColumns(const std::string& names) {
  std::vector<ResultColumn> columns;
  for (const std::string_view name : Split(names, ',')) {
    ASSAY_ASSIGN_OR_RETURN(columns.emplace_back(), ParseColumn(std::string(name)));
  }
  return columns;
}

std::string TableText(const schema::FieldValue& value) {
  return Sanitize(value.is_number_float() ? FormatSignificant(value.get<double>(), kDigits)
                                          : schema::FieldText(value));
}

std::string TableHeader(std::string_view field) {
  std::string header(field);
  for (char& c : header) {
    c = c == '_' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return header;
}

std::string ColumnsTable(const std::vector<v1::StoredResult>& results,
                         const std::vector<ResultColumn>& columns, const Style& style) {
  std::vector<Column> headers;
  for (const ResultColumn& column : columns) {
    headers.push_back({TableHeader(column.name), IsNumber(column) ? Align::kRight : Align::kLeft});
  }
  Table table(std::move(headers));
  for (const v1::StoredResult& result : results) {
    std::vector<Cell> row;
    for (const ResultColumn& column : columns) {
      // All parameters with their defaults would fill the line.
      row.emplace_back(column.name == "parameters" ? ParametersText(result.case_result())
                                                   : TableText(column.Value(result)));
    }
    table.Add(std::move(row));
  }
  return table.Render(style);
}

std::string ColumnsCsv(const std::vector<v1::StoredResult>& results,
                       const std::vector<ResultColumn>& columns) {
  std::vector<std::string> texts;
  for (const ResultColumn& column : columns) texts.push_back(column.name);
  std::string csv = CsvRecord(texts);
  for (const v1::StoredResult& result : results) {
    texts.clear();
    for (const ResultColumn& column : columns) {
      texts.push_back(schema::FieldText(column.Value(result)));
    }
    csv += CsvRecord(texts);
  }
  return csv;
}

std::string ColumnsJson(const std::vector<v1::StoredResult>& results,
                        const std::vector<ResultColumn>& columns) {
  JsonArray array;
  std::string json;
  for (const v1::StoredResult& result : results) {
    schema::FieldValue object = schema::FieldValue::object();
    for (const ResultColumn& column : columns) {
      schema::AddNested(object, column.name, column.Value(result));
    }
    json +=
        array.AddText(object.dump(-1, ' ', false, schema::FieldValue::error_handler_t::replace));
  }
  return json + array.Finish();
}

}  // namespace assay::cli
