"""Parameters that several commands take, and how their words are completed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Optional

import click
from click.shell_completion import CompletionItem

from .._limits import LIMITS
from ..store import Store
from .entities import named_once
from .session import Session


def typed(ctx: click.Context, name: str) -> str:
    """What was typed for an argument so far."""
    # Where the last word is an option that waits for its value, click has not yet said whose the others are.
    arguments = [param.name for param in ctx.command.params if isinstance(param, click.Argument)]
    return ctx.params.get(name) or dict(zip(arguments, ctx.args)).get(name, "")


@contextmanager
def store_of(ctx: click.Context) -> Iterator[Store]:
    """The store that was typed, for completing what comes after it."""
    session = ctx.find_object(Session) or Session()
    with session.open(typed(ctx, "store")) as store:
        yield store


def complete_repository(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of repositories that begin so. Where there is no store, there are none."""
    with suppress(Exception), store_of(ctx) as store:
        return [CompletionItem(name) for name in store.repositories() if name.startswith(incomplete)]
    return []


def complete_index(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the repository's indexes that begin so."""
    with suppress(Exception), store_of(ctx) as store:
        indexes = store.repository(typed(ctx, "repository"), create=False).indexes()
        return [CompletionItem(it["name"]) for it in indexes if it["name"].startswith(incomplete)]
    return []


def either(ids: "tuple[str, ...]", filter: Optional[dict[str, Any]]) -> None:
    """Refuses a call that does not say which entities are meant, or says so twice."""
    if bool(ids) == (filter is not None):
        raise click.UsageError("Give either ids or a --filter ('{}' means every entity).")


def field_names(ctx: click.Context) -> list[str]:
    """The dotted paths in the repository's first entities."""
    with suppress(Exception), store_of(ctx) as store:
        repository = store.repository(typed(ctx, "repository"), create=False)
        return sorted({path for entity in repository.find(limit=LIMITS.looked_at) for path in _paths(entity)})
    return []


def _paths(value: Any, prefix: str = "") -> Iterator[str]:
    for name, member in value.items() if isinstance(value, dict) else ():
        yield prefix + name
        yield from _paths(member, f"{prefix}{name}.")


class Fields(click.ParamType):
    """Paths with commas between them."""

    name = "paths"

    def convert(self, value: Any, param: Optional[click.Parameter], ctx: Optional[click.Context]) -> Any:
        """The list of them."""
        return [path for path in value.split(",") if path]

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The paths that the last one could be."""
        before, comma, last = incomplete.rpartition(",")
        return [CompletionItem(before + comma + name) for name in field_names(ctx) if name.startswith(last)]


class Sort(Fields):
    """Paths with commas between them, each with `:-1` behind it where it is to descend."""

    name = "paths[:-1]"

    def convert(self, value: Any, param: Optional[click.Parameter], ctx: Optional[click.Context]) -> Any:
        """Each path with its direction."""
        order: dict[str, int] = {}
        for part in super().convert(value, param, ctx):
            path, _, direction = part.partition(":")
            if direction not in ("", "1", "-1"):
                self.fail(f"{part!r}: the direction is 1 or -1.", param, ctx)
            order[path] = int(direction or 1)
        return order


class Filter(click.ParamType):
    """A filter in MongoDB's language."""

    name = "filter"
    kind: "tuple[type, str]" = (dict, "object")

    def convert(self, value: Any, param: Optional[click.Parameter], ctx: Optional[click.Context]) -> Any:
        """The value of the JSON."""
        try:
            read = json.loads(value, object_pairs_hook=named_once)
        except (ValueError, RecursionError) as error:
            self.fail(f"{value!r} is no JSON: {error}.", param, ctx)
        kind, name = self.kind
        if not isinstance(read, kind):
            self.fail(f"{value!r} is no JSON {name}.", param, ctx)
        return read

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The paths that the name of a member could be."""
        before, quote, last = incomplete.rpartition('"')
        if not before.rstrip().endswith(("{", ",")):
            return []
        names = [name for name in field_names(ctx) if name.startswith(last)]
        return [CompletionItem(f"{before}{quote}{name}{quote}") for name in names]


class Pipeline(Filter):
    """Stages in MongoDB's language."""

    name = "pipeline"
    kind = (list, "array of stages")


store_argument = click.argument("store", type=click.Path())
repository_argument = click.argument("repository", shell_complete=complete_repository)
ids_argument = click.argument("ids", nargs=-1, metavar="[ID]...")
filter_argument = click.argument("filter", required=False, type=Filter())
filter_option = click.option("--filter", type=Filter(), help="Those that match; '{}' means every entity.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask whether it is meant.")
existing_option = click.option(
    "--existing",
    type=click.Choice(["refuse", "replace", "skip"]),
    help="What becomes of an entity whose id is taken (refuse).",
)
indexes_option = click.option("--indexes/--no-indexes", default=True, help="Create the indexes, too (yes).")
repositories_option = click.option(
    "--repository",
    "repositories",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_repository,
    help="Only this repository; may be given several times.",
)
