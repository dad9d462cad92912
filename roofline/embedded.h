// The text of data/*.csv. The build generates embedded.cc from these files.
#pragma once

namespace assay {

extern const char kGpuSpecsCsv[];
extern const char kPublishedCsv[];
extern const char kSmRatesCsv[];

}  // namespace assay
