// Words of assay-runner's command line.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"
#include "model/parameter.h"

namespace assay {

// Whether an argument is meant as an option: "-o", "--seed=3".
bool LooksLikeOption(const std::string& argument);

// INVALID_ARGUMENT: `command` ("run", "list"; "assay-runner" for none) has no option `argument`;
// names those that it has.
Status UnknownOption(const std::string& argument, const std::string& command);

// Whether `command` has the option.
bool HasOption(const std::string& command, const std::string& option);

// What `option` says: 0 to `most`.
Result<int64_t> OptionNumber(const std::string& option, const std::string& value, int64_t most);

// The same of --gpu.
Result<int> GpuNumber(const std::string& value);

// Takes NAME=VALUE of `command` in.
Status AddParameter(const std::string& argument, const std::string& command, ParameterMap* given);

}  // namespace assay
