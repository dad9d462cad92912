// The script and the style of reports, which the build makes from console/src/report.tsx.
#pragma once

#include <string_view>

namespace assay::cli {

// Return the script and the style, compressed with gzip, or empty if Assay was built without npm.
std::string_view ReportScriptGzip();
std::string_view ReportStyleGzip();

// Returns the sources of styles that the script adds, for a content security policy.
std::string_view ReportStyleSources();

}  // namespace assay::cli
