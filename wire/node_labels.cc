#include "wire/node_labels.h"

#include <algorithm>
#include <cctype>

#include "common/text.h"

namespace assay::schema {

Status CheckLabel(const std::string& key, const std::string& value) {
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.');
  });
  if (!plain) {
    return InvalidArgument("a label's key has letters, digits, \"_\", \"-\" and \".\"; " +
                           Quote(key) + " is not such a key");
  }
  if (std::max(key.size(), value.size()) > kMaxLabelBytes) {
    return InvalidArgument("label " + Cut(key) + ": write at most " +
                           std::to_string(kMaxLabelBytes) + " bytes for a key or a value");
  }
  if (!IsPlainText(value)) {
    return InvalidArgument("label " + key + ": write text in UTF-8 without control characters");
  }
  return Status::Ok();
}

Status CheckLabelCase(const std::string& key, const Labels& labels) {
  for (const auto& [other, value] : labels) {
    if (other == key || Lower(other) != Lower(key)) continue;
    return InvalidArgument("label " + key + " differs from label " + other + " only in case")
        .WithHint("filters ignore the case of keys; write " + other);
  }
  return Status::Ok();
}

Status CheckPrice(double price_per_hour) {
  // The negated comparison also refuses NaN.
  if (!(price_per_hour >= 0 && price_per_hour <= kMaxPricePerHour)) {
    return InvalidArgument("write US dollars an hour, from 0 to 1e6");
  }
  return Status::Ok();
}

}  // namespace assay::schema
