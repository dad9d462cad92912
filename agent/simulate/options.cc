#include "agent/simulate/options.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "common/units.h"
#include "wire/bounds.h"

namespace assay::agent {
namespace {

constexpr int kUsageError = 2;
constexpr int kMostNodes = 20'000;

}  // namespace

std::optional<SimulateOptions> ParseSimulateOptions(int argc, char** argv, int* exit_code) {
  SimulateOptions options;
  std::string job_time = "1s";
  CLI::App app(
      "Simulates a fleet: nodes with sessions of their own, whose results nothing measured.",
      "assay-agent simulate");
  app.add_option("--coordinator", options.coordinator, "HOST:PORT of the coordinator")->required();
  app.add_option("--nodes", options.nodes, "Number of nodes")
      ->check(CLI::Range(1, kMostNodes))
      ->capture_default_str();
  app.add_option("--profile", options.profile,
                 "Hardware of every node: 8x-h200, 8x-h100, cpu, or a file")
      ->capture_default_str();
  app.add_option("--prefix", options.prefix, "Begin of the nodes' names; a number follows")
      ->capture_default_str();
  app.add_option("--seed", options.seed,
                 "Determines the nodes' ids and all values; the same seed gives the same values")
      ->capture_default_str();
  app.add_option("--first-run", options.first_run,
                 "Earlier runs of each case, in simulations that this one continues")
      ->capture_default_str();
  app.add_option("--faults", options.faults_file, "YAML file of faults to plant");
  app.add_option("--jobs-take", job_time, "Time that a job takes, such as 200ms")
      ->capture_default_str();
  app.add_flag("--insecure", options.insecure, "Allow plaintext beyond loopback");
  app.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->capture_default_str();
  app.add_option("--ready-fd", options.ready_fd,
                 "Write a line of JSON to this descriptor once the nodes begin to connect");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error) == 0 ? 0 : kUsageError;
    return std::nullopt;
  }
  *exit_code = kUsageError;
  const Result<Duration> parsed = ParseDuration(job_time);
  if (!parsed.ok() || *parsed < Duration::zero() || *parsed > std::chrono::hours(1)) {
    std::cerr << "assay-agent: --jobs-take: write a time of at most 1h, such as 200ms\n";
    return std::nullopt;
  }
  options.job_time = *parsed;
  if (!schema::IsNodeName(options.prefix + "0001")) {
    std::cerr << "assay-agent: --prefix: write printable ASCII characters, no space first\n";
    return std::nullopt;
  }
  return options;
}

}  // namespace assay::agent
