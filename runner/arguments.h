// Parsing of assay-runner's command line. Every error is INVALID_ARGUMENT.
#pragma once

#include <cstdint>
#include <string>

#include "common/status.h"
#include "model/parameter.h"

namespace assay {

// Whether an argument looks like an option: "-o", "--seed=3".
bool LooksLikeOption(const std::string& argument);

// An error that names the options of `command`: "run", "selftest", ...; "" for the program itself.
Status UnknownOption(const std::string& argument, const std::string& command);

bool HasOption(const std::string& command, const std::string& option);

// The value of an option that takes a whole number from 0 to `most`.
Result<int64_t> OptionNumber(const std::string& option, const std::string& value, int64_t most);

// The value of --gpu.
Result<int> GpuNumber(const std::string& value);

// Adds an argument of the form NAME=VALUE to `given`.
Status AddParameter(const std::string& argument, const std::string& command, ParameterMap* given);

}  // namespace assay
