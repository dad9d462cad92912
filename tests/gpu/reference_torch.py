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
    reference_torch.py transpose ROWS COLUMNS [--dtype fp32]
    reference_torch.py host h2d|d2h BYTES
    reference_torch.py all_reduce BYTES RANKS
    reference_torch.py serve       reads such command lines from stdin
    reference_torch.py compile     reads such command lines from stdin and fills Inductor's cache

With --compiled, a command measures the eager call and torch.compile's version of it in turns, and
prints {"variants": {name: {"seconds", "halves"}}, "errors": {name: reason}}. For attention, the
variants are the backends of scaled_dot_product_attention, which torch.compile calls as well.
"""

import argparse
import dataclasses
import glob
import json
import os
import shlex
import socket
import statistics
import subprocess
import sys
import time
import typing

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
import torch.nn.functional as functional

from torch_timing import HOT_RULE, MIN_SAMPLES, RULES, Rotating, holding, is_sustained, measure, \
    measure_turns, reason, rotation_sets, run

DTYPES = {"fp64": torch.float64, "fp32": torch.float32, "tf32": torch.float32,
          "bf16": torch.bfloat16, "fp16": torch.float16, "int8": torch.int8,
          "fp8_e4m3": torch.float8_e4m3fn, "fp8_e5m2": torch.float8_e5m2}


def given(arguments):
    return {name: value for name, value in vars(arguments).items()
            if name not in ("function", "case")}


def report(**fields):
    print(json.dumps({"torch": torch.__version__, **fields}), flush=True)


def report_rate(arguments, seconds, amount, scale, unit):
    """Prints the rate in `unit`; each iteration has `amount` FLOPs or bytes."""
    median = statistics.median(seconds)
    middle = len(seconds) // 2
    halves = [statistics.median(seconds[:middle]), statistics.median(seconds[middle:])]
    report(**given(arguments), samples=len(seconds), seconds=median, halves=halves,
           value=amount / median * scale, unit=unit)


def report_turns(arguments, windows, errors):
    """Prints the results of measure_turns()."""
    report(**given(arguments), errors=errors,
           variants={name: {"seconds": statistics.fmean(halves), "halves": halves}
                     for name, halves in windows.items()})


@dataclasses.dataclass
class Case:
    """A call to measure, with sets of its arguments.

    A set has the output first if `eager` writes to one. `pure` does the same, allocates its output
    and has only the inputs as arguments: it is given to torch.compile, which would copy the result
    of a library's product to a given output. Each iteration has `amount` bytes or FLOPs.
    """
    new_set: typing.Callable
    set_bytes: int
    eager: typing.Callable
    pure: typing.Callable
    amount: float
    inputs: int
    scale: float = 1e-9
    unit: str = "GB/s"
    l2_multiple: int = 4
    hot: bool = False

    def sets(self):
        return [self.new_set() for _ in range(rotation_sets(self.set_bytes, self.l2_multiple))]

    def compiled(self, one_set):
        """Returns the call of torch.compile's version, compiled for the shapes of `one_set`."""
        # Dynamo compiles only a few shapes of the same code and then calls it eagerly.
        torch.compiler.reset()
        compiled = torch.compile(self.pure, dynamic=False, fullgraph=True)
        compiled(*one_set[-self.inputs:])
        torch.cuda.synchronize()
        return lambda *arguments: compiled(*arguments[-self.inputs:])


def measure_case(arguments):
    case = arguments.case(arguments)
    rule = RULES[arguments.rule][case.hot]
    sets = case.sets()
    if not arguments.compiled:
        seconds = measure(Rotating(sets, holding(case.eager, len(sets)), arguments.graph), rule)
        report_rate(arguments, seconds, case.amount, case.scale, case.unit)
        return
    calls, errors = {"eager": case.eager}, {}
    try:
        calls["compiled"] = case.compiled(sets[0])
    except Exception as error:  # Compilers raise errors of any type.
        errors["compiled"] = reason(error)
    windows, failed = measure_turns(calls, sets, rule, arguments.graph)
    report_turns(arguments, windows, {**errors, **failed})


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
    """Returns the call that multiplies a (m x k) by b (k x n), into `out` if that is given."""
    if dtype_name.startswith("fp8"):
        one = torch.ones((), device="cuda")
        return lambda a, b, **out: torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16, **out)
    if dtype_name == "int8":
        return lambda a, b, **out: torch._int_mm(a, b, **out)
    return lambda a, b, **out: torch.matmul(a, b, **out)


def gemm(arguments):
    m, n, k = arguments.m, arguments.n, arguments.k
    dtype = DTYPES[arguments.dtype]
    output = {"int8": torch.int32, "fp8_e4m3": torch.bfloat16,
              "fp8_e5m2": torch.bfloat16}.get(arguments.dtype, dtype)
    torch.backends.cuda.matmul.allow_tf32 = arguments.dtype == "tf32"
    transposed = {"a": arguments.layout[0] == "t", "b": arguments.layout[1] == "t"}

    def new_set():
        a = random((k, m), dtype).t() if transposed["a"] else random((m, k), dtype)
        b = random((n, k), dtype).t() if transposed["b"] else random((k, n), dtype)
        return torch.empty(m, n, device="cuda", dtype=output), a, b

    product = multiply(arguments.dtype)
    return Case(new_set, (m * k + k * n) * dtype.itemsize + m * n * output.itemsize,
                lambda out, a, b: product(a, b, out=out), lambda a, b: product(a, b),
                amount=2.0 * m * n * k, inputs=2, scale=1e-12, unit="TFLOP/s", l2_multiple=2,
                hot=is_sustained(2.0 * m * n * k))


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
    eager, pure = {"add": (lambda out, x, y: torch.add(x, y, out=out), lambda x, y: x + y),
                   "mul": (lambda out, x, y: torch.mul(x, y, out=out), lambda x, y: x * y),
                   "relu": (lambda out, x: torch.clamp_min(x, 0, out=out),
                            lambda x: torch.clamp_min(x, 0))}[arguments.command]
    set_bytes = (inputs + 1) * arguments.elements * dtype.itemsize
    return Case(lambda: [torch.empty(arguments.elements, device="cuda", dtype=dtype)] +
                [random((arguments.elements,), dtype) for _ in range(inputs)],
                set_bytes, eager, pure, amount=float(set_bytes), inputs=inputs)


def rows(arguments):
    """Makes the case of softmax, layer_norm or rms_norm over the last dimension."""
    dtype = DTYPES[arguments.dtype]
    shape = (arguments.rows, arguments.columns)
    weights = [random((arguments.columns,), dtype) for _ in range(
        {"softmax": 0, "rms_norm": 1, "layer_norm": 2}[arguments.command])]
    call = {"softmax": lambda x: torch.softmax(x, dim=-1),
            "layer_norm": lambda x, weight, bias: functional.layer_norm(x, shape[1:], weight, bias),
            "rms_norm": lambda x, weight: functional.rms_norm(x, shape[1:], weight),
            }[arguments.command]
    set_bytes = 2 * shape[0] * shape[1] * dtype.itemsize
    return Case(lambda: [random(shape, dtype), *weights], set_bytes, call, call,
                amount=float(set_bytes), inputs=1 + len(weights))


def transpose(arguments):
    dtype = DTYPES[arguments.dtype]
    shape = (arguments.rows, arguments.columns)
    set_bytes = 2 * shape[0] * shape[1] * dtype.itemsize
    return Case(lambda: (torch.empty(shape[::-1], device="cuda", dtype=dtype),
                         random(shape, dtype)),
                set_bytes, lambda out, x: out.copy_(x.t()), lambda x: x.t().contiguous(),
                amount=float(set_bytes), inputs=1)


def attention_with(backend, causal):
    """Returns the call of scaled_dot_product_attention with this backend."""
    from torch.nn.attention import sdpa_kernel

    def call(q, k, v):
        with sdpa_kernel(backend):
            return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return call


def attention(arguments):
    """Measures scaled_dot_product_attention with the fastest of its backends."""
    dtype = DTYPES[arguments.dtype]
    b, h, n, d = arguments.b, arguments.h, arguments.n, arguments.d
    count = rotation_sets(4 * b * h * n * d * dtype.itemsize)
    sets = [[random((b, h, n, d), dtype) for _ in range(3)] for _ in range(count)]
    from torch.nn.attention import SDPBackend
    flops = 4.0 * b * h * n * n * d / (2 if arguments.causal else 1)
    calls = {backend.name: attention_with(backend, arguments.causal)
             for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION,
                             SDPBackend.EFFICIENT_ATTENTION)}
    rule = RULES[arguments.rule][is_sustained(flops)]
    if arguments.compiled:
        windows, errors = measure_turns(calls, sets, rule, arguments.graph)
        # A backend may not support the type or shape.
        report_turns(arguments, windows, {} if windows else errors)
        return
    best = None
    for name, call in calls.items():
        try:
            seconds = measure(Rotating(sets, holding(call, len(sets)), arguments.graph), rule)
        except RuntimeError:  # The backend does not support this type or shape.
            continue
        if best is None or statistics.median(seconds) < statistics.median(best):
            best = seconds
            arguments.backend = name
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
        except (Exception, SystemExit) as error:
            print(json.dumps({"error": f"{line.strip()}: {error}"}), flush=True)
        torch.cuda.empty_cache()


def compile_lines(arguments):
    """Compiles the command lines on stdin into Inductor's cache, which other processes then use."""
    lines = sys.stdin.readlines()
    if arguments.processes > 1:
        compile_in_processes(lines, arguments.processes)
        return
    for line in lines:
        try:
            one = parser().parse_args(shlex.split(line))
            case = one.case(one)
            case.compiled(case.new_set())
        except (Exception, SystemExit) as error:  # Measuring reports it as well.
            print(f"{line.strip()}: {reason(error)}", file=sys.stderr)
        torch.cuda.empty_cache()


def compile_in_processes(lines, count):
    workers = [subprocess.Popen([sys.executable, "-W", "ignore", __file__, "compile"],
                                stdin=subprocess.PIPE, text=True)
               for _ in range(min(count, len(lines)))]
    for index, worker in enumerate(workers):
        worker.stdin.write("".join(lines[index::len(workers)]))
        worker.stdin.close()
    for worker in workers:
        worker.wait()
    # Each compiled kernel has several configurations, of which Inductor chooses the fastest at the
    # first call. These processes disturbed each other's choices, so the measuring process chooses.
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR", "")
    if folder:
        for path in glob.glob(os.path.join(folder, "**/*.best_config"), recursive=True):
            os.remove(path)


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

    def compared(command):
        command.add_argument("--compiled", action="store_true")
        command.add_argument("--rule", default="normal", choices=list(RULES))
        return command

    def add_case(name, case, integers, dtypes):
        command = compared(add(name, measure_case, integers, dtypes))
        command.set_defaults(case=case)
        return command

    floats = ["fp32", "bf16", "fp16"]
    add_case("gemm", gemm, "mnk", ["bf16"] + [name for name in DTYPES if name != "bf16"]) \
        .add_argument("--layout", default="nn", choices=["nn", "nt", "tn", "tt"])
    add("copy", copy, ["bytes"])
    add("read", read, ["bytes"])
    for name in ("add", "mul", "relu"):
        add_case(name, elementwise, ["elements"], floats)
    for name in ("softmax", "layer_norm", "rms_norm"):
        add_case(name, rows, ["rows", "columns"], floats)
    add_case("transpose", transpose, ["rows", "columns"], floats)
    compared(add("attention", attention, "bhnd", ["bf16", "fp16", "fp32"])) \
        .add_argument("--causal", action="store_true")
    command = commands.add_parser("host")
    command.add_argument("direction", choices=["h2d", "d2h"])
    command.add_argument("bytes", type=int)
    command.set_defaults(function=host)
    add("all_reduce", all_reduce, ["bytes", "ranks"])
    commands.add_parser("serve").set_defaults(function=serve)
    command = commands.add_parser("compile")
    command.add_argument("--processes", type=int, default=1)
    command.set_defaults(function=compile_lines)
    return made


def main():
    arguments = parser().parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
