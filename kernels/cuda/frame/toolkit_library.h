// Loading the libraries of the CUDA toolkit at run time.
#pragma once

#include <string>

#include "host/dynamic_library.h"

namespace assay {

// Opens a library of the CUDA toolkit. Searches wherever DynamicLibrary::Open does, and then the
// folders returned by FindCudaFolders. If the library is not found, the error lists these places
// and says how to install the library.
Result<DynamicLibrary> OpenToolkitLibrary(const std::string& soname);

// Returns the status's message and hint as one text, for Benchmark::UnsupportedReason.
std::string MessageWithHint(const Status& status);

// Macros that load the functions of a library. The caller defines a macro LIST(X) that lists the
// functions as X(member, function).
// - In a struct, LIST(ASSAY_FUNCTION_MEMBER) declares a function pointer for each function, with
//   the type from the library's header.
// - LIST(ASSAY_LOAD_FUNCTION) loads the functions from `library` into `*table` and returns the
//   error if one is missing.
#define ASSAY_FUNCTION_MEMBER(member, function) decltype(&(function)) member = nullptr;
#define ASSAY_LOAD_FUNCTION(member, function) \
  ASSAY_RETURN_IF_ERROR(library.Load(#function, &table->member));

}  // namespace assay
