"""Over 13,000 entries of the ISO registers, from import to a killed process: a first tour of Holdfast.

    python iso_registers.py [path of the store]

Countries, their subdivisions, languages, currencies and scripts come from Debian's package iso-codes. Every
step checks what it shows; the program exits with 1 at the first check that fails. What stands behind
"elsewhere" is done, too, in the way in which it is often done without a store of this kind.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import holdfast

REGISTERS = Path("/usr/share/iso-codes/json")

# Repository: (file, name of the array in it, member that holds an entry's id).
SOURCES = {
    "countries": ("iso_3166-1.json", "3166-1", "alpha_2"),
    "subdivisions": ("iso_3166-2.json", "3166-2", "code"),
    "languages": ("iso_639-3.json", "639-3", "alpha_3"),
    "currencies": ("iso_4217.json", "4217", "alpha_3"),
    "scripts": ("iso_15924.json", "15924", "alpha_4"),
}
BATCH = 500
# The second process is killed once it has acknowledged so many commits.
ACKNOWLEDGED_BEFORE_KILL = 2000
# So many commits one after the other tell how long all of them would take so.
ONE_BY_ONE = 200


def main() -> None:
    """Runs the tour, in the place given or in a temporary directory."""
    if sys.argv[1:2] == ["--load"]:
        load_until_killed(sys.argv[2])
        return
    if sys.argv[1:2] == ["--write"]:
        write_until_killed(sys.argv[2])
        return
    with tempfile.TemporaryDirectory() as directory:
        path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(directory, "registers.db")
        print(f"Holdfast {holdfast.version_text()}, store {path}")
        with holdfast.open(path) as store:
            import_registers(store)
            read(store)
            update(store)
            lose_a_race(store)
            commit_asynchronously(store)
        kill_a_process_in_mid_load(path)
        kill_a_process_that_writes_a_file(os.path.join(directory, "arrivals.jsonl"))
    print("Everything held.")


def check(holds: bool, sentence: str) -> None:
    """Prints what was checked; ends the program when it does not hold."""
    print(f"  {'ok' if holds else 'FAILED'}  {sentence}")
    if not holds:
        sys.exit(1)


def entries(register: str) -> list[dict[str, Any]]:
    """The entries of one register, as the package has them."""
    file, name, _ = SOURCES[register]
    return json.loads((REGISTERS / file).read_text(encoding="utf-8"))[name]


def import_registers(store: holdfast.Store) -> None:
    """Saves every register, in transactions of a batch each."""
    print("Import")
    started, total = time.monotonic(), 0
    # On a terminal the line is written over and over; a file gets only its last state.
    on_terminal = sys.stdout.isatty()
    for register, (_, _, key) in SOURCES.items():
        repository = store.repository(register, key=key)
        register_entries = entries(register)
        for start in range(0, len(register_entries), BATCH):
            total += len(repository.save_many(register_entries[start : start + BATCH]))
            if on_terminal:
                print(f"\r  {total:6} entries, {register:<12}", end="", flush=True)
    begin = "\r" if on_terminal else ""
    seconds = time.monotonic() - started
    print(f"{begin}  {total:6} entries in {seconds:.2f} s, {total / seconds:,.0f} a second, durable    ")
    stored = sum(store.repository(register).count() for register in SOURCES)
    check(stored == total > 13_000, f"{stored} entries are stored")


def read(store: holdfast.Store) -> None:
    """Fetches by id, finds by members, and compares all with the source."""
    print("Read")
    countries, languages = store.repository("countries"), store.repository("languages")
    check(countries["DE"]["name"] == "Germany", "DE is Germany")
    check(countries.fetch("XX") is None, "XX is nobody")
    living = sum(entry["type"] == "L" for entry in entries("languages"))
    check(languages.count({"type": "L"}) == living, f"{living} languages are living")
    lands = store.repository("subdivisions").find({"type": "Land"}, limit=3)
    check(len(lands) == 3, "some lands: " + ", ".join(land["name"] for land in lands))
    expected = {entry["alpha_2"]: entry for entry in entries("countries")}
    check(all(country == expected[country["alpha_2"]] for country in countries), "countries are as they came")


def update(store: holdfast.Store) -> None:
    """Changes one entry, and refuses a change that was made from an old copy."""
    print("Update")
    countries = store.repository("countries")
    _, version = countries.fetch_versioned("FR") or ({}, 0)
    countries.patch("FR", {"visited": 2026}, expected_version=version)
    check(countries["FR"]["visited"] == 2026, "France was visited")
    try:
        countries.patch("FR", {"visited": 1999}, expected_version=version)
        check(False, "a change from an old copy is refused")
    except holdfast.VersionMismatchError as error:
        check(countries["FR"]["visited"] == 2026, f"a change from an old copy is refused: {error}")
    countries.patch("FR", {"visited": None})
    try:
        with store.transaction():
            countries.delete("FR")
            countries.add({"alpha_2": "DE", "name": "a second one"})
    except holdfast.ExistsError:
        check("FR" in countries, "a transaction that fails is rolled back whole")


def lose_a_race(store: holdfast.Store) -> None:
    """Two transactions rest on what the other one changes: the second is refused, and nothing of it stays."""
    print("Conflict")
    scripts = store.repository("scripts")
    scripts.patch_many([{"alpha_4": "Latn", "on_duty": True}, {"alpha_4": "Cyrl", "on_duty": True}])
    first, second = store.begin(), store.begin()
    for transaction, leaving in ((first, "Latn"), (second, "Cyrl")):
        with transaction.joined():
            # Each may leave, because it sees the other one stay.
            if scripts.count({"on_duty": True}) == 2:
                scripts.patch(leaving, {"on_duty": False})
    first.commit()
    try:
        second.commit()
        check(False, "the second of two that cannot both be right is refused")
    except holdfast.ConflictError as error:
        check(error.retryable, "the second of two that cannot both be right is refused")
    check(scripts.count({"on_duty": True}) == 1, "one stays on duty")

    # The same by calls that know nothing of each other, in the order that a race would have.
    scripts.patch_many([{"alpha_4": "Latn", "on_duty": True}, {"alpha_4": "Cyrl", "on_duty": True}])
    for leaving, staying in [
        ("Latn", scripts.count({"on_duty": True})),
        ("Cyrl", scripts.count({"on_duty": True})),
    ]:
        if staying == 2:
            scripts.patch(leaving, {"on_duty": False})
    left = scripts.count({"on_duty": True})
    print(
        f"  elsewhere: where nobody looks at what a write rests on, {left} of them stay, and nobody is told"
    )


def commit_asynchronously(store: holdfast.Store) -> None:
    """One commit for each language, none waited for; each tells its end to a callback."""
    print("Asynchronous commits")
    languages = store.repository("languages")
    codes = languages.ids()
    told: list[str] = []
    started = time.monotonic()
    futures = []
    for number, code in enumerate(codes):
        future = store.submit(
            lambda code=code, number=number: languages.patch(code, {"number": number}) and code
        )
        future.add_done_callback(lambda future: told.append(future.result()))
        futures.append(future)
    sequences = [future.result() and future.receipt.sequence for future in futures]
    seconds = time.monotonic() - started
    # A future lets its waiters go before it calls back: one more commit, and the callbacks of all are done.
    store.sync()
    while len(told) < len(codes) and time.monotonic() < started + 60:
        time.sleep(0.01)
    print(f"  {len(codes)} durable commits in {seconds:.2f} s, {len(codes) / seconds:,.0f} a second")
    check(sorted(told) == sorted(codes), "each called back once")
    check(sequences == sorted(set(sequences)), "they were stored in the order of submission")
    check(all(language["number"] >= 0 for language in languages), "every language has its number")

    started = time.monotonic()
    for number, code in enumerate(codes[:ONE_BY_ONE]):
        languages.patch(code, {"number": number})
    each = (time.monotonic() - started) / ONE_BY_ONE
    print(
        f"  elsewhere: one after the other, a sync for each, {1 / each:,.0f} a second: "
        f"all would take {len(codes) * each:.1f} s on this disk"
    )


def kill_a_process_in_mid_load(path: str) -> None:
    """Kills a second process while it commits, and counts that everything it acknowledged is there."""
    print("Kill")
    command = [sys.executable, os.path.abspath(__file__), "--load", path]
    acknowledged: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            # The very last line may have been cut by the kill.
            if line.endswith("\n"):
                acknowledged.append(line.rstrip("\n"))
            if len(acknowledged) == ACKNOWLEDGED_BEFORE_KILL:
                process.send_signal(signal.SIGKILL)
    check(process.returncode == -signal.SIGKILL, f"killed after {len(acknowledged)} acknowledged commits")
    with holdfast.open(path, lock_timeout_ms=10_000) as store:
        arrivals = store.repository("arrivals")
        missing = [id for id in acknowledged if id not in arrivals]
        check(len(missing) == 0, f"all of them are among the {arrivals.count()} that are stored")
        halves = [id for id in acknowledged if f"{id}/back" not in arrivals]
        check(len(halves) == 0, "each has both entities of its transaction")
        check(store.repository("countries")["DE"]["name"] == "Germany", "and everything else is still there")


def kill_a_process_that_writes_a_file(path: str) -> None:
    """The same with a file that is written as files mostly are: what was told is not what is there."""
    command = [sys.executable, os.path.abspath(__file__), "--write", path]
    told: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.endswith("\n"):
                told.append(line.rstrip("\n"))
            if len(told) == ACKNOWLEDGED_BEFORE_KILL:
                process.send_signal(signal.SIGKILL)
    whole = {line.rstrip("\n") for line in Path(path).read_text().splitlines(True) if line.endswith("\n")}
    lost = sum(id not in whole for id in told)
    print(
        f"  elsewhere: of {len(told)} lines that a program had written to a file and told of, {lost} are lost"
    )


def write_until_killed(path: str) -> None:
    """What many programs do: write a line, and say that it is stored."""
    with open(path, "w") as file:
        for number in itertools.count():
            file.write(f"{number}\n")
            os.write(1, f"{number}\n".encode())


def load_until_killed(path: str) -> None:
    """The second process: commits for ever, and prints the id of each commit that is durable."""

    def acknowledge(future: "holdfast.CommitFuture[str]") -> None:
        os.write(1, (future.result() + "\n").encode())

    store = holdfast.open(path, max_in_flight=1000)
    arrivals = store.repository("arrivals")
    subdivisions = entries("subdivisions")
    for number in itertools.count():
        entry = subdivisions[number % len(subdivisions)]
        id = f"{number}/{entry['code']}"

        def arrive(id: str = id, name: str = entry["name"]) -> str:
            arrivals.save({"id": id, "name": name})
            arrivals.save({"id": f"{id}/back", "name": name})
            return id

        store.submit(arrive).add_done_callback(acknowledge)


if __name__ == "__main__":
    main()
