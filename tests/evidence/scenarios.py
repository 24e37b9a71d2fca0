"""Scenarios: code that proves an entry of the catalog, in the TOML files beside this module."""

from __future__ import annotations

from pathlib import Path

import msgspec
import tomli

from gblock.errors import UserError, toml_place

HERE = Path(__file__).parent
OPEN = "open.toml"


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry's call and its remedy; README.md says what the keys mean."""

    blocker: str
    setup: str = ""
    call: str
    title: str | None = None
    remedy: str | None = None
    remedy_setup: str = ""
    remedy_title: str | None = None
    symbol: str | None = None
    needs: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    python: str = ""
    patch: tuple[str, ...] | None = None
    timeout: float = 10.0
    slow: bool = False

    @property
    def called(self) -> str:
        """The call, as the catalog names it."""
        return self.title or _line(self.call)

    @property
    def remedied(self) -> str:
        """The remedy, as the catalog names it."""
        if self.remedy is None:
            return self.remedy_title or "gevent.get_hub().threadpool.apply(f, args)"
        return self.remedy_title or _line(self.remedy)


class Open(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    """The open work: lists of blockers, which can only shrink."""

    without_scenario: tuple[str, ...]
    without_figures: tuple[str, ...]
    without_remedy: tuple[str, ...]
    remedy_blocks: tuple[str, ...]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scenario: tuple[Scenario, ...]
    setup: str = ""
    needs: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    remedy_setup: str = ""
    remedy_title: str | None = None
    patch: tuple[str, ...] | None = None
    slow: bool = False

    def scenarios(self) -> tuple[Scenario, ...]:
        """Each with what the whole file says."""
        return tuple(
            msgspec.structs.replace(
                one,
                setup=f"{self.setup}\n{one.setup}" if self.setup else one.setup,
                needs=one.needs or self.needs,
                requires=one.requires or self.requires,
                patch=self.patch if one.patch is None else one.patch,
                slow=one.slow or self.slow,
                **self._remedy(one),
            )
            for one in self.scenario
        )

    def _remedy(self, one: Scenario) -> dict[str, str | None]:
        setup = one.remedy_setup
        title = one.remedy_title
        if one.remedy is None:
            # A remedy of its own says what it needs.
            setup, title = setup or self.remedy_setup, title or self.remedy_title
        # What is prepared is the call itself.
        remedy = one.call if one.remedy is None and setup else one.remedy
        return {"remedy": remedy, "remedy_setup": setup, "remedy_title": title}


def load(directory: Path = HERE) -> tuple[Scenario, ...]:
    """Return the scenarios of all files, in the order of the files' names.

    Raises:
        UserError: with the file and what is wrong in it.
    """
    files = sorted(path for path in directory.glob("*.toml") if path.name != OPEN)
    return tuple(one for path in files for one in _parsed(path, _File).scenarios())


def still_open(directory: Path = HERE) -> Open:
    """Return the lists of what is to be done.

    Raises:
        UserError: if they cannot be read.
    """
    return _parsed(directory / OPEN, Open)


def _parsed(path: Path, shape):
    text = path.read_text(encoding="utf-8")
    try:
        return msgspec.convert(tomli.loads(text), shape)
    except tomli.TOMLDecodeError as error:
        message, row, column = toml_place(error, text)
        raise UserError(path.name, message, row, column) from None
    except msgspec.ValidationError as error:
        raise UserError(path.name, str(error)) from None


def _line(statement: str) -> str:
    return "; ".join(line.strip() for line in statement.strip().splitlines())
