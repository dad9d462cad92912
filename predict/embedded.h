// The texts of data/*.csv. The build generates embedded.cc.
#pragma once

namespace assay::predict {

extern const char kModelsCsv[];

}  // namespace assay::predict
