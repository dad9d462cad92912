// Includes libpqxx as distributions compile it, in C++17. From version 7.8 on, its headers add a
// member to exceptions if C++20's std::source_location exists. Code compiled with that member could
// not be linked, so this header hides std::source_location from them.
#pragma once

#include <version>
#ifdef __cpp_lib_source_location
#undef __cpp_lib_source_location
#endif

#include <pqxx/pqxx>

namespace assay::storage {

using Transaction = pqxx::transaction_base;

}  // namespace assay::storage
