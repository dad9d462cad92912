"""How often the cases of an entry of examples/collectives.yaml are started, ours and the reference
in turns.
"""

import re

from collective_bars import MIB, Line


def brief(entry):
    """The entry with its sizes up to 1 MiB alone; "" if it names none."""
    units = {"": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}
    found = re.search(r"\bbytes: (\[[^]]*\]|\w+)", entry)
    sizes = re.findall(r"(\d+)(\w*)", found[1]) if found else []
    kept = [number + unit for number, unit in sizes if int(number) * units[unit] <= MIB]
    return entry.replace(found[0], f"bytes: [{', '.join(kept)}]") if kept else ""


def lines_of(entry, take_turn, rounds, starts, late):
    """A Line for each case of the entry that the reference knows.

    Every case takes part in `rounds` turns, sizes up to 1 MiB in `starts`. Where one of these
    misses its bar they take as many again, and all count: of dozens of cases as fast as the
    reference chance alone has one or two miss, but rarely the same one twice.
    `take_turn(part, number)` runs part of an entry and gives (our row, our seconds, the
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
        if not took_turn(entry if number < rounds else brief(entry), number):
            break
    if any(line.bytes <= MIB and line.verdict() == "MISSED" for line in lines()):
        for number in range(most, 2 * most):
            if late() or not took_turn(brief(entry), number):
                break
    return lines()
