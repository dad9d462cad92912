// Includes libpqxx so that it links with C++20 code. Linux distributions compile the library as
// C++17. Since version 7.8, its headers add a member to exceptions if C++20's std::source_location
// is available, so the exceptions would not match the compiled library. To prevent this, this
// header hides std::source_location from libpqxx.
#pragma once

#include <version>
#ifdef __cpp_lib_source_location
#undef __cpp_lib_source_location
#endif

#include <pqxx/pqxx>

namespace assay::storage {

using Transaction = pqxx::transaction_base;

}  // namespace assay::storage
