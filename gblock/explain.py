"""Generate the pages of rules and blockers, for ``gblock explain``."""

from __future__ import annotations

import inspect
import textwrap

from gblock import measurements, rules
from gblock.catalog.blockers import Belief, Blocker, Condition, Evidence, Timeout
from gblock.catalog.drivers import Driver
from gblock.catalog.lookup import Catalog
from gblock.diagnostics import RulePage
from gblock.errors import UserError
from gblock.repairs import KINDS
from gblock.rule import Rule
from gblock.suggestion import did_you_mean

_KINDS = {
    "waits": "waits in native code",
    "cpu": "computes without giving way to the hub",
    "costly": "cheap once, expensive in numbers",
    "sends": "cheap once, expensive in numbers",
    "spawns": "starts greenlets or threads that stop the hub",
    "foreign": "runs code that the catalog cannot know",
    "unknown": "runs compiled code of a package that the catalog does not have",
}
_LEVELS = {
    "error": "reported as an error",
    "warning": "reported as a warning",
    "opt-in": "off unless selected",
}

_VERDICTS = {
    "blocks": "waits, and no other greenlet runs",
    "cpu": "works, and no other greenlet runs",
    "cooperative": "cooperative, other greenlets run meanwhile",
    "immediate": "returns at once",
}


def page(name: str) -> str:
    """Return the page of a rule, driver, blocker or belief, by its name, id or symbol.

    Raises:
        UserError: if there is none, with a suggestion.
    """
    if name in rules.NAMES:
        return rule_page(rules.load(name))
    known = measurements.load()
    if name in known.by_id:
        return blocker_page(known.by_id[name], known)
    drivers = {driver.id: driver for driver in known.drivers}
    if name in drivers:
        return driver_page(drivers[name], known)
    pages = [blocker_page(blocker, known) for blocker in known.lookup(name)]
    # A symbol can have both: a blocker for the unpatched call, a belief about the patched one.
    beliefs = (belief for belief in known.beliefs if name in (belief.id, *belief.symbols))
    pages += [belief_page(belief, known) for belief in beliefs]
    if pages:
        return "\n".join(pages)
    names = (*rules.NAMES, *known.by_id, *drivers, *known.by_symbol, *(b.id for b in known.beliefs))
    raise UserError("gblock explain", f"unknown rule or blocker {name}{did_you_mean(name, names)}")


def rule_pages() -> tuple[RulePage, ...]:
    """Return the pages of all rules, for formats that include them."""
    return tuple(
        RulePage(rule.name, title_of(rule), rule_page(rule), rule.on_by_default)
        for rule in rules.load_all()
    )


def listed_rules() -> list[tuple[str, bool, str]]:
    """Return each rule's name, whether it is on by default, and its title."""
    return [(rule.name, rule.on_by_default, title_of(rule)) for rule in rules.load_all()]


def listed_blockers() -> list[tuple[str, str, str, str, str]]:
    """Return each blocker's id, distribution, kind, level and reason."""
    return [(b.id, b.distribution, b.kind, b.level, b.why) for b in measurements.load().blockers]


def title_of(rule: type[Rule]) -> str:
    """Return the first line of a rule's documentation."""
    return (inspect.getdoc(rule) or "").partition("\n")[0]


def rule_page(rule: type[Rule]) -> str:
    """Return a rule's documentation in Markdown."""
    state = "on by default" if rule.on_by_default else "off unless selected"
    lines = [f"# {rule.name}", "", f"Since {rule.since}; {state}.", "", inspect.getdoc(rule) or ""]
    if rule.fixes:
        lines += ["", "## Fixes", "", *map(_fix, rule.fixes)]
    for heading, examples in (("Reported", rule.INVALID), ("Not reported", rule.VALID)):
        lines += ["", f"## {heading}"]
        for title, snippet in examples.items():
            code = textwrap.dedent(snippet).strip()
            lines += ["", f"{title[0].upper()}{title[1:]}:", "", "```python", code, "```"]
    return "\n".join(lines) + "\n"


def _fix(kind: str) -> str:
    """Return what one kind of fix does, as an item of a list."""
    applicability, title, *_ = KINDS[kind]
    return f"- `{kind}`, {applicability}: {title[0].lower()}{title[1:]}."


def blocker_page(blocker: Blocker, known: Catalog) -> str:
    """Return a blocker's documentation in Markdown."""
    package = "the standard library" if blocker.distribution == "stdlib" else blocker.distribution
    if blocker.versions:
        package += f" {blocker.versions}"
    if blocker.with_gevent:
        package += f" with gevent {blocker.with_gevent}"
    rule = next(r for r in rules.load_all() if blocker.kind in r.kinds).name
    if blocker.patched_by:
        rule = rules.OF_UNPATCHED[0]
    lines = [
        f"# {blocker.id}",
        "",
        f"{package}: {_KINDS[blocker.kind]}; {_LEVELS[blocker.level]} by {rule}.",
        "",
        *(f"- `{symbol}`" for symbol in blocker.symbols),
        "",
        blocker.why,
        "",
        f"Instead: {blocker.remedy()}",
    ]
    facts = _facts(blocker)
    if facts:
        lines += ["", *(f"- {fact}" for fact in facts)]
    lines += ["", *_proof(blocker.evidence, known.measured_on)]
    return "\n".join(lines) + "\n"


def belief_page(belief: Belief, known: Catalog) -> str:
    """Return the documentation of a belief in Markdown."""
    package = "the standard library" if belief.distribution == "stdlib" else belief.distribution
    reported = f"reported by {belief.rule}" if belief.rule else "not reported"
    lines = [
        f"# {belief.id}",
        "",
        f"{package}: {_VERDICTS[belief.verdict]}; {reported}.",
        "",
        *(f"- `{symbol}`" for symbol in belief.symbols),
        *([""] if belief.symbols else []),
        *_proof(belief.evidence, known.measured_on),
    ]
    return "\n".join(lines) + "\n"


def driver_page(driver: Driver, known: Catalog) -> str:
    """Return the documentation of a driver in Markdown."""
    package = "the standard library" if driver.distribution == "stdlib" else driver.distribution
    lines = [
        f"# {driver.id}",
        "",
        f"{package}, chosen by a string; {_LEVELS[driver.level]} by {rules.OF_DRIVERS}.",
        "",
    ]
    for choice in driver.chosen_by:
        names = ", ".join(f"`{name}`" for name in choice.names)
        readers = sorted({c.distribution for c in known.choosers if c.language == choice.language})
        line = f"- {names} ({', '.join(readers)})"
        if choice.rivals:
            rivals = " or ".join(choice.rivals)
            own = "" if choice.rival_first else f" and not {driver.distribution}"
            line += f", unless the project requires {rivals}{own}"
        lines.append(line)
    lines += ["", driver.why, "", f"Instead: {driver.instead}"]
    remedies = " or ".join(f"`{symbol}`" for symbol in sorted(known.remedies_of(driver)))
    if remedies:
        lines += ["", f"- Cooperative once the process calls {remedies}."]
    lines += ["", *_proof(driver.evidence, known.measured_on)]
    return "\n".join(lines) + "\n"


def _matching(condition: Condition) -> str:
    """Return what a condition demands of an argument."""
    values = [*map(repr, condition.values), *condition.flags]
    values += [f"{prefix}…" for prefix in condition.prefixes]
    demands = [f"is {' or '.join(f'`{value}`' for value in values)}"] if values else []
    if condition.matches:
        demands.append(f"matches `{condition.matches}`")
    if condition.composed:
        demands.append(f"matches `{condition.composed}`, unknown parts included")
    if condition.types:
        demands.append(f"is of the type {' or '.join(f'`{one}`' for one in condition.types)}")
    if condition.max_length is not None:
        demands.append(f"has at most {condition.max_length} characters")
    if condition.at_most is not None:
        demands.append(f"is at most {condition.at_most:,.0f}")
    if condition.given:
        demands.append("is given")
    return " or ".join(demands)


def _facts(blocker: Blocker) -> list[str]:
    facts = []
    if blocker.timeout is not None:
        facts.append(_bound(blocker.timeout))
    for condition in blocker.unless:
        which = _argument(condition.position, condition.keyword)
        facts.append(f"It does not block where {which} {_matching(condition)}.")
    for condition in blocker.brief:
        which = _argument(condition.position, condition.keyword)
        facts.append(f"It is brief, and a note, where {which} {_matching(condition)}.")
    for condition in blocker.only:
        which = _argument(condition.position, condition.keyword)
        facts.append(f"It is reported only where {which} {_matching(condition)}.")
    for argument in blocker.uploaded:
        which = _argument(argument.position, argument.keyword)
        if argument.receiver:
            which = "what the receiver reads"
        facts.append(f"It is reported unasked where {which} may be a file that a client sends.")
    if blocker.patched_by:
        facts.append(f"Cooperative where gevent has patched {' and '.join(blocker.patched_by)}.")
    if blocker.captured:
        facts.append("Its original blocks after the patch, too: see original-call.")
    if blocker.cooperative_after:
        remedies = " or ".join(f"`{symbol}`" for symbol in blocker.cooperative_after)
        facts.append(f"Cooperative once the project calls {remedies}.")
    if blocker.releases_gil is not None:
        verb = "releases" if blocker.releases_gil else "keeps"
        tail = "can help" if blocker.releases_gil and not blocker.thread_bound else "does not help"
        facts.append(f"It {verb} the GIL: the threadpool {tail}.")
    if blocker.thread_bound:
        facts.append("It depends on the thread that calls it: the threadpool is no fix.")
    if blocker.fix is not None:
        applicability, title, *_ = KINDS[blocker.fix]
        facts.append(f"Fix ({applicability}): {title[0].lower()}{title[1:]}.")
    if blocker.seconds_each is not None:
        facts.append(f"One call costs {blocker.seconds_each * 1e6:.2g} µs.")
    return facts


def _argument(position: int | None, keyword: str | None) -> str:
    if keyword:
        return f"`{keyword}`"
    return f"the argument at position {position}"


def _bound(timeout: Timeout) -> str:
    which = _argument(timeout.position, timeout.keyword)
    unit = "milliseconds" if timeout.unit == "ms" else "seconds"
    if timeout.default is None or timeout.default < 0:
        missing = "without it there is no end to the wait"
    elif timeout.default == 0:
        missing = "without it there is no wait"
    else:
        missing = f"without it, {timeout.default:g}"
    return f"The wait is bounded by {which}, in {unit}: 0 is no wait, {missing}."


def _proof(evidence: Evidence, measured_on: dict[str, str]) -> list[str]:
    """Return the measurement, or a line that there is none."""
    lines = []
    if evidence.belief:
        lines += [f"Belief: {evidence.belief}", ""]
    if evidence.measured:
        python = evidence.python or measured_on.get("python", "?")
        gevent = evidence.gevent or measured_on.get("gevent", "?")
        version = f"version {evidence.version}, " if evidence.version else ""
        lines.append(f"Measured with {version}Python {python}, gevent {gevent}:")
        lines.append("")
        lines.append("| what ran | seconds | the hub's longest gap |")
        lines.append("|---|---|---|")
        ended = "" if evidence.returned else " (stopped)"
        gap = f"{evidence.max_gap:.3f} s" if evidence.max_gap is not None else "?"
        lines.append(f"| {cell(evidence.call)} | {evidence.elapsed:.3f}{ended} | {gap} |")
        if evidence.remedy:
            gap = "not measured"
            if evidence.remedy_max_gap is not None:
                gap = f"{evidence.remedy_max_gap:.3f} s"
            lines.append(f"| remedy: {cell(evidence.remedy)} | | {gap} |")
    else:
        lines.append("Not measured.")
    if evidence.found:
        lines += ["", evidence.found]
    if evidence.reference:
        lines += ["", f"Reference: {evidence.reference}"]
    return lines


def cell(text: str | None) -> str:
    """Return a text as the cell of a table in Markdown."""
    return (text or "?").replace("|", "\\|")
