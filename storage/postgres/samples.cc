#include "storage/postgres/samples.h"

#include <zstd.h>

#include <bit>
#include <vector>

namespace assay::storage {

static_assert(std::endian::native == std::endian::little, "samples are stored little-endian");

std::string CompressSamples(const google::protobuf::RepeatedField<double>& samples) {
  const size_t size = static_cast<size_t>(samples.size()) * sizeof(double);
  std::string bytes(ZSTD_compressBound(size), '\0');
  const size_t used = ZSTD_compress(bytes.data(), bytes.size(), samples.data(), size, 1);
  bytes.resize(ZSTD_isError(used) ? 0 : used);
  return bytes;
}

Status DecompressSamples(std::string_view bytes, int count,
                         google::protobuf::RepeatedField<double>* samples) {
  std::vector<double> numbers(static_cast<size_t>(count));
  const size_t size = numbers.size() * sizeof(double);
  const size_t used = ZSTD_decompress(numbers.data(), size, bytes.data(), bytes.size());
  if (ZSTD_isError(used) || used != size) {
    return Status(Code::kDataLoss, Reason::kSamplesDamaged, "stored samples cannot be read");
  }
  samples->Assign(numbers.begin(), numbers.end());
  return Status::Ok();
}

}  // namespace assay::storage
