"""How the cases of an entry of examples/collectives.yaml are started, ours and the reference in
turns.

What a case of up to 1 MiB takes depends on where its buffers lie, and so on which cases its
process has run before: on two H200 a broadcast of 1 MiB took 12.20 us as the first case of a
process, 12.04 as its second and 12.42 as its third, each of these with buffers of its own, and
with the same buffers the same time to 0.03 us. So each of these cases has a process of its own.
"""

import itertools
import re

from collective_bars import MIB, Line

UNITS = {"": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}


def lists_of(entry):
    """The values that each parameter of an entry names."""
    return {name: re.findall(r"[^][, ]+", text)
            for name, text in re.findall(r"(\w+): (\[[^]]*\]|[^,{}\n]+)", entry)}


def with_values(entry, values):
    """The entry with these values of its parameters."""
    for name, named in values.items():
        text = named[0] if len(named) == 1 else f"[{', '.join(named)}]"
        entry = re.sub(rf"\b{name}: (\[[^]]*\]|[^,{{}}\n]+)", f"{name}: {text}", entry)
    return entry.rstrip("\n")


def by_size(entry):
    """Its sizes up to 1 MiB, and those beyond."""
    sizes = {size: int(number) * UNITS[unit] for size in lists_of(entry).get("bytes", [])
             for number, unit in re.findall(r"^(\d+)(\w*)$", size)}
    return ([size for size, number in sizes.items() if number <= MIB],
            [size for size, number in sizes.items() if number > MIB])


def brief(entry):
    """Its cases up to 1 MiB, each as an entry and so as a job of its own; "" if it has none."""
    small, _ = by_size(entry)
    lists = {**lists_of(entry), "bytes": small}
    return "\n".join(with_values(entry, {name: [value] for name, value in zip(lists, values)})
                     for values in itertools.product(*lists.values()))


def whole(entry):
    """The entry with its cases up to 1 MiB as entries of their own."""
    small, large = by_size(entry)
    if not small:
        return entry
    return "\n".join(([with_values(entry, {"bytes": large})] if large else []) + [brief(entry)])


def lines_of(entry, take_turn, rounds, starts, late):
    """A Line for each case of the entry that the reference knows.

    Every case takes part in `rounds` turns, sizes up to 1 MiB in `starts`. Where one of these
    misses its bar they take as many again, and all count: of dozens of cases as fast as the
    reference chance alone has one or two miss, but rarely the same one twice.
    `take_turn(part, number)` runs some entries and gives (our row, our seconds, the
    reference's answer) of each case; nothing if there is nothing to compare. After the first no
    turn begins once `late()`.
    """
    turns = {}

    def took_turn(part, number):
        taken = take_turn(part, number) if part else []
        for row, ours, answer in taken:
            turns.setdefault(row["parameters"], []).append((row, ours, answer))
        return bool(taken)

    def lines():
        return [Line(of_case) for of_case in turns.values()]

    most = max(rounds, starts)
    for number in range(most):
        if number > 0 and late():
            return lines()
        if not took_turn(whole(entry) if number < rounds else brief(entry), number):
            break
    if any(line.bytes <= MIB and line.verdict() == "MISSED" for line in lines()):
        for number in range(most, 2 * most):
            if late() or not took_turn(brief(entry), number):
                break
    return lines()
