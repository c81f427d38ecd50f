"""Limits: what bounds, batches, keeps or polls in this package, in one place and by name, so that tests can
make it small: a promise must hold at a limit, beyond it, and where it is 1.

None of them is a promise to the host. HOLDFAST_LIMITS sets them in any program, for tests alone, with
"python." before the name ("python.event_batch=1"), beside the library's, which have no dot.
"""

import os
from dataclasses import dataclass, fields


@dataclass
class Limits:
    #: So many events the thread for them takes from the library at once. At 1 one by one.
    event_batch: int = 256
    #: So many a loop of asyncio takes, and so many commits it hands over, in one turn.
    loop_batch: int = 8
    #: So often, in milliseconds, that thread looks up from its wait, so that nothing depends on a single
    #: wake-up. At 1 all the time.
    event_wait: int = 500
    #: So long, in milliseconds, a loop waits before it asks again for a place of which nobody would tell it.
    #: At 1 it asks all the time.
    place_wait: int = 20
    #: A native wait lasts no longer than so many milliseconds, so that Ctrl-C is heard in between.
    native_wait: int = 100
    #: The memory of an entity longer than so many bytes is not kept for the next call. At 1 none is.
    kept_bytes: int = 1 << 20
    #: About so much of a long JSON text is read at once, in bytes, and so many entities are written as one:
    #: meanwhile no signal is handled. At 1 one by one.
    read_bytes: int = 1 << 20
    written_entities: int = 1000
    #: So many events, or bytes of them, wait for who iterates over a stream; then it begins again behind
    #: what was taken. At 1 it mostly does.
    inbox_events: int = 1000
    inbox_bytes: int = 16 << 20
    #: So many exceptions are kept of which the library never tells; beyond that the oldest is told as a
    #: RefusedError.
    kept_refusals: int = 10_000
    #: An exported file's last line is looked for in pieces of so many bytes, from the end. At 1 byte by byte.
    tail_bytes: int = 1 << 20
    #: So many calls of a store of `holdfast.aio` are on threads of their own at a time. At 1 one after the
    #: other.
    threads: int = 4
    #: So long, in milliseconds, the end of the interpreter waits for each store that was left open; then it
    #: goes on without. At 1 it hardly waits.
    exit_wait: int = 5000
    #: So many entities the inspector's page is told at once, so many characters of each value, and so often,
    #: in milliseconds, a browser that is told of changes is sent a line that says nothing, to notice that it
    #: has gone. At 1 one entity, a character, and all the time.
    page_rows: int = 1000
    cell_characters: int = 400
    heartbeat: int = 1000
    #: So many entities from each end the inspector samples for their shape. At 1 the first and the last.
    sampled: int = 100
    #: So many documents show what a stage of a pipeline gives.
    previewed: int = 20
    #: So many changes it keeps, so many it tells at once, and so many commits before the present it begins
    #: at most.
    kept_changes: int = 5000
    told_changes: int = 500
    past_commits: int = 2000
    #: So many edits can be undone, if what they replaced has so many bytes. At 1 the last one.
    kept_edits: int = 200
    kept_edit_bytes: int = 64 << 20
    #: So many bytes it is asked with at most, and so many it remembers of what was chosen on the page.
    request_bytes: int = 300 << 20
    remembered_bytes: int = 1 << 20
    #: So much long work it does on a store at a time. At 1 one after the other.
    jobs_at_once: int = 4
    #: So many entities the command looks at for the paths that it proposes. At 1 at one.
    looked_at: int = 100
    #: So many rows has a table that the command prints; then another begins. At 1 each has one of its own.
    table_rows: int = 1000


def of(text: str) -> Limits:
    """What a text such as HOLDFAST_LIMITS sets; what it does not name stays as it is."""
    limits = Limits()
    names = {field.name for field in fields(Limits)}
    for setting in text.split(","):
        name, _, value = setting.partition("=")
        if not name.startswith("python."):
            continue
        name = name[len("python.") :]
        if name not in names or not value.isdecimal() or int(value) < 1:
            raise ValueError(f'HOLDFAST_LIMITS: no limit can be set by "{setting}": unset it.')
        setattr(limits, name, int(value))
    return limits


#: Those of this process.
LIMITS = of(os.environ.get("HOLDFAST_LIMITS", ""))
