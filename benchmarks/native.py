"""Compare native reading's findings with the measured catalog, by package and in all.

    pip download --no-deps --only-binary=:all: -d WHEELS psycopg2-binary pyzmq …
    python benchmarks/native.py WHEELS [--set-aside | --looked-at] [--misses] [--markdown]
    python benchmarks/native.py --environment .venv       # only what it takes

The packages are those of the catalog of which a wheel lies in the directory. Every third, by a hash
of its name, is set aside: it is not looked at while the reading is made better. A blocker counts
that was measured (`[blocker.evidence]` has figures) and waits; it is found where a tier names a
wait, `waits` or `held`. Of packages in which nothing blocks every native method counts. A package
that implements functions of another one, which the catalog names there, counts with that one.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections import Counter
from pathlib import Path

from gblock import measurements
from gblock.distribution import normalized
from gblock.errors import UserError
from gblock.native.store import read_all
from gblock.packages import environment, machine_code, wheel

NAMED = ("waits", "held")
TIERS = (*NAMED, "leaves", "")


def is_set_aside(name):
    return hashlib.sha256(normalized(name).encode()).digest()[0] % 3 == 0


class Score:
    """The counts of one package, or of several."""

    def __init__(self):
        self.native = Counter()
        self.python = Counter()
        self.immediate = Counter()
        self.gil = Counter()
        self.misses = []
        self.overclaimed = []

    def add(self, other):
        for name in ("native", "python", "immediate", "gil"):
            getattr(self, name).update(getattr(other, name))


def tier_of(methods, named, key):
    tiers = [one.reading.tier for one in methods if named.key(one.symbol) == key]
    owner, name = key
    tiers += [  # a class is called: its constructor
        one.reading.tier
        for one in methods
        if not owner and named.key(one.symbol) in ((name, "__init__"), (name, "__new__"))
    ]
    return min(tiers, key=TIERS.index, default="")


def score(code, blockers, immediate, types):
    """Compare what was read of one distribution with the catalog's entries of it."""
    named = machine_code.Named(blockers, types)
    natives = {named.key(symbol) for symbol in code.natives}
    found = Score()
    for blocker in blockers:
        if blocker.kind != "waits" or not blocker.evidence.measured:
            continue
        for symbol in blocker.symbols:
            owner, name = key = named.key(symbol)
            is_native = bool(
                natives & ({key} if owner else {key, (name, "__init__"), (name, "__new__")})
            )
            tier = tier_of(code.methods, named, key)
            (found.native if is_native else found.python)[tier] += 1
            if is_native and tier in ("waits", "leaves") and blocker.releases_gil is not None:
                found.gil[blocker.releases_gil] += 1
                if not blocker.releases_gil:
                    found.overclaimed.append(f"{symbol} ({tier})")
            if tier not in NAMED:
                found.misses.append(f"{symbol} ({tier or 'nothing'})")
    known = {named.key(symbol) for blocker in blockers for symbol in blocker.symbols}
    for symbol in immediate:
        key = named.key(symbol)
        if key in natives and key not in known:
            found.immediate[tier_of(code.methods, named, key)] += 1
    return found


def below(symbol):
    """The name of a symbol below the top-level package."""
    return symbol.partition(".")[2]


def share(counts, tiers=NAMED):
    total = sum(counts.values())
    return f"{sum(counts[t] for t in tiers)} of {total}" if total else "-"


def percent(counts, tiers=NAMED):
    total = sum(counts.values())
    return f"{100 * sum(counts[t] for t in tiers) / total:.1f} %" if total else "-"


def timed(distribution, known):
    """Read a distribution; also return the CPU seconds, the modules and the name."""
    start = time.process_time()
    code = machine_code.of(distribution, known)
    return code, (time.process_time() - start, code.modules, normalized(distribution.name))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", type=Path, nargs="?", default=Path())
    parser.add_argument("--environment", help="an installed environment to read in place of wheels")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--set-aside", action="store_true", help="only packages set aside")
    group.add_argument("--looked-at", action="store_true", help="only the others")
    parser.add_argument("--misses", action="store_true", help="list what is not found")
    parser.add_argument("--markdown", action="store_true", help="as tables for docs/native.md")
    parser.add_argument("--only", action="append", help="only this package")
    options = parser.parse_args()
    known = measurements.load()
    if options.environment:
        found = environment.read(options.environment).distributions
        installed = [one for one in found if one.compiled]
        paths = [os.path.join(one.base, file) for one in installed for file in one.compiled]
        start = time.process_time()
        read_all(paths, None)
        alone = time.process_time() - start
        print(f"machine code alone: {alone:.1f} s of CPU, {alone / len(paths):.3f} s a module")
        show_seconds([timed(one, known)[1] for one in installed])
        return
    same = {
        normalized(other): normalized(one.distribution)
        for one in known.libraries
        for other in one.distributed_as
    }
    same["psycopg2-binary"] = "psycopg2"
    blockers, immediate = {}, {}
    for one in known.blockers:
        if one.distribution != "stdlib" and not one.patched_by:
            blockers.setdefault(normalized(one.distribution), []).append(one)
    for one in known.libraries:
        immediate.setdefault(normalized(one.distribution), []).extend(one.immediate)
    harmless = {normalized(one.distribution) for one in known.harmless} - blockers.keys()
    implemented = {
        below(symbol): normalized(one.distribution)
        for one in known.blockers
        if one.kind == "waits" and one.evidence.measured
        for symbol in one.symbols
        if symbol.count(".") > 1
    }
    rows, alarms, seconds, seen = [], {}, [], set()
    for path in sorted(options.wheels.glob("*.whl")):
        name = normalized(path.name.partition("-")[0])
        of = same.get(name, name)
        if options.only and name not in options.only:
            continue
        if (options.set_aside and not is_set_aside(of)) or (options.looked_at and is_set_aside(of)):
            continue
        if of in blockers and not any(
            one.kind == "waits" and one.evidence.measured for one in blockers[of]
        ):
            continue
        if of in seen:  # the same package under another name
            continue
        seen.add(of)
        try:
            with wheel.opened(str(path)) as distribution:
                if not distribution.compiled:
                    continue
                code, took = timed(distribution, known)
                seconds.append(took)
        except UserError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        types = frozenset(
            one.symbol.split(".")[-2]
            for one in code.methods
            if one.is_native and one.reading.in_class
        )
        if of in harmless:
            others = {implemented.get(below(symbol), of) for symbol in code.natives} - {of}
            of = others.pop() if len(others) == 1 else of
        if of in blockers:
            found = score(code, blockers[of], immediate.get(of, ()), types)
            if found.native or found.python:
                rows.append((name, is_set_aside(of), found, code))
        elif of in harmless:
            native = [one for one in code.methods if one.is_native]
            counts = Counter(one.reading.tier for one in native)
            counts[""] = len(code.natives) - len(native)
            alarms[name] = (
                is_set_aside(of),
                counts,
                [o for o in native if o.reading.tier in NAMED],
            )
    show(rows, alarms, seconds, options)


def show(rows, alarms, seconds, options):
    bar = "| " if options.markdown else ""
    end = " |" if options.markdown else ""
    between = " | " if options.markdown else "  "

    def line(*cells):
        widths = (30, 13, 13, 8, 13, 13)
        print(bar + between.join(f"{c!s:<{w}}" for c, w in zip(cells, widths, strict=True)) + end)

    line("package", "native", "in Python", "only GIL", "immediate", "set aside")
    if options.markdown:
        line(*["---"] * 6)
    for name, aside, found, _ in rows:
        leaves = found.native["leaves"] + found.python["leaves"]
        line(
            name,
            share(found.native),
            share(found.python),
            leaves,
            share(found.immediate),
            "yes" * aside,
        )
        if options.misses and found.misses:
            print("    not found: " + ", ".join(found.misses))
        if options.misses and found.overclaimed:
            print("    measured to hold the GIL: " + ", ".join(found.overclaimed))
    for title, wanted in (("looked at", [False]), ("set aside", [True]), ("all", [False, True])):
        total = Score()
        for _, aside, found, _ in rows:
            if aside in wanted:
                total.add(found)
        both = total.native + total.python
        if not both:
            continue
        counts = Counter()
        for aside, found, _ in alarms.values():
            if aside in wanted:
                counts.update(found)
        gil = total.gil
        print(
            f"\n{title}: native waits named {share(total.native)} = {percent(total.native)}, "
            f"with Python functions {share(both)} = {percent(both)}, "
            f"release of the GIL correct {gil[True]} of {sum(gil.values())}, "
            f"immediate calls named {share(total.immediate)}, "
            f"methods of harmless packages named {share(counts)} = {percent(counts)} "
            f"(waits {counts['waits']}, held {counts['held']}, leaves {counts['leaves']})"
        )
    if options.misses:
        for name, (_, counts, found) in alarms.items():
            if found:
                print(f"{name}: {share(counts)}: " + ", ".join(one.symbol for one in found[:6]))
    show_seconds(seconds)


def show_seconds(seconds):
    total, modules = sum(s for s, _, _ in seconds), sum(m for _, m, _ in seconds)
    print(
        f"\n{modules} modules of {len(seconds)} packages: {total:.0f} s of CPU, "
        f"{total / max(modules, 1):.3f} s a module; slowest: "
        + ", ".join(f"{name} {s:.1f} s" for s, _, name in sorted(seconds, reverse=True)[:4])
    )


if __name__ == "__main__":
    main()
