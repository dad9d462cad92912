// The command line of assay-agent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "identity/enrolled.h"
#include "wire/credentials.h"
#include "wire/node_labels.h"

namespace assay::agent {

struct AgentOptions {
  std::string data;
  std::vector<std::string> coordinators;  // HOST:PORT of each; empty: none is dialled.
  std::string listen = "127.0.0.1:7901";  // Empty: no gRPC.
  bool listen_given = false;
  std::string http = "127.0.0.1:9901";  // Empty: no HTTP.
  std::string name;
  schema::Labels labels;
  std::string provider;
  std::string region;
  std::optional<double> price_per_hour;
  std::string runner;
  std::string advertise_address;
  std::string nccl_host_id;       // Empty: the node's id.
  std::vector<std::string> gpus;  // Numbers or UUIDs; empty: all GPUs of the node.
  rpc::TlsFiles tls;
  bool insecure = false;
  std::string log_level = "info";
  int ready_fd = -1;
  int attached_fd = -1;  // As ready_fd, but written when the first session is open.
  // The identity whose certificate `tls` has; see agent/join/enrolment.h.
  std::optional<identity::Enrolled> enrolled;
};

struct ParsedOptions {
  std::optional<AgentOptions> options;
  int exit_code = 0;
};
// Parses the command line. If the program must exit, returns its exit code instead of the options:
// 0 after printing --help or --version, 2 after printing an error.
ParsedOptions ParseOptions(int argc, char** argv);

// The command line of `assay-agent join`.
struct JoinOptions {
  AgentOptions agent;
  identity::JoinPoint point;
  std::string token;
  bool detach = false;
  // The options of `agent` that the user gave, to be passed on to another process.
  std::vector<std::string> agent_arguments;
};

struct ParsedJoin {
  std::optional<JoinOptions> options;
  int exit_code = 0;
};
// Parses the command line of `assay-agent join`, like ParseOptions. Without a token on the command
// line, uses the one in the environment variable ASSAY_INVITE. Removes the variable from the
// environment, so that child processes do not see the token.
ParsedJoin ParseJoinOptions(int argc, char** argv);

// Parses `assay-agent stop`. Returns the data folder, or the exit code.
struct ParsedStop {
  std::optional<std::string> data;
  int exit_code = 0;
};
ParsedStop ParseStopOptions(int argc, char** argv);

// The name of the option that sets AgentOptions::attached_fd.
inline constexpr char kAttachedOption[] = "--attached-fd";

}  // namespace assay::agent
