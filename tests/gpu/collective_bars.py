"""The bars of the cases in examples/collectives.yaml: NCCL and peer copies called directly.

Up to 1 MiB, the time of a collective depends on how its processes started: on two H200, 87 starts
of the same ranks took either 15.1 or 15.3 us and nothing between, both with Assay and with the
reference. So each case is compared over several starts of both. It misses its bar only if chance
is no plausible explanation: if at most one in twenty of all ways to divide the times between the
two makes Assay as slow.
"""

import collections
import statistics

from single_gpu import number, parameters

MIB = 1 << 20
LARGE = 0.01   # From 1 MiB on: at most this much slower than the reference.
SMALL = 0.03   # Below: this, or the spread within a start of the reference if it is wider.
PEER = 0.02
CHANCE = 0.05  # A case misses its bar only if the chance is at most this.


def chance_of_slower(ours, theirs):
    """Returns how likely `ours` would be so much slower than `theirs` if only chance decided.

    This is Wilcoxon's exact one-sided rank-sum test: the share of all ways to divide the times into
    two such groups in which the ranks of the first group sum up to at least as much. Equal times
    share their mean rank.
    """
    both = sorted(ours + theirs)
    # Twice the mean rank of each value, to make all ranks whole numbers.
    doubled = {value: 2 * both.index(value) + both.count(value) + 1 for value in both}
    least = sum(doubled[value] for value in ours)
    # Counts divisions by (number of times in the first group, sum of their ranks).
    ways = collections.Counter({(0, 0): 1})
    for value in both:
        for (members, total), count in list(ways.items()):
            if members < len(ours):
                ways[members + 1, total + doubled[value]] += count
    whole = {total: count for (members, total), count in ways.items() if members == len(ours)}
    return sum(count for total, count in whole.items() if total >= least) / sum(whole.values())


def apart(times):
    """Returns the difference between the slowest and the fastest start, relative to the median."""
    return (max(times) - min(times)) / statistics.median(times)


class Line:
    """One case of ours compared with the reference, over all starts.

    Each of `turns` is (our row of results, our seconds, the reference's answer). Turns in which the
    reference returned an error are ignored.
    """

    measured = False

    def __init__(self, turns):
        self.rows = [row for row, _, _ in turns]
        self.row = self.rows[0]
        self.given = parameters(self.row)
        self.bytes = int(self.given["bytes"])
        self.errors = [answer["error"] for _, _, answer in turns if "error" in answer]
        turns = [turn for turn in turns if "error" not in turn[2]]
        if not turns:
            return
        answers = [answer for _, _, answer in turns]
        self.our_starts = [seconds for _, seconds, _ in turns]
        self.their_starts = [answer["seconds"] for answer in answers]
        self.ours = statistics.median(self.our_starts)
        self.theirs = statistics.median(self.their_starts)
        self.value = statistics.median(float(row["median"]) for row, _, _ in turns)
        self.spread = statistics.median(answer["high"] - answer["low"]
                                        for answer in answers) / self.theirs
        self.measured = True
        self.ratio = self.theirs / self.ours
        if self.row["benchmark"] == "peer_transfer":
            self.allowed = PEER
        else:
            self.allowed = LARGE if self.bytes >= MIB else max(SMALL, self.spread)

    def verdict(self):
        if not self.measured:
            return "not measured"
        if self.ratio >= 1 - self.allowed:
            return "met"
        forgiven = [seconds * (1 - self.allowed) for seconds in self.our_starts]
        chance = chance_of_slower(forgiven, self.their_starts)
        # With one or two starts, no test can decide, so the ratio alone does.
        return "parity" if len(forgiven) > 2 and chance > CHANCE else "MISSED"

    def missed(self):
        return self.verdict() in ("MISSED", "not measured")

    def how(self):
        """Returns the parameters that the other columns do not show."""
        if self.row["benchmark"] == "peer_transfer":
            return " ".join((f"{self.given['from']} to {self.given['to']}", self.given["mode"],
                             self.given["direction"]))
        return self.given["policy"]

    def text(self):
        case = (f"| {self.row['benchmark']} | {self.given['ranks']} | {size(self.bytes)} | "
                f"{self.how()} | ")
        if not self.measured:
            return f"{case}| | | | | | | | | not measured: {self.errors[0]} | |"
        flags = {flag for row in self.rows for flag in row["flag"].split(";") if flag}
        return (f"{case}{self.ours * 1e6:.2f} | {self.theirs * 1e6:.2f} | "
                f"{self.spread:.1%} | {len(self.our_starts)} | {apart(self.our_starts):.1%} | "
                f"{apart(self.their_starts):.1%} | {number(self.value)} | "
                f"{self.ratio:.3f} | {1 - self.allowed:.3f} | {self.verdict()} | "
                f"{' '.join(sorted(flags))} |")


def size(value):
    for unit, name in ((1 << 30, "GiB"), (MIB, "MiB"), (1 << 10, "KiB")):
        if value >= unit:
            return f"{value / unit:.4g} {name}"
    return f"{value} B"
