"""Draws the shapes of random_shapes.py: the same ones for the same seed and kernel."""

import dataclasses
import math
import random

# Bytes read and written, and FLOPs: enough work that launches do not decide.
TRAFFIC = (1 << 24, 1 << 30)
FLOPS = (1e10, 2e12)
# Limits of the small shape of each kernel.
SMALL_TRAFFIC = (1 << 20, 1 << 23)
SMALL_FLOPS = (1e8, 2e9)
# Work of about 100 us on an H100. Less is replayed from a graph.
GRAPH_TRAFFIC = 1 << 28
GRAPH_FLOPS = 6e10
MAXIMUM_BYTES = 1 << 30  # Per set of buffers.
BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8_e4m3": 1}
FLOATS = ("fp32", "bf16", "fp16")


@dataclasses.dataclass
class Shape:
    """A case of ours and the command line of reference_torch.py that does the same.

    `amount` is the bytes or FLOPs of an iteration. `variants` are values of the parameter
    "variant" in the order of preference; empty if the default is used. `also` has parameters of a
    second way to compute the same; the faster of the two counts, as it does for PyTorch.
    """
    kernel: str
    text: str
    dtype: str
    parameters: dict
    reference: str
    amount: float
    unit: str
    power: bool
    small: bool
    launch: str
    variants: tuple = ()
    also: tuple = ()

    def attempts(self):
        """Returns the parameters for assay-runner, once per variant."""
        own = [f"{name}={value}" for name, value in self.parameters.items()]
        own += [f"dtype={self.dtype}", f"launch={self.launch}"]
        return [own + [f"variant={one}"] for one in self.variants] or [own]


def is_power(value):
    return value & (value - 1) == 0


def size(rng, low, high, power):
    """Draws a whole number in [low, high], uniform in its logarithm: a power of two or not one.

    Of those that are not, about a quarter each is odd, even, and a multiple of 8 and of 64.
    """
    if power:
        return 1 << rng.randint(math.ceil(math.log2(low)), math.floor(math.log2(high)))
    while True:
        value = round(math.exp(rng.uniform(math.log(low), math.log(high))))
        step = rng.choice((1, 2, 8, 64))
        value = value | 1 if step == 1 else value - value % step
        if low <= value <= high and not is_power(value):
            return value


def memory_bound(kernel, command, dtype, extents, amount, power, small):
    """Returns a shape whose `extents` are the parameters of both sides, in the same order."""
    launch = "graph" if amount < GRAPH_TRAFFIC else "stream"
    return Shape(kernel, " x ".join(map(str, extents.values())), dtype, extents,
                 " ".join([command, *map(str, extents.values()), "--dtype", dtype] +
                          ["--graph"] * (launch == "graph")),
                 float(amount), "GB/s", power, small, launch)


def matrices(command, columns):
    """Returns the function that draws a matrix to read and another to write."""
    def one(rng, kernel, power, small):
        dtype = rng.choice(FLOATS)
        least, most = SMALL_TRAFFIC if small else TRAFFIC
        across = size(rng, *columns, power)
        row_bytes = 2 * across * BYTES[dtype]
        rows = size(rng, least / row_bytes, most / row_bytes, power)
        return memory_bound(kernel, command, dtype, {"rows": rows, "columns": across},
                            rows * row_bytes, power, small)
    return one


def arrays(command, count):
    """Returns the function that draws `count` arrays to read and write."""
    def one(rng, kernel, power, small):
        dtype = rng.choice(FLOATS)
        limits = SMALL_TRAFFIC if small else TRAFFIC
        elements = size(rng, *(limit / count / BYTES[dtype] for limit in limits), power)
        return memory_bound(kernel, command, dtype, {"elements": elements},
                            count * elements * BYTES[dtype], power, small)
    return one


def gemm(rng, kernel, power, small):
    dtype = rng.choice(("bf16", "bf16", "fp16", "fp8_e4m3"))
    fp8 = dtype.startswith("fp8")
    layout = "nt" if fp8 else rng.choice(("nn", "nt", "tn"))
    least, most = SMALL_FLOPS if small else FLOPS
    while True:
        extents = {name: size(rng, 64, 2048 if small else 16384, power) for name in "mnk"}
        if fp8:  # Tensor cores read rows of fp8 in pieces of 16 bytes.
            extents |= {name: max(16, extents[name] // 16 * 16) for name in "nk"}
        m, n, k = extents.values()
        flops = 2.0 * m * n * k
        if least <= flops <= most and \
                (m * k + k * n) * BYTES[dtype] + 2 * m * n <= MAXIMUM_BYTES:
            break
    launch = "graph" if flops < GRAPH_FLOPS else "stream"
    stored = (m if layout[0] == "t" else k, k if layout[1] == "t" else n, n)
    also = ("pad=true",) if any(length * BYTES[dtype] % 16 for length in stored) else ()
    return Shape(kernel, f"{m} x {n} x {k} {layout}", dtype, {**extents, "layout": layout},
                 f"gemm {m} {n} {k} --dtype {dtype} --layout {layout}" +
                 " --graph" * (launch == "graph"), flops, "TFLOP/s", power, small, launch,
                 also=also)


def attention(rng, kernel, power, small):
    dtype = rng.choice(("bf16", "fp16"))
    causal = rng.choice((False, True))
    least, most = SMALL_FLOPS if small else FLOPS
    while True:
        extents = {"b": 1 << rng.randint(0, 4) if power else rng.randint(1, 16),
                   "h": 1 << rng.randint(2, 6) if power else rng.choice((8, 12, 20, 24, 32, 40)),
                   "n": size(rng, 128, 1024 if small else 16384, power),
                   "d": rng.choice((64, 128))}
        b, h, n, d = extents.values()
        flops = 4.0 * b * h * n * n * d / (2 if causal else 1)
        if least <= flops <= most and 4 * b * h * n * d * BYTES[dtype] <= MAXIMUM_BYTES:
            break
    launch = "graph" if flops < GRAPH_FLOPS else "stream"
    text = f"b={b} h={h} n={n} d={d}" + (" causal" if causal else "")
    return Shape(kernel, text, dtype, {**extents, "causal": str(causal).lower()},
                 f"attention {b} {h} {n} {d} --dtype {dtype}" + " --causal" * causal +
                 " --graph" * (launch == "graph"), flops, "TFLOP/s", power, small, launch,
                 ("flash_wgmma", "flash_mma"))


KERNELS = {
    "gemm": gemm,
    "softmax": matrices("softmax", (64, 65536)),
    "layernorm": matrices("layer_norm", (64, 65536)),
    "rmsnorm": matrices("rms_norm", (64, 65536)),
    "vector_add": arrays("add", 3),
    "elementwise_mul": arrays("mul", 3),
    "relu": arrays("relu", 2),
    "attention": attention,
    "transpose": matrices("transpose", (64, 16384)),
}


MOST_SHAPES = 16  # Some kernels have few more shapes of powers of two.


def draw(seed, kernel, count):
    """Returns `count` shapes of the kernel, at most MOST_SHAPES.

    Every other one has only powers of two, and one is small.
    """
    rng = random.Random(f"{seed} {kernel}")
    small = rng.randrange(count)
    drawn = {}
    while len(drawn) < count:
        shape = KERNELS[kernel](rng, kernel, len(drawn) % 2 == 0, len(drawn) == small)
        drawn.setdefault(shape.reference, shape)
    return list(drawn.values())
