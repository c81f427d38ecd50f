"""Commands for whole repositories: drop, rename."""

import click

from .asking import confirm
from .parameters import repository_argument, store_argument, yes_option
from .session import Session


@click.command()
@store_argument
@repository_argument
@yes_option
@click.pass_obj
def drop(session: Session, store: str, repository: str, yes: bool) -> None:
    """Take a repository away, with its entities and indexes.

    After a question that tells how many entities it has. It is one commit: all is gone, or nothing. Answers
    "dropped", its name, and "entities", how many it had.

    \b
    Example:
        holdfast drop music.db songs_2024 --yes
    """
    with session.open(store, write=True) as opened:
        entities = opened.repository(repository, create=False).count()
        confirm(f"Drop {repository} with its {entities} entities?", yes=yes)
        opened.drop(repository)
        session.output.done({"dropped": repository, "entities": entities})


@click.command()
@store_argument
@repository_argument
@click.argument("name")
@click.pass_obj
def rename(session: Session, store: str, repository: str, name: str) -> None:
    """Give a repository another name.

    Whoever has it open goes on with it. Answers "renamed", the name that it had, and "name".

    \b
    Example:
        holdfast rename music.db songs tracks
    """
    with session.open(store, write=True) as opened:
        opened.rename(repository, name)
        session.output.done({"renamed": repository, "name": name})
