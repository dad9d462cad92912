#include "cli/imports/checked_text.h"
#include "cli/imports/imports.h"
#include "cli/imports/launcher.h"
#include "cli/imports/nccl_forms.h"

namespace assay::imports {

Result<Imported> ReadNcclTests(std::string_view text, const Origin& origin) {
  text = WithoutByteOrderMark(text);
  ASSAY_ASSIGN_OR_RETURN(const std::optional<std::string> plain, WithoutLabels(text));
  if (plain) text = *plain;
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && text[first] == '{';
  ASSAY_ASSIGN_OR_RETURN(const std::vector<NcclRun> runs,
                         json ? ReadNcclJson(text) : ReadNcclText(text));
  return ResultsOf(runs, origin);
}

}  // namespace assay::imports
