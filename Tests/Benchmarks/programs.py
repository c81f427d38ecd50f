"""The programs that the lines run, with their arguments."""

from line import ALL, FEW, LOAD_MILLISECONDS, MEMBERS, RECORDS, Run, STARTS, SYNCS


def in_c(
    engine: str,
    workload: str,
    count: int,
    threads: int = 1,
    in_flight: int = 0,
    store: str = "",
    documents: int = ALL,
    words: int = 0,
) -> Run:
    arguments = ("{directory}", "{documents}", "{count}", str(threads))
    return Run(
        ("{build}/" + engine, workload, *arguments),
        count,
        store=store,
        documents=documents,
        words=words,
        in_flight=in_flight,
    )


def ycsb(engine: str, workload: str, count: int, threads: int) -> Run:
    words = (workload, "{directory}", "{records}", "{count}", str(threads))
    return Run(("{build}/ycsb_" + engine, *words), count, records=RECORDS)


def open_load(engine: str, percent: int) -> Run:
    words = (str(percent), "{directory}", "{documents}", "{count}")
    return Run(("{build}/open_load_" + engine, *words), LOAD_MILLISECONDS)


def on_server(
    engine: str,
    workload: str,
    count: int,
    threads: int = 1,
    store: str = "",
    documents: int = ALL,
    around: tuple[str, ...] = (),
) -> Run:
    """A program in C on a server's database. `threads`: or commits in flight. `around`: a program that runs it."""
    words = ("{build}/" + engine, workload, "{place}", "{documents}", "{count}")
    return Run(
        (*around, *words, str(threads)),
        count,
        is_on_server=True,
        store=store,
        documents=documents,
    )


def in_python(
    engine: str, workload: str, count: int, in_flight: int = 0, store: str = ""
) -> Run:
    arguments = ("{directory}", "{documents}", "{count}")
    return Run(
        ("{python}", "{sources}/python_engines.py", engine, workload, *arguments),
        count,
        store=store,
        in_flight=in_flight,
    )


def in_swift(engine: str, workload: str, count: int, in_flight: int = 0) -> Run:
    """The package in Swift/: Holdfast's Swift API and GRDB."""
    arguments = ("{directory}", "{documents}", "{count}", str(max(1, in_flight)))
    return Run(
        ("{build}/swift_engines", engine, workload, *arguments),
        count,
        in_flight=in_flight,
    )


def maintenance(workload: str, count: int) -> Run:
    return Run(
        ("{build}/maintenance", workload, "{directory}", "{documents}", "{count}"),
        count,
    )


def stream(workload: str, count: int, queries: int = 0) -> Run:
    return Run(
        (
            "{build}/streams",
            workload,
            "{directory}",
            "{documents}",
            "{count}",
            str(queries),
        ),
        count,
    )


def tree(members: int) -> Run:
    return Run(("{build}/trees", str(members), "{count}"), MEMBERS)


def floor(workload: str, count: int) -> Run:
    return Run(
        ("{build}/floors", workload, "{directory}", "{documents}", "{count}"), count
    )


def asynchronous(workload: str, count: int, in_flight: int = 0) -> Run:
    arguments = ("{directory}", "{documents}", "{count}", str(max(1, in_flight)))
    return Run(
        ("{build}/asynchronous", workload, *arguments), count, in_flight=in_flight
    )


def awaited(engine: str, workload: str, in_flight: int) -> Run:
    """Commits that tasks of one asyncio loop await."""
    arguments = ("{directory}", "{documents}", "{count}", str(in_flight))
    return Run(
        ("{python}", "{sources}/python_awaited.py", engine, workload, *arguments),
        SYNCS if in_flight == 1 else FEW,
        in_flight=in_flight,
    )


def first_read(engine: str) -> Run:
    return Run(
        ("{build}/first_read_" + engine, "{directory}", "{id}"),
        store=engine,
        times=STARTS,
    )
