#include <string>
#include <vector>

#include "storage/postgres/result_query.h"
#include "storage/postgres/sql.h"
#include "storage/result_order.h"

namespace assay::storage {
namespace {

// Returns the FROM and WHERE clauses of a query for the values of a field. The clauses select the
// rows with simulated results if $2 is true, and those with real ones otherwise. For an origin or a
// campaign, they check just one result, because either all of its results are simulated or none.
std::string From(const JoinedTables& tables) {
  const auto of_results = [](const std::string& key) {
    return "(SELECT s.simulated FROM result r JOIN series s USING (series_key) WHERE r." + key +
           " LIMIT 1) = $2";
  };
  if (tables.origin) return "origin o WHERE " + of_results("origin_key = o.origin_key");
  if (tables.campaign) return "campaign c WHERE " + of_results("campaign_id = c.campaign_id");
  return "series s JOIN environment e USING (environment_id) WHERE s.simulated = $2";
}

}  // namespace

Result<FieldValues> ListValues(Pool& pool, const std::string& name, int limit, bool simulated) {
  ASSAY_RETURN_IF_ERROR(CheckListedField(name));
  std::vector<std::string> values;
  ASSAY_ASSIGN_OR_RETURN(const SqlField field, FieldToSql(name, values));
  const std::string value = field.type == schema::FieldType::kTexts
                                ? "unnest(" + field.expression + ")"
                                : "(" + field.expression + ")";
  const std::string statement =
      "SELECT DISTINCT left(f.value, 200) COLLATE \"C\" AS value FROM (SELECT " + value +
      "::text AS value FROM " + From(field.tables) +
      // This condition declares the type of $1, which is unused if the field has no key.
      " AND $1::text[] IS NOT NULL) f"
      " WHERE f.value IS NOT NULL ORDER BY 1 LIMIT $3";
  return pool.Query("list_values", [&](Transaction& transaction) -> Result<FieldValues> {
    FieldValues found;
    for (const auto& row :
         transaction.exec_params(statement, ArrayOf(values), simulated, limit + 1)) {
      found.truncated = found.values.size() == static_cast<size_t>(limit);
      if (!found.truncated) found.values.push_back(row[0].as<std::string>());
    }
    return found;
  });
}

}  // namespace assay::storage
