"""The pages of ``docs/`` that are generated from the rules and the catalog."""

from __future__ import annotations

from collections import Counter

from gblock import measurements, rules
from gblock.catalog.blockers import Belief, Blocker
from gblock.catalog.lookup import Catalog
from gblock.distribution import normalized
from gblock.explain import blocker_page, cell, rule_page, title_of
from gblock.repairs import KINDS


def rules_document() -> str:
    """Return the text of ``docs/rules.md``."""
    table = ["| rule | default | fixes | what it is about |", "|---|---|---|---|"]
    for rule in rules.load_all():
        name, state = rule.name, "on" if rule.on_by_default else "off"
        kinds = dict.fromkeys(KINDS[kind].applicability for kind in rule.fixes)
        table.append(f"| [{name}](#{name}) | {state} | {', '.join(kinds)} | {title_of(rule)} |")
    pages = [_nested(rule_page(rule)) for rule in rules.load_all()]
    return "\n".join(["# Rules", "", _GENERATED, "", _FIXES, "", *table, "", *pages])


def blockers_document() -> str:
    """Return the text of ``docs/blockers.md``: an index of the packages."""
    known = measurements.load()
    measured = sum(blocker.evidence.measured for blocker in known.blockers)
    packages = _by_package(known)
    lines = ["# Blockers", "", _GENERATED, ""]
    lines.append(
        f"{len(known.blockers)} entries of {len(packages)} packages, {measured} of them measured. "
        "A package's page has its entries; `gblock explain ID` prints one with its figures."
    )
    lines += ["", "| package | error | warning | opt-in |", "|---|---|---|---|"]
    for distribution, blockers in packages.items():
        numbers = Counter(blocker.level for blocker in blockers)
        cells = (str(numbers[level] or "") for level in ("error", "warning", "opt-in"))
        # Addresses of blockers, such as in SARIF, point to the row of their package.
        places = "".join(f'<a id="{blocker.id}"></a>' for blocker in blockers)
        link = f"[{distribution}](blockers/{normalized(distribution)}.md)"
        lines.append(f"| {places}{link} |{'|'.join(cells)}|")
    lines += ["", "## Drivers chosen by a string", "", f"Reported by {rules.OF_DRIVERS}.", ""]
    lines += ["| id | strings | level | hub's gap | instead |", "|---|---|---|---|---|"]
    for driver in known.drivers:
        gap = driver.evidence.max_gap
        names = dict.fromkeys(name for choice in driver.chosen_by for name in choice.names)
        lines.append(
            f'| <a id="{driver.id}"></a>`{driver.id}` | {", ".join(f"`{n}`" for n in names)} '
            f"| {driver.level} | {f'{gap:.2f} s' if gap is not None else '?'} "
            f"| {cell(driver.instead)} |"
        )
    return "\n".join(lines) + "\n"


def package_documents() -> dict[str, str]:
    """Return the texts of ``docs/blockers/``, a page for each package, by the files' names."""
    known = measurements.load()
    found = {}
    for distribution, blockers in _by_package(known).items():
        lines = [f"# {distribution}", "", _GENERATED, "", "[All packages](../blockers.md)", ""]
        lines += ["| entry | kind | level | hub's gap | instead |", "|---|---|---|---|---|"]
        for blocker in blockers:
            gap = blocker.evidence.max_gap
            lines.append(
                f"| [{blocker.id}](#{blocker.id}) | {blocker.kind} | {blocker.level} "
                f"| {f'{gap:.2f} s' if gap is not None else '?'} | {cell(blocker.remedy())} |"
            )
        for blocker in blockers:
            lines += ["", _nested(blocker_page(blocker, known)).rstrip("\n")]
        found[f"{normalized(distribution)}.md"] = "\n".join(lines) + "\n"
    return found


def _by_package(known: Catalog) -> dict[str, list[Blocker]]:
    packages: dict[str, list[Blocker]] = {}
    for blocker in sorted(known.blockers, key=lambda one: one.distribution.lower()):
        packages.setdefault(blocker.distribution, []).append(blocker)
    return packages


def beliefs_document() -> str:
    """Return the text of ``docs/beliefs.md``."""
    known = measurements.load()
    lines = ["# Beliefs", "", _GENERATED, ""]
    lines.append(
        "Beliefs are common assumptions that measurements contradict: each row shows the "
        "assumption, and the result of running the call under gevent next to a heartbeat "
        "greenlet. `gblock explain ID` prints an entry; the versions are those of "
        f"{_measured_on(known)} unless a row names others."
    )
    stop: list[Blocker | Belief] = [b for b in known.blockers if b.evidence.belief]
    stop += [belief for belief in known.beliefs if _stops_hub(belief)]
    rest: list[Blocker | Belief] = [b for b in known.beliefs if not _stops_hub(b)]
    for heading, those in (("They block the hub", stop), ("They do not", rest)):
        lines += ["", f"## {heading}", "", "| entry | belief | measured |", "|---|---|---|"]
        for one in sorted(those, key=lambda one: (one.distribution.lower(), one.id)):
            lines.append(
                f"| {_entry(one)} | {cell(one.evidence.belief)} | {cell(measured_line(one))} |"
            )
    return "\n".join(lines) + "\n"


def _stops_hub(belief: Belief) -> bool:
    return belief.verdict in ("blocks", "cpu")


def _measured_on(known: Catalog) -> str:
    have = known.measured_on
    return f"Python {have.get('python', '?')} and gevent {have.get('gevent', '?')}"


def measured_line(one: Blocker | Belief) -> str:
    """Return the measurement in one line."""
    evidence, parts = one.evidence, []
    if evidence.elapsed is not None:
        names = {"Python": evidence.python, "gevent": evidence.gevent}
        if one.distribution not in ("stdlib", "gevent"):
            names = {one.distribution: evidence.version, **names}
        versions = ", ".join(f"{name} {version}" for name, version in names.items() if version)
        took = f"{evidence.elapsed:.2f} s" + ("" if evidence.returned else " (stopped)")
        gap = f"{evidence.max_gap:.3f} s" if evidence.max_gap is not None else "?"
        where = f" ({versions})" if versions else ""
        parts.append(f"{evidence.call}: {took}, the hub's longest gap {gap}{where}.")
    if isinstance(one, Blocker) and one.kind == "cpu" and one.releases_gil is False:
        parts.append("It keeps the GIL.")
    if evidence.found:
        parts.append(evidence.found)
    return " ".join(parts)


def _entry(one: Blocker | Belief) -> str:
    if isinstance(one, Blocker):
        return f"[{one.id}](blockers/{normalized(one.distribution)}.md#{one.id})"
    return f"`{one.id}`" + (f", [{one.rule}](rules.md#{one.rule})" if one.rule else "")


def _nested(markdown: str) -> str:
    """Return a page with its headings one level deeper; code is unchanged."""
    lines, in_code = [], False
    for line in markdown.splitlines():
        in_code ^= line.startswith("```")
        lines.append(f"#{line}" if line.startswith("#") and not in_code else line)
    return "\n".join(lines) + "\n"


_FIXES = "[Fixes](fixes.md) says what each kind of fix does, and why it is safe or not."
_GENERATED = "Generated by `pytest --update` from the code: do not edit."
