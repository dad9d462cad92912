// Small campaigns, nodes and results for tests of the stores.
#pragma once

#include <string>
#include <vector>

#include "common/uuid.h"
#include "storage/result_store.h"
#include "storage/store_rules.h"
#include "storage/types.h"

namespace assay::storage {

// Makes a job with this number of cases of "cpu_gemm" that may run on any one of `nodes`.
inline NewJob MakeJob(NodeIds nodes, int cases = 1, int node_count = 1) {
  NewJob job;
  job.job_id = NewUuid();
  job.benchmark = "cpu_gemm";
  job.benchmark_version = 1;
  job.resource = node_count > 1 ? v1::RESOURCE_KIND_NETWORK : v1::RESOURCE_KIND_CPU;
  for (int i = 0; i < cases; ++i) {
    v1::BenchmarkCase& one = job.cases.emplace_back();
    one.set_case_index(i);
    (*one.mutable_parameters())["m"] = std::to_string(i + 1);
  }
  job.world_size = node_count;
  job.node_count = node_count;
  job.candidate_node_ids = std::move(nodes);
  job.timeout = std::chrono::minutes(20);
  job.seed = 7;
  return job;
}

// Makes a job on these GPUs of one node, which other jobs may share.
inline NewJob MakeGpuJob(const std::string& node, std::vector<int> gpus) {
  NewJob job = MakeJob({node});
  job.gpu_indices = std::move(gpus);
  job.exclusive_node = false;
  return job;
}

inline NewCampaign MakeCampaign(std::vector<NewJob> jobs, std::string name = "sweep",
                                int priority = 0) {
  NewCampaign campaign;
  campaign.campaign_id = NewUuid();
  campaign.request_id = NewUuid();
  campaign.spec.set_name(std::move(name));
  campaign.spec.set_priority(priority);
  campaign.spec.set_retries(2);
  campaign.jobs = std::move(jobs);
  return campaign;
}

inline v1::NodeDescription MakeNode(const std::string& id, const std::string& name) {
  v1::NodeDescription node;
  node.set_node_id(id);
  node.set_name(name);
  node.set_agent_version("0.1.0");
  node.mutable_inventory()->set_hostname(name);
  node.set_advertise_address("127.0.0.1");
  return node;
}

// Makes the result of one case of `job`, with the metrics "tflops" and "time".
inline v1::CaseResult MakeResult(const LeasedJob& job, int case_index = 0) {
  v1::CaseResult result;
  result.set_job_id(job.job.job_id);
  result.set_epoch(job.epoch);
  result.set_case_index(case_index);
  result.set_outcome(v1::CASE_OUTCOME_OK);
  result.set_benchmark(job.job.benchmark);
  result.set_benchmark_version(job.job.benchmark_version);
  *result.mutable_parameters() = job.job.cases[static_cast<size_t>(case_index)].parameters();
  for (const char* metric : {"tflops", "time"}) {
    v1::Measurement* measurement = result.add_measurements();
    measurement->set_metric(metric);
    measurement->set_unit(metric == std::string("time") ? "s" : "TFLOP/s");
    measurement->set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
    measurement->set_n(8);
    measurement->set_median(712.5);
    measurement->set_mad(1.25);
    measurement->set_ci_low(712.5 - 14.25);
    measurement->set_ci_high(712.5 + 14.25);
    measurement->mutable_method()->set_stop_reason("confidence");
    measurement->mutable_method()->set_cache("cold");
    measurement->mutable_method()->set_fill("random");
  }
  for (double sample : {711.0, 712.5, 714.0}) {
    result.mutable_measurements(0)->add_samples(sample);
  }
  result.mutable_verification()->set_passed(true);
  result.mutable_prediction()->set_efficiency_spec(0.72);
  result.mutable_prediction()->set_regime("compute");
  v1::LinkModel* model = result.mutable_prediction()->mutable_link_model();
  model->set_predicted_seconds(0.5);
  model->set_latency_seconds(1e-5);
  model->set_bandwidth(4e11);
  model->set_knee_bytes(4e6);
  model->set_error(0.125);
  model->set_points(7);
  result.mutable_conditions()->add_flags("throttled");
  result.add_kernels("nvjet_sm90_tst_320x128");
  result.mutable_counters()->set_source("nvml_gpm");
  result.mutable_counters()->set_reason("counters are for administrators");
  result.mutable_counters()->set_tensor_pipe_active(0);  // A measured zero, which is not absent.
  result.mutable_counters()->set_dram_throughput(0.25);
  v1::Environment* environment = result.mutable_environment();
  environment->set_gpu_model("H200");
  environment->set_gpu_form_factor("SXM");
  environment->set_gpu_count(1);
  environment->set_driver_version("580.95.05");
  environment->mutable_software()->set_cuda_runtime("13.0");
  for (const std::string& node : job.node_ids) {
    result.mutable_provenance()->add_node_ids(node);
    result.mutable_provenance()->add_node_names("name-of-" + node.substr(0, 8));
  }
  result.mutable_provenance()->add_gpu_uuids("GPU-" + job.job.job_id.substr(0, 8));
  result.mutable_provenance()->set_provider("runpod");
  result.mutable_provenance()->set_price_per_hour(2.49);
  result.mutable_start_time()->set_seconds(1'767'225'600);
  result.mutable_end_time()->set_seconds(1'767'225'610);
  return result;
}

// Returns results that the coordinator stores as the agent sent them.
inline std::vector<SentResult> AsSent(const std::vector<v1::CaseResult>& results) {
  std::vector<SentResult> sent;
  for (const v1::CaseResult& result : results) sent.push_back({result, PayloadHash(result)});
  return sent;
}

}  // namespace assay::storage
