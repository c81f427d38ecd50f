"""The command `inspect`: a page for the browser that shows stores."""

import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from ..inspector.memory import usual_place
from ..inspector.server import Inspector
from .output import json_text
from .session import Session


@click.command()
@click.argument("stores", nargs=-1, required=True, metavar="STORE...", type=click.Path())
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Listen there (any free port).")
@click.option("--open", "open_", is_flag=True, help="Open the page in the browser.")
@click.option("--write", is_flag=True, help="Allow edits, and indexes to be created and dropped.")
@click.pass_obj
def inspect(session: Session, stores: "tuple[str, ...]", port: int, open_: bool, write: bool) -> None:
    """Show stores in the browser.

    Prints a link to a page for queries, entities, changes as they are committed, and how the stores are. It
    is served on this machine alone. The link is good for the browser that comes first; Enter prints another.
    Stores are opened read-only without --write. Goes on until Ctrl-C.

    In JSON it answers the link as "url", and for scripts "api" and "token": what the page shows is asked by
    POST to the api and a name, with a JSON object and the header "Authorization: Bearer TOKEN".

    \b
    Examples:
        holdfast inspect music.db
        holdfast inspect music.db people.db --write --open
    """
    with ExitStack() as opened:
        all_ = [opened.enter_context(session.open(store, write=write)) for store in stores]
        inspector = Inspector(all_, port=port, write=write and not session.read_only, memory=usual_place())
        opened.callback(inspector.server_close)
        link = inspector.link()
        if session.output.json:
            told: dict[str, Any] = {"url": link, "api": f"{inspector.address}api/", "token": inspector.token}
            sys.stdout.write(json_text(told) + "\n")
        else:
            session.output.value("url", link)
        sys.stdout.flush()
        if open_:
            opened.enter_context(_browser(inspector.link()))
        if sys.stdin.isatty():
            threading.Thread(target=_print_links, args=(inspector,), daemon=True).start()
        inspector.serve_forever()


@contextmanager
def _browser(link: str) -> Iterator[None]:
    """Opens the link in the browser, by way of a file that only this person may read: everybody on the
    machine sees with which words a program is started."""
    with tempfile.NamedTemporaryFile("w", suffix=".html") as file:
        file.write(f'<meta http-equiv="refresh" content="0; url={link}">')
        file.flush()
        webbrowser.open(Path(file.name).as_uri())
        yield


def _print_links(inspector: Inspector) -> None:
    """Prints another link each time that Enter is pressed."""
    for _ in sys.stdin:
        print(inspector.link(), flush=True)
