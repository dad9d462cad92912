#include "storage/postgres/result_rows.h"

#include <zstd.h>

#include <bit>

#include "common/digest.h"
#include "storage/postgres/sql.h"
#include "storage/store_rules.h"
#include "wire/result_fields.h"

namespace assay::storage {
namespace {

using nlohmann::json;
using schema::FieldType;
using schema::FieldValue;
using schema::ResultField;
using schema::StoredIn;

// Adds the fields that `table` stores.
void AddFields(json& row, StoredIn table, const v1::StoredResult& result) {
  for (const ResultField& field : schema::ResultFields()) {
    if (field.stored_in == table) row[schema::ColumnName(field.name)] = field.Value(result);
  }
}

}  // namespace

std::string FieldColumns(StoredIn table, const std::string& prefix) {
  std::string columns;
  for (const ResultField& field : schema::ResultFields()) {
    if (field.stored_in != table) continue;
    columns +=
        (columns.empty() ? "" : ", ") + prefix + "\"" + schema::ColumnName(field.name) + "\"";
  }
  return columns;
}

std::vector<Column> FieldTypes(StoredIn table) {
  std::vector<Column> columns;
  for (const ResultField& field : schema::ResultFields()) {
    if (field.stored_in != table) continue;
    Column& column = columns.emplace_back(Column{schema::ColumnName(field.name), "text"});
    if (field.type == FieldType::kNumber) column.type = "float8";
    if (field.type == FieldType::kBoolean) column.type = "boolean";
    if (field.type == FieldType::kTime) column.type = "timestamptz";
    // unnest would take an array of arrays apart.
    if (field.type == FieldType::kTexts) column.cast = "::text[]";
    if (field.name == "outcome") column.cast = "::case_outcome";
  }
  return columns;
}

void AddFields(StoredIn table, const v1::StoredResult& result, ArrayLiteral* columns) {
  for (const ResultField& field : schema::ResultFields()) {
    if (field.stored_in != table) continue;
    const FieldValue value = field.Value(result);
    ArrayLiteral& column = *columns++;
    if (value.is_null()) {
      column.AddNull();
    } else if (value.is_string()) {
      column.Add(value.get_ref<const std::string&>());
    } else if (value.is_array()) {
      ArrayLiteral texts;
      for (const FieldValue& text : value) texts.Add(text.get_ref<const std::string&>());
      column.Add(texts.Finish());
    } else {
      column.Add(value.dump());
    }
  }
}

std::string PayloadOf(const v1::CaseResult& result) {
  v1::CaseResult bare = result;
  bare.clear_measurements();
  return DeterministicBytes(bare);
}

void AddMeasurement(const v1::CaseResult& result, ArrayLiteral& column) {
  if (result.measurements().empty()) return column.AddNull();
  v1::Measurement measurement = result.measurements(0);
  measurement.clear_samples();
  column.AddBytes(DeterministicBytes(measurement));
}

json SeriesRow(const ResultToStore& row) {
  json json = {{"series_id", row.identity.series_id},
               {"lineage_id", row.identity.lineage_id},
               {"environment_id", row.identity.environment_id},
               {"parameters", nlohmann::json::object()}};
  for (const auto& [name, value] : row.result.case_result().parameters()) {
    json["parameters"][name] = value;
  }
  AddFields(json, StoredIn::kSeries, row.result);
  return json;
}

Origin OriginOf(const v1::StoredResult& result) {
  json row;
  AddFields(row, StoredIn::kOrigin, result);
  const std::string id = Sha256Hex(row.dump(-1, ' ', false, json::error_handler_t::replace));
  row["origin_id"] = id;
  return {id, std::move(row)};
}

json EnvironmentRow(const ResultToStore& row) {
  json json = {{"environment_id", row.identity.environment_id},
               {"content", nlohmann::json::parse(row.identity.environment_json)}};
  AddFields(json, StoredIn::kEnvironment, row.result);
  return json;
}

std::string StoredColumns() {
  return "v.result_id, v.sequence, v.campaign_id, v.campaign, v.job_id, v.repetition,"
         " v.series_id, v.lineage_id, v.\"primary\", v.measurement, d.payload ";
}

std::string StoredTables() {
  return "FROM result_view v JOIN case_result d USING (job_id, case_index) ";
}

v1::StoredResult StoredResultOf(const pqxx::row& row) {
  v1::StoredResult stored;
  stored.set_result_id(row["result_id"].as<std::string>());
  stored.set_campaign_id(row["campaign_id"].as<std::string>());
  stored.set_campaign_name(row["campaign"].as<std::string>());
  stored.set_job_id(row["job_id"].as<std::string>());
  stored.set_repetition(row["repetition"].as<int>());
  stored.set_series_id(row["series_id"].as<std::string>());
  stored.set_lineage_id(row["lineage_id"].as<std::string>());
  stored.set_primary(row["primary"].as<bool>());
  v1::CaseResult* result = stored.mutable_case_result();
  result->ParseFromString(BytesOf(row["payload"]));
  if (!row["measurement"].is_null()) {
    result->add_measurements()->ParseFromString(BytesOf(row["measurement"]));
  }
  return stored;
}

static_assert(std::endian::native == std::endian::little, "samples are stored little-endian");

std::string CompressSamples(const google::protobuf::RepeatedField<double>& samples) {
  const size_t size = static_cast<size_t>(samples.size()) * sizeof(double);
  std::string bytes(ZSTD_compressBound(size), '\0');
  // A context of its own for each call costs more than the compression.
  thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                                  ZSTD_freeCCtx);
  const size_t used =
      ZSTD_compressCCtx(context.get(), bytes.data(), bytes.size(), samples.data(), size, 1);
  bytes.resize(ZSTD_isError(used) ? 0 : used);
  return bytes;
}

Status DecompressSamples(std::string_view bytes, int count,
                         google::protobuf::RepeatedField<double>* samples) {
  std::vector<double> numbers(static_cast<size_t>(count));
  const size_t size = numbers.size() * sizeof(double);
  const size_t used = ZSTD_decompress(numbers.data(), size, bytes.data(), bytes.size());
  if (ZSTD_isError(used) || used != size) {
    return Status(Code::kDataLoss, Reason::kSamplesDamaged, "stored samples cannot be read");
  }
  samples->Assign(numbers.begin(), numbers.end());
  return Status::Ok();
}

}  // namespace assay::storage
