// What a launcher or a user does to an output on its way into a file: labels before every
// line, or the output of the other program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace assay::imports {

// `text` without the labels that say which rank wrote a line, "[1,0]<stdout>:" of mpirun
// --tag-output or "0: " of srun -l; none unless every line that is not blank has one, all of
// one launcher. What mpirun, ssh and the shell say before and after mpirun's labelled lines has
// none, and becomes blank. INVALID_ARGUMENT if mpirun labelled lines of stdout and a line without
// label may be of the output, too: it would be lost.
Result<std::optional<std::string>> WithoutLabels(std::string_view text);

// Why `lines`, in which a reader found nothing of its own, are not what it reads: another
// program's output, lines with a launcher's label among others without, or neither:
// `expected`.
Status NotRecognized(const std::vector<std::string_view>& lines, const std::string& expected);

// That the file is the output of `program`, "nccl-tests" or "nvbandwidth".
Status OutputOf(const std::string& where, const std::string& program);

}  // namespace assay::imports
