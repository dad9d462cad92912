// Reading results from the coordinator and writing them in any of the forms.
#pragma once

#include <string>

#include "cli/client.h"
#include "cli/output.h"

namespace assay::cli {

struct ResultsQuery {
  // AIP-160, as ListResultsRequest.
  std::string filter;
  // Id, or name (the newest of that name); empty for all.
  std::string campaign;
  // 0 for all.
  int limit = 0;
};

// Prints what the query finds, newest first.
Status PrintResults(Client& client, const ResultsQuery& query, OutputFormat format);

}  // namespace assay::cli
