// Keeps stdout free for the output of a command.
#pragma once

namespace assay {

// During its lifetime, everything that libraries print to stdout goes to stderr. NCCL, for example,
// prints its log there if NCCL_DEBUG is set, which would corrupt a result in JSON. Child processes
// inherit the redirection. Use one instance at a time. Has no effect without a stderr.
class StdoutToStderr {
 public:
  StdoutToStderr();
  ~StdoutToStderr();
  StdoutToStderr(const StdoutToStderr&) = delete;
  StdoutToStderr& operator=(const StdoutToStderr&) = delete;

 private:
  int kept_ = -1;  // A duplicate of the original stdout; -1 if nothing was redirected.
};

}  // namespace assay
