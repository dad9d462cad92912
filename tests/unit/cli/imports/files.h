// Small outputs of nccl-tests and nvbandwidth with invented numbers that add up.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace assay::imports {

// Replaces the first `from`, which must exist.
inline std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// all_reduce_perf of nccl-tests 2.17.6 on two nodes with two GPUs each, three sizes.
inline const char* const kNcclText =
    R"(NCCL version 2.26.6+cuda12.9
# nccl-tests version 2.17.6 nccl-headers=22606 nccl-library=22606
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 4096(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   6899 on secret-host-1 device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   6900 on secret-host-1 device  1 [0000:05:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid   6733 on secret-host-2 device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid   6734 on secret-host-2 device  1 [0000:05:00] NVIDIA H100 80GB HBM3
secret-host-1:6899:6899 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    23.10    0.00    0.00       0    22.95    0.00    0.00       0
       32768          8192     float     sum      -1    40.96    0.80    1.20       0    32.77    1.00    1.50       0
secret-host-1:6899:7001 [0] NCCL INFO comm destroyed
   134217728      33554432     float     sum      -1   1342.2  100.00  150.00       0   1220.2  110.00  165.00       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 52.95
#
# Collective test concluded: all_reduce_perf
#
)";

inline const char* const kNcclJson =
    R"({"version":1,"start_time":"2026-01-31 08:00:00","args":["/home/secret-user/all_gather_perf","-g","4"],)"
    R"("env":["SECRET_TOKEN=abc","HOME=/home/secret-user"],"nccl_version":22809,"config":{)"
    R"("nthreads":1,"ngpus":4,"minimum_bytes":1024,"maximum_bytes":2048,"step_factor":2,)"
    R"("warmup_iters":1,"iterations":20,"aggregated_iterations":1,"validation":1,"graph":0,)"
    R"("blocking_collectives":"false","parallel_init":"false","devices":[{"rank":0,"group":0,)"
    R"("pid":7,"hostname":"secret-host-1","device":0,"device_hex":"0000:04:00",)"
    R"("device_info":"NVIDIA H200"}]},"results":[)"
    R"({"size":1024,"count":64,"type":"float","redop":"none","root":"    -1",)"
    R"("out_of_place":{"time":10.000000,"alg_bw":0.102400,"bus_bw":0.076800,"nwrong":0.000000},)"
    R"("in_place":{"time":8.000000,"alg_bw":0.128000,"bus_bw":0.096000,"nwrong":3.000000},)"
    R"("actual_iterations":20,"experiment_name":""},)"
    R"({"size":2048,"count":128,"type":"float","redop":"none","root":"    -1",)"
    R"("out_of_place":{"time":10.000000,"alg_bw":0.204800,"bus_bw":0.153600,"nwrong":null},)"
    R"("in_place":{"time":8.000000,"alg_bw":0.256000,"bus_bw":0.192000,"nwrong":0.000000}}],)"
    R"("out_of_bounds":{"count":3,"okay":"false"},"average_bus_bandwidith":{"bandwidith":0.129600,)"
    R"("okay":"unchecked"},"errors":[""],"end_time":"2026-01-31 08:00:02"})";

inline const char* const kNvbandwidthJson =
    R"json({
	"nvbandwidth" :
	{
		"CUDA Runtime Version" : 12070,
		"Driver Version" : "565.02",
		"GPU Device list" :
		[
			"0: NVIDIA H100 PCIe (00000000:1b:00): (secret-host-1)",
			"1: NVIDIA H100 PCIe (00000000:43:00): (secret-host-1)"
		],
		"git_version" : "",
		"testcases" :
		[
			{
				"bandwidth_description" : "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s) ",
				"bandwidth_matrix" : [ [ "12.3964", "N/A" ] ],
				"name" : "device_to_host_memcpy_ce",
				"status" : "Passed",
				"sum" : 12.396361291250001
			},
			{
				"bandwidth_description" : "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)",
				"bandwidth_matrix" : [ [ "N/A", "10" ], [ "11", "N/A" ], [ "N/A", "20" ], [ "21", "N/A" ],
				                       [ "N/A", "30" ], [ "32", "N/A" ] ],
				"name" : "device_to_device_bidirectional_memcpy_read_ce",
				"status" : "Passed",
				"sum" : 62
			},
			{
				"bandwidth_description" : "memory latency SM CPU(row) <-> GPU(column) (ns)",
				"bandwidth_matrix" : [ [ "650", "0" ] ],
				"name" : "host_device_latency_sm",
				"status" : "Passed",
				"sum" : 650
			},
			{
				"bandwidth_description" : "memcpy local GPU(column) bandwidth (GB/s)",
				"bandwidth_matrix" : [ [ "2000", "2001" ] ],
				"name" : "device_local_copy",
				"status" : "Passed",
				"sum" : 4001
			},
			{
				"name" : "all_to_one_read_ce",
				"status" : "Waived"
			}
		],
		"version" : "v0.8"
}
}
)json";

}  // namespace assay::imports
