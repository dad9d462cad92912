#!/usr/bin/env python3
"""Times decode steps of llama shapes with PyTorch, to set `assay predict decode` beside them.

Weights are random: only shapes matter for time. One step for B sequences with `context` tokens in
the cache is captured as a CUDA graph and replayed. The medians of 30 replays are printed as JSON:
[{"model", "batch", "context", "seconds", "compiled"}]. Exit code 77 without a GPU or PyTorch.

    reference_decode.py [--models llama-3.2-1b llama-3-8b] [--batches 1 32]
                        [--contexts 1024 8192]
"""

import argparse
import json
import statistics
import sys

try:
    import torch
    from torch.nn import functional
except ImportError:
    print("PyTorch is not installed", file=sys.stderr)
    sys.exit(77)

REPLAYS = 30
# layers, d, heads, kv_heads, head_dim, ff, vocab: as predict/data/models.csv.
SHAPES = {"llama-3.2-1b": (16, 2048, 32, 8, 64, 8192, 128256),
          "llama-3-8b": (32, 4096, 32, 8, 128, 14336, 128256)}


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


class Model:
    def __init__(self, shape, batch, context):
        (self.layers, self.d, self.heads, self.kv_heads, self.head_dim, self.ff,
         self.vocab) = shape
        self.batch, self.context = batch, context

        def weight(rows, columns):
            return torch.empty(rows, columns, device="cuda",
                               dtype=torch.bfloat16).normal_(std=0.02)
        qkv = (self.heads + 2 * self.kv_heads) * self.head_dim
        self.blocks = [(weight(qkv, self.d), weight(self.d, self.heads * self.head_dim),
                        weight(2 * self.ff, self.d), weight(self.d, self.ff))
                       for _ in range(self.layers)]
        self.head = weight(self.vocab, self.d)
        self.norm = torch.ones(self.d, device="cuda", dtype=torch.bfloat16)
        self.cos = torch.rand(self.head_dim, device="cuda", dtype=torch.bfloat16)
        self.sin = torch.rand(self.head_dim, device="cuda", dtype=torch.bfloat16)
        cache = (batch, self.kv_heads, context, self.head_dim)
        self.caches = [(torch.randn(cache, device="cuda", dtype=torch.bfloat16),
                        torch.randn(cache, device="cuda", dtype=torch.bfloat16))
                       for _ in range(self.layers)]
        self.x = torch.randn(batch, self.d, device="cuda", dtype=torch.bfloat16)

    def block(self, x, qkv, out, gate_up, down, keys, values):
        sizes = [self.heads * self.head_dim, self.kv_heads * self.head_dim,
                 self.kv_heads * self.head_dim]
        y = functional.rms_norm(x, (self.d,), self.norm)
        q, k, v = functional.linear(y, qkv).split(sizes, -1)
        q = rotate(q.view(self.batch, self.heads, 1, self.head_dim), self.cos, self.sin)
        k = rotate(k.view(self.batch, self.kv_heads, 1, self.head_dim), self.cos, self.sin)
        keys[:, :, -1:] = k
        values[:, :, -1:] = v.view(self.batch, self.kv_heads, 1, self.head_dim)
        # Query heads that share keys are rows of one product, so the cache is read once.
        grouped = q.view(self.batch, self.kv_heads, -1, self.head_dim)
        a = functional.scaled_dot_product_attention(grouped, keys, values)
        x = x + functional.linear(a.reshape(self.batch, -1), out)
        y = functional.rms_norm(x, (self.d,), self.norm)
        gate, up = functional.linear(y, gate_up).chunk(2, -1)
        return x + functional.linear(functional.silu(gate) * up, down)

    def step(self, block):
        x = self.x
        for weights, cache in zip(self.blocks, self.caches):
            x = block(x, *weights, *cache)
        return functional.linear(functional.rms_norm(x, (self.d,), self.norm), self.head)


def seconds_of(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    times = []
    for _ in range(REPLAYS + 3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(times[3:])


def measure(name, batch, context):
    model = Model(SHAPES[name], batch, context)
    with torch.no_grad():
        try:
            torch._dynamo.reset()
            # All layers share one compiled block.
            block = torch.compile(model.block)
            seconds, compiled = seconds_of(lambda: model.step(block)), True
        except Exception as error:  # pylint: disable=broad-except
            print(f"not compiled: {str(error)[:200]}", file=sys.stderr)
            seconds, compiled = seconds_of(lambda: model.step(model.block)), False
    return {"model": name, "batch": batch, "context": context, "seconds": seconds,
            "compiled": compiled}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", nargs="+", default=list(SHAPES))
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 32])
    parser.add_argument("--contexts", nargs="+", type=int, default=[1024, 8192])
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit(77)
    rows = []
    for name in arguments.models:
        for batch in arguments.batches:
            for context in arguments.contexts:
                try:
                    rows.append(measure(name, batch, context))
                    print(rows[-1], file=sys.stderr, flush=True)
                except torch.cuda.OutOfMemoryError:
                    print(f"{name} batch {batch} context {context}: no room", file=sys.stderr)
                torch.cuda.empty_cache()
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
