// Converts samples to the bytes that are stored: float64, little-endian, compressed with zstd.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>
#include <string_view>

#include "common/status.h"

namespace assay::storage {

std::string CompressSamples(const google::protobuf::RepeatedField<double>& samples);

// DATA_LOSS if `bytes` are not `count` compressed samples.
Status DecompressSamples(std::string_view bytes, int count,
                         google::protobuf::RepeatedField<double>* samples);

}  // namespace assay::storage
