// Renders contexts. No I/O.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/contexts/context_file.h"
#include "cli/views/table.h"
#include "identity/enrolled.h"

namespace assay::cli {

struct ContextRow {
  std::string name;
  bool current = false;
  FleetContext context;
  std::string coordinator;  // That of the context or of its identity.
  std::optional<identity::Enrolled> enrolled;
  std::string problem;  // Why the identity cannot be used; empty if it can.
};

std::string ContextsText(const std::vector<ContextRow>& rows, const Style& style);
std::string ContextsCsv(const std::vector<ContextRow>& rows);
// Renders one context, a line per fact.
std::string ContextText(const ContextRow& row);
std::string ContextJson(const ContextRow& row);

}  // namespace assay::cli
