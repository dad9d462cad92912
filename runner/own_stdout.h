// Keeps stdout for what a command prints itself.
#pragma once

namespace assay {

// While it lives, what libraries print to stdout goes to stderr: NCCL its log where the user sets
// NCCL_DEBUG, in the middle of a report in JSON. Processes started meanwhile inherit that. One at a
// time; without a stderr it does nothing.
class OwnStdout {
 public:
  OwnStdout();
  ~OwnStdout();
  OwnStdout(const OwnStdout&) = delete;
  OwnStdout& operator=(const OwnStdout&) = delete;

 private:
  int kept_ = -1;  // Where stdout was; -1 if nothing was moved.
};

}  // namespace assay
