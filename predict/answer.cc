#include "predict/answer.h"

#include <algorithm>
#include <utility>

namespace assay::predict {

double Answer::Add(std::string name, double value, Unit unit, std::string formula,
                   std::string source) {
  terms.push_back(
      {std::move(name), value, unit, value, value, std::move(formula), std::move(source)});
  return value;
}

const Term* Answer::Find(const std::string& name) const {
  const auto found =
      std::find_if(terms.begin(), terms.end(), [&](const Term& term) { return term.name == name; });
  return found == terms.end() ? nullptr : &*found;
}

}  // namespace assay::predict
