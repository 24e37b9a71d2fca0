"""Environments that are made up: metadata as installers write it, and no package behind it."""

from __future__ import annotations

from pathlib import Path


def install(site: Path, name: str, version: str = "1.0", files=(), *, metadata: str = "", **more):
    """Write a distribution as pip does.

    Args:
        site: The directory of packages.
        name: As its metadata spells it.
        version: Its version.
        files: What its RECORD lists; they are made, empty. None for no RECORD.
        metadata: More lines of METADATA.
        more: More files of the metadata, with underscores for dots: ``top_level_txt="a"``.
    """
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}\n"
    (folder / "METADATA").write_text(head, encoding="utf-8")
    for file in files or ():
        path = site / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    if files is not None:
        rows = "".join(f"{file},sha256=x,0\n" for file in (*files, f"{folder.name}/RECORD"))
        (folder / "RECORD").write_text(rows, encoding="utf-8")
    for key, text in more.items():
        stem, _, ending = key.rpartition("_")
        (folder / f"{stem}.{ending}").write_text(text, encoding="utf-8")
    return folder


def environment(root: Path) -> tuple[Path, Path]:
    """A virtual environment without an interpreter, and its directory of packages."""
    site = root / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (root / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return root, site
