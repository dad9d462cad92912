// Small files in which the runner keeps what it measured: losing one costs time, no result.
#pragma once

#include <string>

#include "common/status.h"

namespace assay {

// The text of a regular file of at most 64 KiB; empty if there is none.
std::string ReadCacheFile(const std::string& path);

// Replaces the file at once: readers see the old one or the new one.
Status WriteCacheFile(const std::string& path, const std::string& text);

}  // namespace assay
