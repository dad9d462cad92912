#!/usr/bin/env python3
"""Measures what PyTorch reaches on the same GPUs, as the reference for Assay's bars.

The method is Assay's: random data, buffers that rotate through more than twice the L2 cache (four
times for streams), a warm-up until times have settled, and an event between back-to-back iterations
or, with --graph, replays of a captured graph. Prints one JSON object per case with the median of
the samples. "halves" has the medians, in seconds, of the first and second half of the timed window.
Their difference is the uncertainty of the reference.

    reference_torch.py gemm M N K [--dtype bf16] [--layout nn]
    reference_torch.py copy BYTES
    reference_torch.py read BYTES
    reference_torch.py add|mul|relu ELEMENTS [--dtype fp32]
    reference_torch.py softmax|layer_norm|rms_norm ROWS COLUMNS [--dtype fp32]
    reference_torch.py attention B H N D [--causal] [--dtype bf16]
    reference_torch.py host h2d|d2h BYTES
    reference_torch.py all_reduce BYTES RANKS
    reference_torch.py serve       reads such command lines from stdin
"""

import argparse
import dataclasses
import json
import os
import shlex
import socket
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
import torch.nn.functional as functional


@dataclasses.dataclass
class Rule:
    """How long to warm up and to measure, in seconds, as Assay does.

    The warm-up lasts at least `least` and at most `most`, and ends when the medians of three
    windows differ by less than SETTLED. Each window lasts `window`; the timed window lasts `timed`.
    """
    least: float
    most: float
    window: float
    timed: float


RULE = Rule(0.5, 3.0, 0.1, 0.5)
# For work that draws much power. At its power limit, a hot GPU runs at lower clocks than a cool
# one, so both sides must be timed at the same temperature. Assay warms up for 2 to 5 s, after some
# seconds of comparing algorithms.
HOT_RULE = Rule(5.0, 8.0, 0.25, 1.0)
SETTLED = 0.005
MIN_SAMPLES = 30
# Minimum duration of a graph's replay, in seconds.
GRAPH_SECONDS = 1e-3

DTYPES = {"fp64": torch.float64, "fp32": torch.float32, "tf32": torch.float32,
          "bf16": torch.bfloat16, "fp16": torch.float16, "int8": torch.int8,
          "fp8_e4m3": torch.float8_e4m3fn, "fp8_e5m2": torch.float8_e5m2}


def rotation_sets(set_bytes, l2_multiple=2):
    """Returns the number of sets of buffers, of `set_bytes` each, to rotate through.

    Between two uses of a set, at least `l2_multiple` times the L2 cache is touched.
    """
    l2_bytes = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    return 1 + max(1, -(-l2_multiple * l2_bytes // set_bytes))


def run(iterate, samples):
    """Returns the seconds of each of `samples` back-to-back calls, after one untimed call."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(samples + 1)]
    iterate()
    events[0].record()
    for event in events[1:]:
        iterate()
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) * 1e-3 for a, b in zip(events, events[1:])]


class Rotating:
    """Calls `call` with the next of `sets`. With `graph`, replays whole rounds of them."""

    def __init__(self, sets, call, graph=False):
        self.sets = sets
        self.call = call
        self.next = 0
        self.iterations = 1  # Per call of this object.
        if graph:
            self.capture()

    def capture(self):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for arguments in self.sets:
                self.call(*arguments)
        torch.cuda.synchronize()
        one = statistics.median(run(self, 3))
        rounds = max(1, int(GRAPH_SECONDS / one / len(self.sets)))
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(rounds):
                for arguments in self.sets:
                    self.call(*arguments)
        self.iterations = rounds * len(self.sets)

    def __call__(self):
        if self.iterations > 1:
            self.graph.replay()
            return
        self.call(*self.sets[self.next])
        self.next = (self.next + 1) % len(self.sets)


def measure(iterate, rule=RULE):
    """Warms up, then returns all samples of the timed window in order, in seconds per iteration."""
    run(iterate, 1)
    one = statistics.median(run(iterate, 3))
    medians = []
    begin = time.monotonic()
    while True:
        medians.append(statistics.median(run(iterate, max(1, int(rule.window / one)))))
        passed = time.monotonic() - begin
        settled = len(medians) > 3 and max(medians[-3:]) <= (1 + SETTLED) * min(medians[-3:])
        if passed >= rule.most or (settled and passed >= rule.least):
            break
    iterations = getattr(iterate, "iterations", 1)
    samples = run(iterate, max(MIN_SAMPLES, int(rule.timed / medians[-1])))
    return [seconds / iterations for seconds in samples]


def report(**fields):
    print(json.dumps({"torch": torch.__version__, **fields}), flush=True)


def report_rate(arguments, seconds, amount, scale, unit):
    """Prints the rate in `unit`; each iteration has `amount` FLOPs or bytes."""
    median = statistics.median(seconds)
    middle = len(seconds) // 2
    halves = [statistics.median(seconds[:middle]), statistics.median(seconds[middle:])]
    given = {name: value for name, value in vars(arguments).items() if name != "function"}
    report(**given, samples=len(seconds), seconds=median, halves=halves,
           value=amount / median * scale, unit=unit)


def random(shape, dtype):
    """Returns random values with Assay's distribution: near-normal, the sum of four uniform values.

    At its power limit, a GPU's clock depends on how many bits change. Inputs with another
    distribution, or doubles whose lower bits are zero, would draw a different amount of power.
    """
    precision = torch.float64 if dtype == torch.float64 else torch.float32
    values = torch.rand(shape, device="cuda", dtype=precision)
    for _ in range(3):
        values += torch.rand(shape, device="cuda", dtype=precision)
    values = (values - 2) * 3 ** 0.5
    return (values * 32).round().to(dtype) if dtype == torch.int8 else values.to(dtype)


def multiply(dtype_name):
    """Returns the call that multiplies a (m x k) by b (k x n) into out."""
    if dtype_name.startswith("fp8"):
        one = torch.ones((), device="cuda")
        return lambda a, b, out: torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16, out=out)
    if dtype_name == "int8":
        return lambda a, b, out: torch._int_mm(a, b, out=out)
    return lambda a, b, out: torch.matmul(a, b, out=out)


def gemm(arguments):
    m, n, k = arguments.m, arguments.n, arguments.k
    dtype = DTYPES[arguments.dtype]
    output = {"int8": torch.int32, "fp8_e4m3": torch.bfloat16,
              "fp8_e5m2": torch.bfloat16}.get(arguments.dtype, dtype)
    torch.backends.cuda.matmul.allow_tf32 = arguments.dtype == "tf32"
    count = rotation_sets((m * k + k * n) * dtype.itemsize + m * n * output.itemsize)
    transposed = {"a": arguments.layout[0] == "t", "b": arguments.layout[1] == "t"}
    sets = []
    for _ in range(count):
        a = random((k, m), dtype).t() if transposed["a"] else random((m, k), dtype)
        b = random((n, k), dtype).t() if transposed["b"] else random((k, n), dtype)
        sets.append((a, b, torch.empty(m, n, device="cuda", dtype=output)))
    iterate = Rotating(sets, multiply(arguments.dtype), arguments.graph)
    hot = 2.0 * m * n * k >= 2e10
    seconds = measure(iterate, HOT_RULE if hot else RULE)
    report_rate(arguments, seconds, 2.0 * m * n * k, 1e-12, "TFLOP/s")


def copy(arguments):
    """Measures device-to-device cudaMemcpyAsync, which copy_ uses for tensors of the same type."""
    sets = [(torch.empty(arguments.bytes, device="cuda", dtype=torch.uint8),
             torch.randint(0, 255, (arguments.bytes,), device="cuda", dtype=torch.uint8))
            for _ in range(rotation_sets(2 * arguments.bytes, 4))]
    seconds = measure(Rotating(sets, lambda out, source: out.copy_(source), arguments.graph))
    report_rate(arguments, seconds, 2.0 * arguments.bytes, 1e-9, "GB/s")


def read(arguments):
    """Measures a sum over all elements, which reads the whole array and writes almost nothing."""
    sets = [(torch.randn(arguments.bytes // 4, device="cuda"), torch.empty((), device="cuda"))
            for _ in range(rotation_sets(arguments.bytes, 4))]
    seconds = measure(Rotating(sets, lambda x, out: torch.sum(x, dim=0, out=out), arguments.graph))
    report_rate(arguments, seconds, float(arguments.bytes), 1e-9, "GB/s")


def elementwise(arguments):
    dtype = DTYPES[arguments.dtype]
    inputs = 1 if arguments.command == "relu" else 2
    call = {"add": lambda out, x, y: torch.add(x, y, out=out),
            "mul": lambda out, x, y: torch.mul(x, y, out=out),
            "relu": lambda out, x: torch.clamp_min(x, 0, out=out)}[arguments.command]
    set_bytes = (inputs + 1) * arguments.elements * dtype.itemsize
    sets = [[torch.empty(arguments.elements, device="cuda", dtype=dtype)] +
            [random((arguments.elements,), dtype) for _ in range(inputs)]
            for _ in range(rotation_sets(set_bytes, 4))]
    seconds = measure(Rotating(sets, call, arguments.graph))
    report_rate(arguments, seconds, float(set_bytes), 1e-9, "GB/s")


def rows(arguments):
    """Measures softmax, layer_norm or rms_norm over the last dimension."""
    dtype = DTYPES[arguments.dtype]
    shape = (arguments.rows, arguments.columns)
    weight = random((arguments.columns,), dtype)
    bias = random((arguments.columns,), dtype)
    call = {"softmax": lambda x: torch.softmax(x, dim=-1),
            "layer_norm": lambda x: functional.layer_norm(x, shape[1:], weight, bias),
            "rms_norm": lambda x: functional.rms_norm(x, shape[1:], weight)}[arguments.command]
    set_bytes = 2 * shape[0] * shape[1] * dtype.itemsize
    sets = [(random(shape, dtype),) for _ in range(rotation_sets(set_bytes, 4))]
    seconds = measure(Rotating(sets, call, arguments.graph))
    report_rate(arguments, seconds, float(set_bytes), 1e-9, "GB/s")


def attention(arguments):
    """Measures scaled_dot_product_attention with the fastest of its backends."""
    dtype = DTYPES[arguments.dtype]
    b, h, n, d = arguments.b, arguments.h, arguments.n, arguments.d
    count = rotation_sets(4 * b * h * n * d * dtype.itemsize)
    sets = [[random((b, h, n, d), dtype) for _ in range(3)] for _ in range(count)]
    from torch.nn.attention import SDPBackend, sdpa_kernel
    flops = 4.0 * b * h * n * n * d / (2 if arguments.causal else 1)
    best = None
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION,
                    SDPBackend.EFFICIENT_ATTENTION):
        try:
            with sdpa_kernel(backend):
                seconds = measure(Rotating(sets, lambda q, k, v: (
                    functional.scaled_dot_product_attention(q, k, v, is_causal=arguments.causal))),
                    HOT_RULE)
        except RuntimeError:  # The backend does not support this type or shape.
            continue
        if best is None or statistics.median(seconds) < statistics.median(best):
            best = seconds
            arguments.backend = backend.name
    if best is None:
        raise RuntimeError(f"no backend for attention in {arguments.dtype} of d = {d}")
    report_rate(arguments, best, flops, 1e-12, "TFLOP/s")


def host(arguments):
    """Measures copies between pinned host memory and the GPU."""
    pinned = torch.randint(0, 255, (arguments.bytes,), dtype=torch.uint8).pin_memory()
    device = torch.empty(arguments.bytes, device="cuda", dtype=torch.uint8)
    pair = (device, pinned) if arguments.direction == "h2d" else (pinned, device)
    seconds = measure(Rotating([pair], lambda out, source: out.copy_(source, non_blocking=True)))
    report_rate(arguments, seconds, float(arguments.bytes), 1e-9, "GB/s")


def all_reduce_rank(rank, arguments, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank),
                      WORLD_SIZE=str(arguments.ranks))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    buffer_sets = rotation_sets(arguments.bytes)
    sets = [(torch.ones(arguments.bytes // 4, device="cuda"),) for _ in range(buffer_sets)]
    iterate = Rotating(sets, dist.all_reduce)
    run(iterate, 5)
    # All ranks must make the same number of calls, so rank 0's time decides for all.
    one = torch.tensor(statistics.median(run(iterate, 5)), device="cuda")
    dist.broadcast(one, 0)
    one = float(one)
    run(iterate, max(1, int(HOT_RULE.most / one)))
    seconds = torch.tensor(run(iterate, max(MIN_SAMPLES, int(HOT_RULE.timed / one))),
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


def serve(_):
    """Answers each command line on stdin with one line of JSON, so that PyTorch is loaded once."""
    for line in sys.stdin:
        try:
            arguments = parser().parse_args(shlex.split(line))
            arguments.function(arguments)
        except (RuntimeError, SystemExit) as error:
            print(json.dumps({"error": f"{line.strip()}: {error}"}), flush=True)
        torch.cuda.empty_cache()


def parser():
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = made.add_subparsers(required=True, dest="command")

    def add(name, function, integers, dtypes=None):
        command = commands.add_parser(name)
        for integer in integers:
            command.add_argument(integer, type=int)
        if dtypes:
            command.add_argument("--dtype", default=dtypes[0], choices=dtypes)
        command.add_argument("--graph", action="store_true")
        command.set_defaults(function=function)
        return command

    floats = ["fp32", "bf16", "fp16"]
    add("gemm", gemm, "mnk", ["bf16"] + [name for name in DTYPES if name != "bf16"]) \
        .add_argument("--layout", default="nn", choices=["nn", "nt", "tn", "tt"])
    add("copy", copy, ["bytes"])
    add("read", read, ["bytes"])
    for name in ("add", "mul", "relu"):
        add(name, elementwise, ["elements"], floats)
    for name in ("softmax", "layer_norm", "rms_norm"):
        add(name, rows, ["rows", "columns"], floats)
    add("attention", attention, "bhnd", ["bf16", "fp16", "fp32"]) \
        .add_argument("--causal", action="store_true")
    command = commands.add_parser("host")
    command.add_argument("direction", choices=["h2d", "d2h"])
    command.add_argument("bytes", type=int)
    command.set_defaults(function=host)
    add("all_reduce", all_reduce, ["bytes", "ranks"])
    commands.add_parser("serve").set_defaults(function=serve)
    return made


def main():
    arguments = parser().parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
