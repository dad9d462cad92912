// Names a case in messages that say how far a job came. Pure.
#pragma once

#include <string>

#include "assay/v1/job.pb.h"

namespace assay::agent {

// "case 2 (bytes=1024, direction=reverse)": by its place in the job, the first being 1, and the
// parameters in which the cases of `spec` differ; the number alone where there are none.
std::string CaseName(const v1::JobSpec& spec, int case_index);

}  // namespace assay::agent
