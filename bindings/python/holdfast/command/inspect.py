"""The command `inspect`: a page for the browser that shows a store."""

import sys

import click

from .inspect_server import InspectServer
from .parameters import store_argument
from .session import Session


@click.command()
@store_argument
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Listen there (any free port).")
@click.pass_obj
def inspect(session: Session, store: str, port: int) -> None:
    """Show a store in the browser.

    Prints the address of a page that lists the repositories, runs queries, tells how they are carried out,
    and shows entities change. It is served on this machine alone, to who knows the address; the store is
    opened read-only. Goes on until Ctrl-C. In JSON the address is the "url".

    \b
    Example:
        holdfast inspect music.db
    """
    with session.open(store) as opened, InspectServer(opened, port) as server:
        session.output.value("url", server.url)
        sys.stdout.flush()
        server.serve_forever()
