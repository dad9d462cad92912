"""Times calls of PyTorch on a GPU, for reference_torch.py.

The method is Assay's: buffers that rotate, a warm-up until times have settled, and an event between
back-to-back iterations or replays of a captured graph.
"""

import collections
import dataclasses
import statistics
import time

import torch


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
# For many shapes in little time: about as long as `effort: quick`. The hot rule lasts until the
# clocks of a GPU at its power limit have come down.
FAST_RULE = Rule(0.1, 0.4, 0.03, 0.15)
FAST_HOT_RULE = Rule(1.5, 2.5, 0.2, 0.6)
RULES = {"normal": (RULE, HOT_RULE), "fast": (FAST_RULE, FAST_HOT_RULE)}
SETTLED = 0.005
MIN_SAMPLES = 30
# Minimum duration of a graph's replay, in seconds.
GRAPH_SECONDS = 1e-3


def is_sustained(flops):
    """Returns true if iterations of so many FLOPs bring a GPU to its power limit, as Assay does."""
    return flops >= 2e10


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


def holding(call, count):
    """Returns `call` with its last `count` outputs held, if it allocates them.

    Otherwise the allocator would return the same memory for each call. Outputs smaller than the L2
    cache would then stay in it, and their bytes would never be written to the GPU's memory.
    """
    outputs = collections.deque(maxlen=count)
    return lambda *arguments: outputs.append(call(*arguments))


def warm_up(iterate, rule):
    """Returns the median seconds of a call after the warm-up."""
    run(iterate, 1)
    one = statistics.median(run(iterate, 3))
    medians = []
    begin = time.monotonic()
    while True:
        medians.append(statistics.median(run(iterate, max(1, int(rule.window / one)))))
        passed = time.monotonic() - begin
        settled = len(medians) > 3 and max(medians[-3:]) <= (1 + SETTLED) * min(medians[-3:])
        if passed >= rule.most or (settled and passed >= rule.least):
            return medians[-1]


def timed(iterate, seconds, one):
    """Returns samples over `seconds`, in seconds per iteration; a call takes about `one`."""
    samples = run(iterate, max(MIN_SAMPLES, int(seconds / one)))
    return [sample / iterate.iterations for sample in samples]


def measure(iterate, rule=RULE):
    """Warms up, then returns all samples of the timed window in order, in seconds per iteration."""
    return timed(iterate, rule.timed, warm_up(iterate, rule))


def reason(error):
    """Returns the type and the beginning of an error, whose text may contain a whole program."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def measure_turns(calls, sets, rule, graph):
    """Measures several calls in turns: each in order, then each in reverse order.

    Returns the medians of each call's two windows by name, and the reasons of those that failed.
    """
    iterates, windows, errors = {}, {name: [] for name in calls}, {}
    for name in [*calls, *reversed(calls)]:
        if name in errors:
            continue
        try:
            if name not in iterates:
                iterate = Rotating(sets, holding(calls[name], len(sets)), graph)
                if not iterates:
                    warm_up(iterate, rule)
                iterates[name] = iterate
            one = statistics.median(run(iterates[name], 3))
            windows[name].append(statistics.median(timed(iterates[name], rule.timed / 2, one)))
        except Exception as error:  # Compilers raise errors of any type.
            errors[name] = reason(error)
    return {name: halves for name, halves in windows.items() if name not in errors}, errors
