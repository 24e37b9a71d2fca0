"""Strings that choose a driver: the catalog lists their readers, and the drivers that block."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from gblock.catalog.drivers import Choice, Chooser, Driver
from gblock.project.calls.queries import Queries, Sent
from gblock.project.names import values as v
from gblock.project.names.inferred import Inferred
from gblock.project.names.partial_texts import Text, only_lists, only_texts
from gblock.project.names.texts import Texts
from gblock.project.processes.patching import Patch
from gblock.project.processes.process import Process
from gblock.project.processes.processes import Processes
from gblock.project.processes.servers import NO, YES
from gblock.project.reading.expressions import last_name
from gblock.project.reading.testcode import is_stand_in
from gblock.project.remarks.engines import Engines, Source
from gblock.project.remarks.idle import LANGUAGES, is_idle
from gblock.project.remarks.purpose import DEVELOPMENT, purpose
from gblock.project.remarks.readers import Read, Readers
from gblock.project.remarks.remark import Remark, Span
from gblock.project.remarks.strings import (
    Strings,
    end_of,
    environment,
    reads_environment,
    statements,
)

_FILLED = "BaseSettings"
"""The base class of pydantic's settings, whose fields have defaults beside the environment."""
_LOCAL = "sqlite"
"""The start of a string that names a local file: beside a name of the environment, a stand-in."""

_OFFERED = 2
"""With so many databases with servers at one place, users choose one and install its driver."""


class Facts(NamedTuple):
    """The facts of one string."""

    driver: Driver
    written: str
    """The scheme, or the name, that chooses it."""
    rivals: tuple[str, ...]
    """Distributions that the string means instead if installed; the project names neither."""
    processes: tuple[str, ...]
    """The names of the processes on gevent that can run it, none if unknown."""
    elsewhere: tuple[str, ...]
    """The processes in which the project does make it cooperative."""
    reader: tuple[str, int] | None
    """The file and the row where it is read, if that is another place."""
    doubt: Patch | None = None
    """The remedy that these processes apply only under a condition."""
    language: str = ""
    """The language of the string."""
    recipe: str = ""
    """A call that makes it cooperative; empty if none is known."""
    is_shown: bool = True
    """False if the string comes from elsewhere, so that only the requirements show the driver."""
    standing: str = ""
    """The purpose of the string, as `purpose` returns it."""
    beside: tuple[tuple[str, Span], ...] = ()
    """The places that choose the same driver for development."""
    is_idle: bool = False
    """True if no code of the processes queries the database."""
    is_optional: bool = False
    """True if the code offers several databases, and the requirements lack this one's packages."""


class Unseen(NamedTuple):
    """A place that reads a string which the code does not show, or shows as a default alone."""

    path: str
    rows: tuple[int, int]
    language: str
    names: frozenset[str]
    """The names of settings and of calls that such strings are given to."""
    has_default: bool
    """True if it is a local file's without the environment: ``getenv("URL", "sqlite:///x")``."""


class Drivers:
    """Finds the strings that choose a driver.

    Args:
        processes: The processes of the project.
        paths: The files in which strings are reported.
        marks: Matches every file that may contain such a string.
        queries: Finds the calls that send statements to a database.
    """

    def __init__(
        self,
        processes: Processes,
        paths: Collection[str],
        marks: re.Pattern[bytes],
        queries: Queries,
    ) -> None:
        self.queries = queries
        self._unknown: list[Unseen] = []
        """The readers of strings that the code does not show."""
        self.processes = processes
        self.inference = processes.inference
        self.modules = processes.modules
        self.catalog = self.inference.catalog
        self.paths = frozenset(paths)
        self.texts = Texts(Inferred(self.inference), lenient=True)
        self.readers = Readers(self.inference, self.texts, marks)
        self.strings = Strings(self.modules)
        self.requirements = processes.deployment.requirements
        self._chosen_at: dict[tuple[str, Span, str], set[Source]] = {}
        """By the file, the place and the driver of a string, the expressions that read it."""
        self._shown: set[Source] = set()
        """The expressions that read a string which the code shows."""
        self._by_name: dict[tuple[str, str], list[tuple[Driver, Choice]]] = {}
        for driver in self.catalog.drivers:
            for choice in driver.chosen_by:
                for name in choice.names:
                    key = (choice.language, name.lower())
                    self._by_name.setdefault(key, []).append((driver, choice))

    def remarks(self) -> Iterator[Remark]:
        """Yield the strings that choose a driver that blocks where it is used.

        Strings for tests are left out. Strings for development, and those in examples, are related
        places of a string for production that chooses the same driver.
        """
        for group in self._decisions():
            real = [one for one in group if not one.facts.standing]
            firm = [one for one in real if not is_stand_in(one.path, self.modules.root)]
            real = firm or real  # settings for tests say it once more
            others = [one for one in group if one.facts.standing == DEVELOPMENT]
            shown = real or others[:1]
            rest = [one for one in others if one not in shown]
            for number, remark in enumerate(shown):
                if number:
                    yield remark
                    continue
                beside = tuple((one.path, one.span) for one in rest)
                calls = self._sent_through(remark, group)
                idle = not calls and self._is_idle(remark)
                facts = remark.facts._replace(beside=beside, is_idle=idle)
                yield remark._replace(facts=facts, calls=calls)

    def _decisions(self) -> list[list[Remark]]:
        """Return the strings of one driver in the same processes together.

        A string for development that no process is known to run goes with those of its driver.
        """
        together: dict[tuple[str, tuple[str, ...]], list[Remark]] = {}
        for remark in self._all():
            facts: Facts = remark.facts
            together.setdefault((facts.driver.id, facts.processes), []).append(remark)
        run = {driver: (driver, names) for driver, names in together if names}
        for key in list(together):
            if not key[1] and key[0] in run:
                loose = [one for one in together[key] if one.facts.standing]
                together[run[key[0]]] += loose
                together[key] = [one for one in together[key] if one not in loose]
        drivers = [group[0].facts.driver for group in together.values() if group]
        chosen = {name for one in drivers for name in (one.distribution, *one.requires)}
        for key, group in list(together.items()):
            if group and not chosen.isdisjoint(group[0].facts.driver.unless_required):
                del together[key]  # production uses the other one
        found = {driver for driver, _ in together}
        unseen: dict[tuple[str, frozenset[str] | None], list[Remark]] = {}
        for remark in self._from_environment():
            if remark.facts.driver.id not in found:
                # Services side by side may have one command, each in a directory of its own.
                unseen.setdefault((remark.facts.driver.id, remark.files), [remark])
        return [*together.values(), *unseen.values()]

    def _from_environment(self) -> Iterator[Remark]:
        """Yield the readers of strings that the code does not show, where one driver is required.

        It blocks, and no cooperative driver, of this database or another, is required beside it.
        """
        required = [
            driver
            for driver in self.catalog.drivers
            if driver.alternatives
            and any(name in self.requirements for name in (driver.distribution, *driver.requires))
        ]
        if len(required) != 1:
            return
        (driver,) = required
        # A cooperative driver of another database may be the one that is used.
        others = {name for one in self.catalog.drivers for name in one.alternatives}
        if any(name in self.requirements for name in others.difference(driver.requires)):
            return
        languages = {choice.language for choice in driver.chosen_by}
        for read in self._unknown:
            remark = self._unseen(read, driver) if read.language in languages else None
            if remark is not None:
                yield remark

    def _unseen(self, read: Unseen, driver: Driver) -> Remark | None:
        """Return the remark on a reader of a string that the code does not show."""
        path, rows = read.path, read.rows
        if path not in self.paths or is_stand_in(path, self.modules.root):
            return None
        running = self._running(driver, path, path)
        tree = self.strings.tree(path)
        if running is None or not tree:
            return None
        green = [process for process in running[0] if process.runs_on_gevent == YES]
        statement = next(iter(sorted(statements(tree, rows), key=lambda s: -s.lineno)), None)
        if statement is None or purpose(tree, path, rows):
            return None
        if not green and self._may_be_loaded_by_name(path, statement, read.names):
            green = self._only_servers
            running = (green, running[1], running[2])
        # A script may well use the local file that is the default; what is deployed has a database.
        if not any(process.is_server or not read.has_default for process in green):
            return None
        node = environment(statement, read.names)
        if read.has_default and not (reads_environment(node) or self._is_setting(path, rows[0])):
            return None
        blocked, free, doubt = running
        facts = Facts(
            driver,
            ast.unparse(node),
            (),
            tuple(dict.fromkeys(process.name for process in blocked)),
            tuple(dict.fromkeys(process.name for process in free)),
            None,
            doubt,
            read.language,
            self._recipe(driver),
            is_shown=False,
        )
        files = frozenset[str]().union(*map(self.processes.modules_of, blocked)) or None
        where = (statement.lineno, end_of(statement))
        return Remark(path, self.strings.span(path, node), facts, where, files=files)

    def _is_setting(self, path: str, row: int) -> bool:
        """Return whether a row is in a class of settings whose fields the environment fills."""
        summary = self.modules.summary(path)
        around = [
            index
            for index, scope in enumerate(summary.scopes)
            if scope.kind == "class" and scope.rows[0] <= row <= scope.rows[1]
        ]
        return any(
            last_name(base) == _FILLED
            for index in around
            for cls in self.inference.classes.ancestry(path, index)
            if cls.kind == v.CLASS
            for base in self.modules.summary(cls.path).scopes[cls.scope].bases
        )

    def _sent_through(self, remark: Remark, group: list[Remark]) -> tuple[Sent, ...]:
        """Return the calls that send statements through a driver, in the files of its processes.

        A statement whose engine the code shows to be another one is left out.
        """
        files, language = remark.files, remark.facts.language
        sent = self.queries.of(language, self.catalog.queries)
        own = set[Source]().union(*(self._chosen_at.get(_key(one), ()) for one in group))
        sent = [one for one in sent if files is None or one.place.path in files]
        others = self._shown - own
        if not own or not others:
            return tuple(sent)
        engines = self._engines(language)
        return tuple(one for one in sent if not (found := engines.of(one)) or not found <= others)

    def _engines(self, language: str) -> Engines:
        """Return what follows objects to the calls that chose a driver with such a string."""
        return Engines(
            self.inference,
            [
                reading
                for chooser in self.catalog.choosers
                if chooser.language == language
                for reading in chooser.readings
            ],
        )

    def _is_idle(self, remark: Remark) -> bool:
        """Return whether the processes of a driver never query through it."""
        of_django = remark.facts.language in LANGUAGES
        return of_django and bool(remark.files) and is_idle(self.modules, remark.files or ())

    def _all(self) -> Iterator[Remark]:
        told: set[tuple[str, Span, str]] = set()
        for chooser in self.catalog.choosers:
            if not any(self.modules.mentioning(name) for name in chooser.imports):
                continue
            for read in self.readers.of(chooser):
                texts = self._texts(read)
                is_offered = self._is_offer(texts, read)
                # Where a prefix marks a database, a string that is not shown names something else.
                chosen = [text for text in texts if _chooses(text, read.form)]
                if not chooser.prefixes and all(text.start.startswith(_LOCAL) for text in chosen):
                    place = (read.part.place.path, read.part.rows)
                    for path, rows in {(one.path, one.rows) for one in chosen} or {place}:
                        names = _names(chooser)
                        unseen = Unseen(path, rows, chooser.language, names, bool(chosen))
                        self._unknown.append(unseen)
                source = (read.part.place.path, read.part.expression)
                if chosen:
                    self._shown.add(source)
                for text in texts:
                    if text.path not in self.paths:
                        continue
                    remark = self._remark(text, read)
                    if remark is not None:
                        if is_offered and self._is_lacking(remark.facts.driver):
                            facts = remark.facts._replace(is_optional=True)
                            remark = remark._replace(facts=facts)
                        key = _key(remark)
                        self._chosen_at.setdefault(key, set()).add(source)
                        if key not in told:
                            told.add(key)
                            yield remark

    def _texts(self, read: Read) -> list[Text]:
        if read.chosen:
            return [Text(read.chosen, read.part.place.path, read.part.rows, "")]
        if read.is_elsewhere:
            return []
        if read.form == "names":
            found = self.texts.spelled(read.part)
            listed = (word for one in only_lists(found) for word in one.words)
            return list(dict.fromkeys((*listed, *only_texts(found))))
        return self.texts.of(read.part)

    # -- a choice of several databases

    def _is_offer(self, texts: list[Text], read: Read) -> bool:
        """Return whether code offers several databases with servers, and requires its library."""
        words = (self._word(text, read) for text in texts)
        bases = {word.partition("+")[0].lower() for word in words if word}
        if len(bases - {_LOCAL}) < _OFFERED:
            return False
        return any(name in self.requirements for name in read.chooser.imports)

    def _is_lacking(self, driver: Driver) -> bool:
        """Return whether the requirements name no package with which a driver comes."""
        brought = self.catalog.required_by
        own = (driver.distribution, *driver.requires)
        bringing = (one for name in own for one in (name, *brought.get(name, ())))
        return not any(name in self.requirements for name in bringing)

    # -- meanings of strings

    def _remark(self, text: Text, read: Read) -> Remark | None:
        chosen = self._chosen(text, read)
        if chosen is None:
            return None
        driver, choice, word = chosen
        if any(name in self.requirements for name in driver.unless_required):
            return None
        if any(self.requirements.excludes(name, one) for name, one in choice.versions.items()):
            return None
        rivals = choice.rivals
        if rivals:
            own = any(name in self.requirements for name in (driver.distribution, *driver.requires))
            brought = self.catalog.required_by
            bringing = (one for name in rivals for one in (name, *brought.get(name, ())))
            rival = any(name in self.requirements for name in bringing)
            if rival and (choice.rival_first or not own):
                return None
            rivals = () if own else rivals
        running = self._running(driver, text.path, read.part.place.path)
        if running is None or self._is_for_others(text.path, read.chooser):
            return None
        if read.chosen:
            word = last_name(read.part.expression)
            where = self.strings.called(text, word)
        else:
            where = self.strings.located(text)
        if where is None:
            return None
        node, statement = where
        if driver.unless_written is not None:
            pattern = re.compile(driver.unless_written)
            rows = [(text.path, statement), (read.part.place.path, read.part.rows)]
            if any(pattern.search(self.strings.source(path, one)) for path, one in rows):
                return None
        blocked, free, doubt = running
        names = tuple(dict.fromkeys(process.name for process in blocked))
        elsewhere = tuple(dict.fromkeys(process.name for process in free))
        reader = (read.part.place.path, read.part.rows[0])
        here = reader[0] == text.path and statement[0] <= reader[1] <= statement[1]
        facts = Facts(
            driver,
            word,
            rivals,
            names,
            elsewhere,
            None if here else reader,
            doubt,
            read.chooser.language,
            self._recipe(driver),
            standing=purpose(self.strings.tree(text.path), text.path, statement, node),
        )
        files = frozenset[str]().union(*map(self.processes.modules_of, blocked)) or None
        span = self.strings.span(text.path, node)
        return Remark(text.path, span, facts, statement, files=files)

    def _chosen(self, text: Text, read: Read) -> tuple[Driver, Choice, str] | None:
        """Return the driver that a text chooses, and the word that chooses it."""
        word = self._word(text, read)
        prefixes = read.chooser.prefixes
        bare = next((word[len(p) :] for p in prefixes if word.startswith(p)), word)
        if not word or (prefixes and bare == word):
            return None
        is_class = read.form.startswith("name") and "." in word
        for name in chain((bare,), self._inherited(word, text.path) if is_class else ()):
            for driver, choice in self._by_name.get((read.chooser.language, name.lower()), ()):
                harmless = driver.harmless
                if harmless is None or not re.fullmatch(harmless, text.start):
                    return driver, choice, word
        return None

    def _inherited(self, name: str, path: str) -> Iterator[str]:
        """Yield the names of the classes of libraries that a project's class derives from.

        Args:
            name: The dotted name of the class.
            path: The file that names it.
        """
        module, _, cls = name.rpartition(".")
        for value in self.inference.imports.bound(module, cls, 0, path):
            if value.kind == v.CLASS:
                for base in self.inference.classes.ancestry(value.path, value.scope):
                    if base.kind == v.EXTERNAL:
                        yield base.symbol

    @staticmethod
    def _word(text: Text, read: Read) -> str:
        """Return the scheme or the name with which a text chooses, an empty string without any."""
        scheme, separator, _ = text.start.partition("://")
        if separator and read.form != "name":
            return scheme
        return text.start if text.whole and not separator and read.form != "url" else ""

    # -- processes

    def _running(
        self, driver: Driver, path: str, reader: str
    ) -> tuple[list[Process], list[Process], Patch | None] | None:
        """Return the processes in which a driver blocks, and those in which it is cooperative.

        The third member is the remedy that the former apply only under a condition.

        Args:
            driver: The driver.
            path: The file with the string.
            reader: The file that reads it.

        Returns:
            None if there is nothing to report: no process on gevent runs the files, or all make
            the driver cooperative.
        """
        if any(self.processes.only_without_gevent(one) for one in {path, reader}):
            return None
        remedies = self.catalog.remedies_of(driver)
        reaching = [p for p in self.processes.reaching(path) if p.kind != "tests"]
        both = [p for p in reaching if reader in self.processes.modules_of(p)]
        reaching = both or reaching
        if reaching and all(map(self.processes.activity.is_alone, reaching)):
            return None  # no other greenlet waits for the hub
        running = [p for p in reaching if p.runs_on_gevent == YES]
        if not reaching and self._only_load_tests:
            return None
        if is_stand_in(path, self.modules.root):
            running = [process for process in running if self._is_deployed_with(process, path)]
            if not running:
                return None
        if not running:
            # No process is known to run the files: a remedy anywhere in the project counts.
            made = [
                patch
                for patch in self.processes.patching.all()
                if not patch.undone and patch.symbol in remedies
            ]
            if any(not patch.condition for patch in made):
                return None
            doubt = made[0] if made else None
            return [p for p in reaching if p.runs_on_gevent != NO], [], doubt
        made_in = {p: [one for one in p.drivers if one.symbol in remedies] for p in running}
        free = [p for p, made in made_in.items() if any(p.makes_sure(one) for one in made)]
        blocked = [process for process in running if process not in free]
        doubts = [made_in[process][0] if made_in[process] else None for process in blocked]
        return (blocked, free, doubts[0] if all(doubts) else None) if blocked else None

    def _is_for_others(self, path: str, chooser: Chooser) -> bool:
        """Return whether only servers without gevent can read settings that no process imports.

        The settings that the environment names belong to the servers that use their library.
        """
        if self.processes.reaching(path):
            return False
        using = {one for name in chooser.imports for one in self.modules.mentioning(name)}
        users = [
            process
            for process in self.processes.all()
            if process.kind != "tests" and not using.isdisjoint(self.processes.modules_of(process))
        ]
        return any(one.is_known_server for one in users) and all(
            one.runs_on_gevent == NO for one in users
        )

    def _is_deployed_with(self, process: Process, path: str) -> bool:
        """Return whether a process surely reads a settings file, and not for tests alone."""
        if path in process.assumed:
            return False
        return not all(is_stand_in(one.path, self.processes.root) for one in process.evidence)

    def _recipe(self, driver: Driver) -> str:
        """Return the first call that makes a driver cooperative, an empty string without any."""
        blocker = self.catalog.blocker_of(driver)
        return next(iter(blocker.cooperative_after), "") if blocker is not None else ""

    def _may_be_loaded_by_name(self, path: str, statement: ast.stmt, names: frozenset[str]) -> bool:
        """Return whether a statement is a setting of Flask in a file that no process imports."""
        targets = statement.targets if isinstance(statement, ast.Assign) else ()
        return (
            any(isinstance(one, ast.Name) and one.id in names for one in targets)
            and bool(self.modules.mentioning("from_object", whole=True))
            and all(one.kind == "tests" for one in self.processes.reaching(path))
        )

    @cached_property
    def _only_servers(self) -> list[Process]:
        """The servers of a project, if all run on gevent: they load what the environment names."""
        servers = [one for one in self.processes.all() if one.is_server and one.kind != "tests"]
        return servers if all(one.runs_on_gevent == YES for one in servers) else []

    @cached_property
    def _only_load_tests(self) -> bool:
        """Return whether only load tests run on gevent: these run only what they import."""
        running = [p for p in self.processes.all() if p.runs_on_gevent == YES]
        return all(process.is_load_test or process.kind == "tests" for process in running)


def _key(remark: Remark) -> tuple[str, Span, str]:
    """Return what distinguishes the string of a remark from others."""
    return remark.path, remark.span, remark.facts.driver.id


def _names(chooser: Chooser) -> frozenset[str]:
    """Return the names of the settings and the calls of a library that read such strings."""
    read = (*(one.symbol for one in chooser.readings), *chooser.made_by)
    names = frozenset(symbol.rpartition(".")[2] for symbol in read)
    return names.union(one.name for one in chooser.settings)


def _chooses(text: Text, form: str) -> bool:
    """Return whether a text can be such a string, and not the name of a setting."""
    if form.startswith("name") and text.whole and text.start and not text.start.isupper():
        return True
    if form == "url":
        return "://" in text.start or not text.whole
    return "://" in text.start or "." in text.start or not text.whole
