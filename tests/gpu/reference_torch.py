#!/usr/bin/env python3
"""What PyTorch reaches on the same GPUs: the reference that the bars compare with.

Measured as Assay measures: random data, buffers rotated over more than 2x the L2
cache, warm-up until power has settled, an event between back-to-back iterations,
the median of the samples. Prints one JSON object a case.

    reference_torch.py gemm M N K [--dtype bf16]
    reference_torch.py copy BYTES
    reference_torch.py all_reduce BYTES RANKS
"""

import argparse
import json
import os
import socket
import statistics
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

# How long the GPU is kept busy before the timed window. Assay's gemm tunes and warms up
# for about 8 s, and a GPU at its power limit clocks lower the hotter it is: both sides
# have to be timed equally hot.
WARMUP_SECONDS = 8.0
WINDOW_SECONDS = 1.0
MIN_SAMPLES = 30


def rotation_sets(set_bytes):
    """Sets of buffers such that 2x the L2 is touched between two uses of one."""
    l2_bytes = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    return 1 + max(1, -(-2 * l2_bytes // set_bytes))


def run(iterate, samples):
    """Seconds of each of `samples` back-to-back calls, after one untimed call."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(samples + 1)]
    iterate()
    events[0].record()
    for event in events[1:]:
        iterate()
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) * 1e-3 for a, b in zip(events, events[1:])]


def rotating(sets, call):
    """A function without arguments that calls `call` with the next of `sets`."""
    state = {"next": 0}

    def iterate():
        call(*sets[state["next"]])
        state["next"] = (state["next"] + 1) % len(sets)

    return iterate


def measure(iterate):
    """All samples of the timed window, in seconds."""
    run(iterate, 1)
    one = statistics.median(run(iterate, 3))
    chunk = max(1, int(0.05 / one))
    begin = time.monotonic()
    while time.monotonic() - begin < WARMUP_SECONDS:
        run(iterate, chunk)
    return run(iterate, max(MIN_SAMPLES, int(WINDOW_SECONDS / one)))


def report(**fields):
    print(json.dumps({"torch": torch.__version__, **fields}), flush=True)


def gemm(arguments):
    m, n, k = arguments.m, arguments.n, arguments.k
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32,
             "tf32": torch.float32}[arguments.dtype]
    torch.backends.cuda.matmul.allow_tf32 = arguments.dtype == "tf32"
    count = rotation_sets((m * k + k * n + m * n) * dtype.itemsize)
    sets = []
    for _ in range(count):
        a = torch.randn(m, k, device="cuda").to(dtype)
        b = torch.randn(k, n, device="cuda").to(dtype)
        sets.append((a, b, torch.empty(m, n, device="cuda", dtype=dtype)))
    seconds = measure(rotating(sets, lambda a, b, out: torch.matmul(a, b, out=out)))
    median = statistics.median(seconds)
    report(benchmark="gemm", m=m, n=n, k=k, dtype=arguments.dtype, samples=len(seconds),
           seconds=median, value=2.0 * m * n * k / median * 1e-12, unit="TFLOP/s")


def copy(arguments):
    """Device-to-device cudaMemcpyAsync, which is what copy_ between like tensors is."""
    count = rotation_sets(2 * arguments.bytes)
    sets = [(torch.empty(arguments.bytes, device="cuda", dtype=torch.uint8),
             torch.randint(0, 255, (arguments.bytes,), device="cuda", dtype=torch.uint8))
            for _ in range(count)]
    seconds = measure(rotating(sets, lambda out, source: out.copy_(source)))
    median = statistics.median(seconds)
    report(benchmark="copy", bytes=arguments.bytes, samples=len(seconds), seconds=median,
           value=2.0 * arguments.bytes / median * 1e-9, unit="GB/s")


def all_reduce_rank(rank, arguments, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank),
                      WORLD_SIZE=str(arguments.ranks))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    buffer_sets = rotation_sets(arguments.bytes)
    sets = [(torch.ones(arguments.bytes // 4, device="cuda"),) for _ in range(buffer_sets)]
    iterate = rotating(sets, dist.all_reduce)
    run(iterate, 5)
    # All ranks make the same number of calls, so none can decide by its own clock.
    one = torch.tensor(statistics.median(run(iterate, 5)), device="cuda")
    dist.broadcast(one, 0)
    one = float(one)
    run(iterate, max(1, int(WARMUP_SECONDS / one)))
    seconds = torch.tensor(run(iterate, max(MIN_SAMPLES, int(WINDOW_SECONDS / one))),
                           device="cuda")
    dist.all_reduce(seconds, op=dist.ReduceOp.MAX)  # Of the slowest rank.
    if rank == 0:
        median = statistics.median(seconds.tolist())
        bus = 2.0 * (arguments.ranks - 1) / arguments.ranks * arguments.bytes / median
        report(benchmark="all_reduce", bytes=arguments.bytes, ranks=arguments.ranks,
               samples=len(seconds), seconds=median, value=bus * 1e-9, unit="GB/s",
               nccl=".".join(map(str, torch.cuda.nccl.version())))
    dist.destroy_process_group()


def all_reduce(arguments):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    multiprocessing.spawn(all_reduce_rank, args=(arguments, port), nprocs=arguments.ranks)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("gemm")
    for side in "mnk":
        command.add_argument(side, type=int)
    command.add_argument("--dtype", default="bf16", choices=["bf16", "fp16", "fp32", "tf32"])
    command.set_defaults(function=gemm)
    command = commands.add_parser("copy")
    command.add_argument("bytes", type=int)
    command.set_defaults(function=copy)
    command = commands.add_parser("all_reduce")
    command.add_argument("bytes", type=int)
    command.add_argument("ranks", type=int)
    command.set_defaults(function=all_reduce)
    arguments = parser.parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
