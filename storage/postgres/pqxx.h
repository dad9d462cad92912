// libpqxx, as the library was compiled: distributions do it in C++17. From 7.8 on its headers
// give exceptions one more member where C++20's std::source_location is, and code that
// believes them cannot be linked.
#pragma once

#include <version>
#ifdef __cpp_lib_source_location
#undef __cpp_lib_source_location
#endif

#include <pqxx/pqxx>

namespace assay::storage {

using Transaction = pqxx::transaction_base;

}  // namespace assay::storage
