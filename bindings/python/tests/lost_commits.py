"""Commits that a server acknowledged and then lost: its replicas were asynchronous, and behind.

python lost_commits.py has a replica promoted that lacks what was acknowledged. Nothing that was lost is
served as if it were there; who has read it is told, and everybody goes on with what is there.
"""

import signal
import subprocess
import time

from programs import Program, start_program
from replicas import Node, Replicas, wait_until

import holdfast

KEPT, LOST = ([{"id": f"{name}{number}"} for number in range(40)] for name in ("kept", "lost"))

# Answers, for each line that it is given, what it finds under this id, or what it is told instead.
READER = """
    import sys, holdfast
    with holdfast.open(sys.argv[1], lock_timeout_ms=1000) as store:
        songs = store.repository("songs")
        print("ready", flush=True)
        for line in sys.stdin:
            try:
                print("there" if songs.fetch(line.strip()) else "absent", flush=True)
            except holdfast.Error as error:
                print(f"failed: {error}", flush=True)
"""


def start_reader(url: str) -> Program:
    reader = start_program(READER, url, development=False, stdin=subprocess.PIPE)
    assert reader.wait_for_line() == "ready"
    return reader


def ask(reader: Program, id: str) -> str:
    assert reader.process.stdin is not None
    reader.process.stdin.write(id + "\n")
    reader.process.stdin.flush()
    return reader.wait_for_line()


def ask_until_it_answers(reader: Program, id: str) -> str:
    """While there is no primary a read fails, which tells of nothing."""

    def answer() -> "str | None":
        told = ask(reader, id)
        return None if told.startswith("failed: ") else told

    return wait_until("a reader is answered", answer)


def have_all(primary: Node) -> bool:
    """Whether each replica has what is committed."""
    question = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_flush_lsn()"
    place = f"postgresql://postgres@127.0.0.1:{primary.port}/postgres"
    words = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", place, "--command", question]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip() == "2"


def run(replicas: Replicas) -> None:
    url = f"{replicas.url}?holdfast_store=lost"
    primary = replicas.wait_for_primary()
    others = [node for node in replicas.nodes if node is not primary]
    with holdfast.open(url, lock_timeout_ms=1000) as store:
        songs = store.repository("songs")
        songs.save_many(KEPT)
        early = start_reader(url)
        assert ask(early, "kept0") == "there"
        wait_until("the replicas have all", lambda: have_all(primary))
        for node in others:
            node.kill()
        # It hears of nothing meanwhile.
        early.process.send_signal(signal.SIGSTOP)
        for song in LOST:
            songs.save(song)
        assert [song["id"] for song in songs.find({"id": {"$gt": "lost"}})] == sorted(
            song["id"] for song in LOST
        )
        late = start_reader(url)
        assert ask(late, "lost0") == "there"
        reading = store.begin()
        with reading.joined():
            songs.save({"id": "new", "seen": songs.fetch("lost1")})
        primary.kill()
        for node in others:
            node.start()
        replicas.wait_for_primary(other_than=primary)
        primary.start()

        # What was lost is served to nobody, whether he has written it, read it, or never heard of it.
        assert ask_until_it_answers(late, "kept0") == "there"
        assert ask(late, "lost0") == "absent"
        try:
            reading.commit()
        except holdfast.HistoryLostError as error:
            assert error.commit_state is holdfast.CommitState.NONE
        else:
            raise AssertionError("what was read of the lost was committed")
        assert songs.fetch("lost0") is None
        assert songs.find({"id": {"$gt": "lost"}}) == []
        early.process.send_signal(signal.SIGCONT)
        assert ask_until_it_answers(early, "kept0") == "there"
        assert ask(early, "lost0") == "absent"

    with holdfast.open(url) as store:
        songs = store.repository("songs")
        assert sorted(songs.find(), key=lambda song: song["id"]) == sorted(KEPT, key=lambda song: song["id"])
        songs.save({"id": "new"})
        store.verify()
        assert ask(early, "new") == "there"
    replicas.wait_until_whole()
    for reader in (early, late):
        assert reader.process.stdin is not None
        reader.process.stdin.close()
        reader.process.wait(60)


def main() -> None:
    replicas = Replicas(is_synchronous=False)
    try:
        began = time.monotonic()
        run(replicas)
        print(
            f"in {time.monotonic() - began:.0f} s: {len(LOST)} commits were lost, and who had read them told"
        )
    finally:
        replicas.stop()


if __name__ == "__main__":
    main()
