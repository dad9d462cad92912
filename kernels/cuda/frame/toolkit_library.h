// Loading the libraries of the CUDA toolkit at run time.
#pragma once

#include <string>

#include "host/dynamic_library.h"

namespace assay {

// Opens a shared library of the CUDA toolkit. Searches where DynamicLibrary::Open does, then in the
// toolkit that the program was built with, then in /usr/local/cuda and its CUPTI folder.
Result<DynamicLibrary> OpenToolkitLibrary(const std::string& soname);

// Macros to load the functions of a library. A macro LIST(X) lists them as X(member, function). In
// a struct, LIST(ASSAY_FUNCTION_MEMBER) declares a function pointer for each, with the type from
// the library's header. LIST(ASSAY_LOAD_FUNCTION) loads them from `library` into `*table`, and
// returns the error if a function is missing.
#define ASSAY_FUNCTION_MEMBER(member, function) decltype(&(function)) member = nullptr;
#define ASSAY_LOAD_FUNCTION(member, function) \
  ASSAY_RETURN_IF_ERROR(library.Load(#function, &table->member));

}  // namespace assay
