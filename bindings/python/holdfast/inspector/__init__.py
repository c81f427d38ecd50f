"""The inspector: a page for the browser that shows stores, and the same in JSON for programs.

`holdfast inspect` serves it for stores that it opens itself. A program serves it for its own, and so shows
what only its process knows: its snapshots with their holders, its commit queue, its cache, a store in memory.

    from holdfast.inspector import Inspector

    with Inspector([store]) as inspector:
        print(inspector.link())
        ...

It uses the standard library only.
"""

from .server import Inspector

__all__ = ["Inspector"]
