"""What the cases of examples/single-gpu.yaml are held to.

Each bar divides a rate of ours by a rate of a reference: by PyTorch's or a bare program's,
measured right before and after our case, by another case of the campaign, or by a
published figure. Curves hold the cases of one parameter to each other.
"""

import dataclasses
import typing

GIB = 1 << 30
PROCESSES = 5  # Of launches, whose pace is a process's own.


@dataclasses.dataclass
class Bar:
    """One line of the table.

    `case` selects our result: benchmark, then k=v of its parameters. `reference` is
    ("torch", command line of reference_torch.py), ("program", command line of a program of
    --references, its name), ("case", another case) or ("published", value, source). With
    `by_time` the ratio is the reference's time over ours, else our primary metric over the
    reference's value. `band`: both too little and too much miss the bar, by this fraction.
    `same_call`: the reference calls the same library with the same arguments, so that what is
    no further from `least` than the reference differs from itself is parity, neither met nor
    missed. `processes`: our case runs in so many, between turns of the reference, and the medians
    are compared.
    """
    name: str
    case: str
    reference: tuple
    least: float = 0.0
    stretch: float = 0.0
    by_time: bool = False
    band: float = 0.0
    same_call: bool = False
    processes: int = 1


@dataclasses.dataclass
class Curve:
    """How a benchmark's primary metric has to go from the first of `values` of a parameter to
    the last: worse with each; by `theory`, which makes of a value what the metric is of the
    first one's, within `band`.
    """
    benchmark: str
    parameter: str
    values: tuple
    theory: typing.Callable = None
    band: float = 0.1


def torch(command):
    return ("torch", command)


def case(selector):
    return ("case", selector)


COPY = "memory_bandwidth op=copy bytes=1073741824"
# Of the same traffic as 8192 x 8192 elements in and out.
COPY_FP32 = "memory_bandwidth op=copy bytes=268435456"
COPY_BF16 = "memory_bandwidth op=copy bytes=134217728"
READ = "memory_bandwidth op=read bytes=1073741824"


def library(name, selector, command):
    """cuBLAS, called by us and by PyTorch."""
    return Bar(name, selector, torch(command), 1.00, same_call=True)


def gemms():
    for dtype, n in (("bf16", 4096), ("bf16", 8192), ("fp16", 8192)):
        yield library(f"gemm {dtype} {n}", f"gemm m={n} n={n} dtype={dtype} fill=random layout=nn",
                      f"gemm {n} {n} {n} --dtype {dtype}")
    yield Bar("gemm bf16 8192, random over zeros",
              "gemm m=8192 n=8192 dtype=bf16 fill=random layout=nn",
              case("gemm m=8192 dtype=bf16 fill=zeros"))
    for dtype in ("fp8_e4m3", "int8"):
        yield library(f"gemm {dtype} 8192", f"gemm m=8192 n=8192 dtype={dtype}",
                      f"gemm 8192 8192 8192 --dtype {dtype} --layout nt")
    for dtype in ("fp64", "fp32", "tf32"):
        yield library(f"gemm {dtype} 4096", f"gemm m=4096 dtype={dtype}",
                      f"gemm 4096 4096 4096 --dtype {dtype}")
    for m in (1, 128):
        yield library(f"gemm bf16 M={m} K=2048 N=11008", f"gemm m={m} n=11008",
                      f"gemm {m} 11008 2048 --dtype bf16 --layout nt --graph")
    for name, dtype, n, least, stretch in (
            ("matmul_naive", "fp32", 4096, 0.08, 0), ("matmul_tiled", "fp32", 4096, 0.12, 0),
            ("matmul_register", "fp32", 4096, 0.65, 0.85), ("matmul_mma", "bf16", 4096, 0.50, 0),
            ("matmul_mma", "bf16", 8192, 0.50, 0), ("matmul_wgmma", "bf16", 4096, 0.80, 0.95),
            ("matmul_wgmma", "bf16", 8192, 0.80, 0.95)):
        tile = " tile=32" if name == "matmul_tiled" else ""
        yield Bar(f"{name} {n}", f"{name} n={n}{tile}",
                  torch(f"gemm {n} {n} {n} --dtype {dtype}"), least, stretch)


def streams():
    reference = torch(f"copy {GIB}")
    for op in ("copy", "scale", "add", "triad", "write", "memset"):
        yield Bar(f"memory_bandwidth {op}", f"memory_bandwidth op={op} bytes=1073741824", reference,
                  0.95, 1.00)
    yield Bar("memory_bandwidth read", READ, torch(f"read {GIB}"), 0.95, 1.00)
    for name, op in (("vector_add", "add"), ("elementwise_mul", "mul"), ("relu", "relu")):
        for dtype in ("fp32", "bf16"):
            yield Bar(f"{name} {dtype}", f"{name} elements=268435456 dtype={dtype}",
                      case(COPY), 0.95, 1.00)
            yield Bar(f"{name} {dtype}, PyTorch", f"{name} elements=268435456 dtype={dtype}",
                      torch(f"{op} 268435456 --dtype {dtype}"))
    for dtype, least in (("fp32", 0.85), ("bf16", 0.75)):
        yield Bar(f"transpose {dtype}, of copy",
                  f"transpose rows=16384 columns=16384 dtype={dtype}", case(COPY), least)
    for name, selector, command, copied, least in (
            ("softmax fused", "softmax variant=fused columns=8192", "softmax 8192 8192", COPY_FP32,
             0.85),
            ("softmax warp", "softmax variant=warp", "softmax 4194304 32", COPY, 0),
            ("layernorm", "layernorm columns=8192", "layer_norm 8192 8192 --dtype bf16", COPY_BF16,
             0.85),
            ("rmsnorm", "rmsnorm columns=8192", "rms_norm 8192 8192 --dtype bf16", COPY_BF16,
             0.85)):
        yield Bar(f"{name}, of copy", selector, case(copied), least, 0.95 if least else 0)
        yield Bar(f"{name}, PyTorch", selector, torch(command))
    yield Bar("softmax fused, unfused", "softmax variant=fused columns=8192",
              case("softmax variant=unfused"), 1.00, by_time=True)


def attentions():
    yield Bar("attention flash fp32, naive", "attention variant=flash", case("attention variant=naive"),
              2.5, by_time=True)
    for variant, least, stretch in (("flash_mma", 0.45, 0), ("flash_wgmma", 0.75, 0.9)):
        yield Bar(f"attention {variant} bf16, PyTorch", f"attention variant={variant}",
                  torch("attention 4 16 4096 128 --dtype bf16"), least, stretch)


def weights():
    for m in (1, 16):
        yield Bar(f"gemv m={m}, of read", f"gemv m={m}", case(READ), 0.9)
    # The bar is on the weights that take longer to read (0.1 GB, those of n = 8192 a third of it).
    for n, least in ((8192, 0.0), (28672, 0.80)):
        fused = f"int4_gemm variant=fused n={n}"
        yield Bar(f"int4_gemm fused n={n}, of read", fused, case(READ), least)
        yield Bar(f"int4_gemm fused n={n}, bf16 PyTorch", fused,
                  torch(f"gemm 1 {n} 8192 --dtype bf16 --layout nt --graph"), 3.0, by_time=True)
        yield Bar(f"int4_gemm naive n={n}, bf16", f"int4_gemm variant=naive n={n}",
                  case(f"gemm m=1 n={n}"), by_time=True)


def hardware():
    def published(name, selector, value, source, band=0.1):
        return Bar(name, selector, ("published", value, source), band=band)

    latency = "gpu-benches, H100"
    yield published("pointer_chase L1", "pointer_chase level=l1", 34, latency)
    yield published("pointer_chase L2", "pointer_chase level=l2", 265, latency)
    yield published("pointer_chase DRAM", "pointer_chase level=dram", 650, latency)
    yield published("cache_bandwidth L2", "cache_bandwidth level=l2", 9700, "field's 9.7 to 10 TB/s")
    # The host's speed, for the GPU waits for its calls: only loops on the same host are bars.
    yield Bar("launch_overhead stream", "launch_overhead launch=stream",
              ("program", "gpu_reference_launch kernel 1000", "a bare loop of launches"), band=0.1,
              processes=PROCESSES)
    yield published("launch_overhead stream, elsewhere", "launch_overhead launch=stream", 2.5,
                    "gpu-benches, H200", band=0)
    one = "launch_overhead launch=graph launches=1"
    yield Bar("launch_overhead graph of one", one,
              ("program", "gpu_reference_launch graph 1000", "a bare loop of replays"), band=0.1,
              processes=PROCESSES)
    yield published("launch_overhead graph of one, elsewhere", one, 1.3, "field's 1.3 us", band=0)
    for direction in ("h2d", "d2h"):
        yield Bar(f"host_transfer {direction}", f"host_transfer direction={direction} memory=pinned",
                  torch(f"host {direction} {GIB}"), 0.98)


def curves():
    """Of banks and branches theory knows the cost; of the others the direction."""
    return [Curve("coalescing", "stride", (1, 2, 8, 32)),
            Curve("bank_conflict", "ways", (1, 2, 8, 32), lambda ways: ways),
            Curve("divergence", "branches", (1, 2, 8, 32), lambda branches: 1 / branches),
            Curve("occupancy", "held_values", (0, 32, 64, 128))]


def all_bars():
    return [*gemms(), *streams(), *attentions(), *weights(), *hardware()]
