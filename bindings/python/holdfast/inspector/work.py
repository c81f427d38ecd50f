"""Work: what the page has done to a store: edits, indexes, and long work with its progress."""

import os
from pathlib import Path
from typing import Any

from .. import errors
from .jobs import Tell
from .reading import text, whole
from .shown import ShownStore


def save(shown: ShownStore, given: dict[str, Any]) -> Any:
    """Stores an entity in the place of the version that was seen."""
    repository, id = _repository(shown, given), text(given, "id") if given.get("id") is not None else ""
    shown.forget_counts()
    return shown.journal.save(repository, id, text(given, "text").encode(), _version(given))


def delete(shown: ShownStore, given: dict[str, Any]) -> Any:
    """Deletes an entity of the version that was seen."""
    repository, version = _repository(shown, given), _version(given)
    if not version:
        raise ValueError("What is deleted has a version.")
    shown.forget_counts()
    return shown.journal.delete(repository, text(given, "id"), version)


def undo(shown: ShownStore, given: dict[str, Any]) -> Any:
    """Takes an edit back."""
    _may_write(shown)
    shown.forget_counts()
    return shown.journal.undo(whole(given, "number", 0), shown.repository)


def edits(shown: ShownStore, given: dict[str, Any]) -> Any:
    """What was edited here."""
    return {"edits": shown.journal.told()}


def create_index(shown: ShownStore, given: dict[str, Any]) -> Any:
    """Begins to create an index."""
    repository = _repository(shown, given)
    fields, options = given.get("fields"), {name: given.get(name) for name in ("name", "kind", "language")}
    if not isinstance(fields, dict) or not fields:
        raise ValueError('The fields of an index are an object such as {"plays": 1}.')
    unique = given.get("unique") is True

    def work(tell: Tell) -> Any:
        repository.create_index(fields, unique=unique, progress=tell, **options)
        return {"repository": repository.name, "fields": fields}

    what = f"Index {options['name'] or ' '.join(fields)} of {repository.name}"
    return shown.jobs.begin(what, work, shown.count(repository.name))


def drop_index(shown: ShownStore, given: dict[str, Any]) -> Any:
    """Begins to drop an index."""
    repository, name = _repository(shown, given), text(given, "name")
    return shown.jobs.begin(f"Drop index {name} of {repository.name}", lambda _: repository.drop_index(name))


def verify(shown: ShownStore, given: dict[str, Any]) -> Any:
    """Begins to check the store."""
    total = sum(shown.count(name) for name in shown.repositories())
    return shown.jobs.begin("Verify", lambda tell: shown.store.verify(progress=tell), total)


def backup(shown: ShownStore, given: dict[str, Any]) -> Any:
    """Begins to copy the store into a file that is not there yet."""
    path = _new_file(given)
    return shown.jobs.begin(f"Back up to {path}", lambda tell: shown.store.backup(path, progress=tell))


def export(shown: ShownStore, given: dict[str, Any]) -> Any:
    """Begins to write the store's entities as lines into a file that is not there yet."""
    path = _new_file(given)
    names = given.get("repositories")
    total = sum(shown.count(name) for name in names or shown.repositories())

    def work(tell: Tell) -> Any:
        # Never over another file; and one that is not whole does not stay.
        with path.open("xb") as file:
            try:
                report = shown.store.export_lines(file, repositories=names, progress=tell)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        return {"path": str(path), **report}

    return shown.jobs.begin(f"Export to {path}", work, total)


def jobs(shown: ShownStore, given: dict[str, Any]) -> Any:
    """All work and how far it is."""
    return {"jobs": shown.jobs.told()}


def cancel(shown: ShownStore, given: dict[str, Any]) -> Any:
    """Ends work."""
    shown.jobs.cancel(whole(given, "number", 0))
    return {}


def _may_write(shown: ShownStore) -> None:
    if not shown.can_write:
        raise errors.ReadOnlyError("Nothing is written here: start it with --write.")


def _repository(shown: ShownStore, given: dict[str, Any]) -> Any:
    _may_write(shown)
    return shown.repository(given.get("repository"))


def _version(given: dict[str, Any]) -> int:
    version = text(given, "version")
    if not version.isascii() or not version.isdecimal():
        raise ValueError("A version is a number as text; 0 where there is no entity yet.")
    return int(version)


def _new_file(given: dict[str, Any]) -> Path:
    """The path of a file to be made, which others make between this look and the work at their peril."""
    path = Path(text(given, "path")).expanduser()
    if not path.name:
        raise ValueError("Say the path of a file.")
    path = Path(os.path.abspath(path))
    if os.path.lexists(path):
        raise errors.ExistsError(f"{path} is there already: choose another name.")
    if not path.parent.is_dir():
        raise ValueError(f"There is no directory {path.parent}.")
    return path
