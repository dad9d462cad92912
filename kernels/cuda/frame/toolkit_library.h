// Libraries of the CUDA toolkit, loaded on first use.
#pragma once

#include <string>

#include "host/dynamic_library.h"

namespace assay {

// Works like DynamicLibrary::Open, and also searches the toolkit that the program was built with
// and /usr/local/cuda and its CUPTI.
Result<DynamicLibrary> OpenToolkitLibrary(const std::string& soname);

// A library's functions are listed once, by a macro LIST(X) that has X(member, function) for each.
// LIST(ASSAY_FUNCTION_MEMBER) declares pointers to them, with the types of the library's own
// header. LIST(ASSAY_LOAD_FUNCTION) loads them from `library` into `*table`, or returns the error.
#define ASSAY_FUNCTION_MEMBER(member, function) decltype(&(function)) member = nullptr;
#define ASSAY_LOAD_FUNCTION(member, function) \
  ASSAY_RETURN_IF_ERROR(library.Load(#function, &table->member));

}  // namespace assay
