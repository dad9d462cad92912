#include "kernels/cuda/profiling/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace assay {
namespace {

std::string Demangle(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? text.get() : symbol;
}

// Removes the parenthesized parameter list at the end of `name`, if there is one.
void DropParameters(std::string* name) {
  if (name->empty() || name->back() != ')') return;
  int depth = 0;
  for (size_t i = name->size(); i-- > 0;) {
    if ((*name)[i] == ')') ++depth;
    if ((*name)[i] == '(' && --depth == 0) {
      if (i > 0) name->erase(i);
      return;
    }
  }
}

}  // namespace

std::string ShortKernelName(const std::string& symbol) {
  std::string name = Demangle(symbol);
  DropParameters(&name);
  const std::string result = "void ";
  if (name.rfind(result, 0) == 0) name.erase(0, result.size());
  const std::string anonymous = "(anonymous namespace)::";
  for (size_t at = name.find(anonymous); at != std::string::npos; at = name.find(anonymous)) {
    name.erase(at, anonymous.size());
  }
  if (name.size() > kMaxKernelName) name = name.substr(0, kMaxKernelName - 3) + "...";
  return name;
}

}  // namespace assay
