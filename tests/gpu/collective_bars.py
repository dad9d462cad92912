"""What the cases of examples/collectives.yaml are held to: NCCL and peer copies called directly.

Up to 1 MiB the time of a collective is a start's own: on two H200, 87 starts of the same
ranks gave 15.1 or 15.3 us and nothing between, ours as the reference. So a case is compared over
several starts of both, and it misses its bar only where chance does not explain it: where
of all ways to divide these times between the two no more than one in twenty leaves ours as slow.
"""

import collections
import statistics

from single_gpu import number, parameters

MIB = 1 << 20
LARGE = 0.01   # From 1 MiB on: at most this much slower than the reference.
SMALL = 0.03   # Below: this, or the spread within a start of the reference if it is wider.
PEER = 0.02
CHANCE = 0.05  # No more than this is none.


def chance_of_slower(ours, theirs):
    """How likely `ours` are as slow beside `theirs` as they are if nothing but chance parts them.

    The exact one-sided test by Wilcoxon: the share of all divisions of the times into two
    such groups in which the ranks of the first sum up to as much. Ties share their ranks.
    """
    both = sorted(ours + theirs)
    # Twice the mean rank of each value, so that all are whole.
    doubled = {value: 2 * both.index(value) + both.count(value) + 1 for value in both}
    least = sum(doubled[value] for value in ours)
    # Divisions by how many times are in the first group, and their sum.
    ways = collections.Counter({(0, 0): 1})
    for value in both:
        for (members, total), count in list(ways.items()):
            if members < len(ours):
                ways[members + 1, total + doubled[value]] += count
    whole = {total: count for (members, total), count in ways.items() if members == len(ours)}
    return sum(count for total, count in whole.items() if total >= least) / sum(whole.values())


def apart(times):
    """How far the slowest start lies from the fastest, as a share of their median."""
    return (max(times) - min(times)) / statistics.median(times)


class Line:
    """One case beside the reference, of all starts: `turns` are (our row, our seconds, the
    reference's answer). A turn that the reference did not answer is none."""

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
        # Of one or two starts no test can tell anything; then the ratio stands.
        return "parity" if len(forgiven) > 2 and chance > CHANCE else "MISSED"

    def missed(self):
        return self.verdict() in ("MISSED", "not measured")

    def how(self):
        """What the other columns do not say."""
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
