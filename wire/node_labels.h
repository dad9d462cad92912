// Rules for the labels and the price of a node, which its agent's options and operators set.
#pragma once

#include <google/protobuf/map.h>

#include <string>

#include "common/status.h"

namespace assay::schema {

using Labels = google::protobuf::Map<std::string, std::string>;

// The limits of wire/bounds.h for NodeDescription.labels.
inline constexpr size_t kMaxLabels = 64;
inline constexpr size_t kMaxLabelBytes = 256;

inline constexpr double kMaxPricePerHour = 1e6;

// Returns an error if the label is invalid. The key may contain only letters, digits, "_", "-" and
// ".". The value must not contain control characters. Each is limited to kMaxLabelBytes.
Status CheckLabel(const std::string& key, const std::string& value);

// Returns an error if any key in `labels` differs from `key` only in case. Filters ignore the case
// of keys, so they could not tell such labels apart.
Status CheckLabelCase(const std::string& key, const Labels& labels);

// Returns an error unless the price, in US dollars an hour, is from 0 to kMaxPricePerHour.
Status CheckPrice(double price_per_hour);

}  // namespace assay::schema
