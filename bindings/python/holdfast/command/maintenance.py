"""Commands for the maintenance of a store: backup, restore, verify, compact."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

import click

from .. import maintenance
from .failures import DAMAGED, Failure
from .parameters import store_argument
from .progress import entities_of, progress
from .session import Session


def _file(url: str) -> Optional[tuple[int, int]]:
    """Which file a path or URL leads to, if there is one."""
    try:
        status = os.stat(url[len("sqlite:") :] if url.startswith("sqlite:") else url)
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def _telling(url: str) -> Iterator[None]:
    """Around what puts a whole file there: Ctrl-C in the last moment must not hide that it is there."""
    before = _file(url)
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if _file(url) not in (None, before):
            raise Failure.of(interrupt).but(f"{url} is complete") from interrupt
        raise


@click.command()
@store_argument
@click.argument("target", type=click.Path())
@click.pass_obj
def backup(session: Session, store: str, target: str) -> None:
    """Copy a store into a new file.

    It has the newest committed state, and others go on writing meanwhile. The copy is checked. Ends with 5
    where the store is damaged: without a copy where the file is, with one where only entities are. Answers
    "path", "sequence" (of the newest commit in it) and "bytes".

    \b
    Example:
        holdfast backup music.db music-monday.db
    """
    with session.open(store) as opened, progress(session, "Backing up", unit="bytes") as tell:
        with _telling(target):
            report = opened.backup(target, progress=tell)
        session.output.done(report)
    with Session(session.output).open(f"sqlite:{os.path.abspath(target)}") as copy:
        with progress(session, "Checking", total=entities_of(copy)) as tell:
            found = copy.verify(progress=tell)
    if not found["ok"]:
        raise Failure(
            f"{target} is what the store holds, and that is damaged: see holdfast verify {store}", DAMAGED
        )


@click.command()
@click.argument("source", metavar="BACKUP", type=click.Path(exists=True, dir_okay=False))
@store_argument
@click.option("--replace", is_flag=True, help="Replace the store that is there, which nobody may have open.")
@click.pass_obj
def restore(session: Session, source: str, store: str, replace: bool) -> None:
    """Make a store from a backup.

    Answers "backup" and "store", as they were named.

    \b
    Example:
        holdfast restore music-monday.db music.db --replace
    """
    with progress(session, "Restoring", unit="bytes") as tell:
        with _telling(store):
            maintenance.restore(source, store, replace=replace, progress=tell)
        session.output.done({"backup": source, "store": store})


@click.command()
@store_argument
@click.pass_context
def verify(ctx: click.Context, store: str) -> None:
    """Check the file, entities and indexes.

    Ends with 5 where something is wrong. Answers "ok", "problems" (sentences about the file), and
    "repositories", each with "name", "ok", "entities", "damaged" (how many of them are), "damaged_ids" and
    "indexes", each with "name", "entries", "wrong" and "missing" (how many).

    \b
    Example:
        holdfast verify music.db
    """
    session: Session = ctx.obj
    with session.open(store) as opened:
        with progress(session, "Checking", total=entities_of(opened)) as tell:
            report = opened.verify(progress=tell)
    session.output.report(report)
    if not report["ok"]:
        ctx.exit(DAMAGED)


@click.command()
@store_argument
@click.pass_obj
def compact(session: Session, store: str) -> None:
    """Give unused space back.

    No other process may have the store open. Answers "bytes_before" and "bytes_after", of the file.

    \b
    Example:
        holdfast compact music.db
    """
    with session.open(store, write=True) as opened, progress(session, "Compacting", unit=""):
        report = opened.compact()
    session.output.done(report)
