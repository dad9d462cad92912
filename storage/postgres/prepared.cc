#include "storage/postgres/prepared.h"

namespace assay::storage {

const std::string& Link::Prepare(const std::string& sql) {
  const auto known = names_.find(sql);
  if (known != names_.end()) return known->second;
  const std::string name = "assay_" + std::to_string(names_.size());
  prepare(name, sql);
  return names_.emplace(sql, name).first->second;
}

pqxx::result ExecPrepared(Transaction& transaction, const std::string& sql,
                          const std::vector<std::string>& values) {
  const std::string& name = static_cast<Link&>(transaction.conn()).Prepare(sql);
#if PQXX_VERSION_MAJOR < 7
  return transaction.exec_prepared(name, pqxx::prepare::make_dynamic_params(values));
#else
  pqxx::params parameters;
  for (const std::string& value : values) parameters.append(value);
  return transaction.exec_prepared(name, parameters);
#endif
}

}  // namespace assay::storage
