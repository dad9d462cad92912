"""How the cases of an entry of examples/collectives.yaml are started, ours and the reference in
turns.

What a case of up to 1 MiB takes depends on where its buffers lie, and so on which cases its
process has run before, by more than its bar (docs/measured/h200-collectives-timing.md). So each of these cases
has a process of its own.
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


def bytes_of(text):
    """Bytes of a size as entries write it."""
    number, unit = re.fullmatch(r"(\d+)(\w*)", text).groups()
    return int(number) * UNITS[unit]


def by_size(entry):
    """Its sizes up to 1 MiB, and those beyond."""
    sizes = lists_of(entry).get("bytes", [])
    return ([size for size in sizes if bytes_of(size) <= MIB],
            [size for size in sizes if bytes_of(size) > MIB])


def cases(lists):
    """The values of each case of an entry with these lists."""
    return [dict(zip(lists, values)) for values in itertools.product(*lists.values())]


def alone(entry, listed):
    """These cases, each as an entry and so as a job of its own; "" of none."""
    return "\n".join(with_values(entry, {name: [value] for name, value in case.items()})
                     for case in listed)


def brief(entry):
    """Its cases up to 1 MiB."""
    small, _ = by_size(entry)
    return cases({**lists_of(entry), "bytes": small})


def whole(entry):
    """The entry with its cases up to 1 MiB as entries of their own."""
    small, large = by_size(entry)
    if not small:
        return entry
    return "\n".join(([with_values(entry, {"bytes": large})] if large else []) +
                     [alone(entry, brief(entry))])


def is_of(line, case):
    """Whether the line is of this case; a row does not name every parameter of its entry."""
    return all(name not in line.given or
               line.given[name] == (str(bytes_of(value)) if name == "bytes" else value)
               for name, value in case.items())


def lines_of(entry, take_turn, rounds, starts, late):
    """A Line for each case of the entry that the reference knows.

    Every case takes part in `rounds` turns, sizes up to 1 MiB in `starts`. One that misses its
    bar takes as many turns again as there were, by itself, and all count: of dozens of cases as
    fast as the reference chance alone has one or two miss, but rarely the same one twice.
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
        if not took_turn(whole(entry) if number < rounds else alone(entry, brief(entry)), number):
            break
    missed = [case for case in cases(lists_of(entry))
              if any(line.verdict() == "MISSED" and is_of(line, case) for line in lines())]
    for number in range(most, 2 * most):
        if late() or not took_turn(alone(entry, missed), number):
            break
    return lines()
