// Includes libpqxx in such a way that it links with C++20 code. Linux distributions compile the
// library as C++17. If std::source_location of C++20 is available, the headers since version 7.8
// add a member to exceptions, which would not match the compiled library. This header therefore
// hides std::source_location from libpqxx.
#pragma once

#include <version>
#ifdef __cpp_lib_source_location
#undef __cpp_lib_source_location
#endif

#include <pqxx/pqxx>

namespace assay::storage {

using Transaction = pqxx::transaction_base;

}  // namespace assay::storage
