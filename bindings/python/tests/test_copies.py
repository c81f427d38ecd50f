"""Backups, restores and compactions while others use the store, its files or their names."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from programs import start_program

import holdfast

# What keeps others from writing keeps root, too.
WITHOUT_OVERRIDE = (
    ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
)


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "music.db")
    with holdfast.open(path) as store:
        store.repository("songs").save_many(
            [{"id": f"s{n}", "plays": 0, "text": "x" * 500} for n in range(500)]
        )
    return path


def run_as_owner(text: str, *arguments: "str | Path") -> str:
    command = [*WITHOUT_OVERRIDE, sys.executable, "-c", text, *map(str, arguments)]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert result.returncode == 0, result.stdout
    return result.stdout


def test_a_store_that_may_only_be_read_is_backed_up_and_its_backup_restored(
    path: str, tmp_path: Path
) -> None:
    Path(path).chmod(0o444)
    run_as_owner(
        "import sys, holdfast\n"
        "with holdfast.open(sys.argv[1], read_only=True) as store:\n"
        "    store.backup(sys.argv[2])\n"
        "holdfast.restore(sys.argv[2], sys.argv[3])\n"
        "with holdfast.open(sys.argv[3]) as store:\n"
        "    store.repository('songs').save({'id': 'new'})\n"
        "    assert store.repository('songs').count() == 501\n",
        path,
        tmp_path / "monday.db",
        tmp_path / "restored.db",
    )
    modes = [stat.S_IMODE(Path(tmp_path, name).stat().st_mode) for name in ("monday.db", "restored.db")]
    assert modes == [0o444, 0o644]
    assert not list(tmp_path.glob("*-partial*"))


def test_processes_that_upgrade_a_store_at_once_do_each_step_once(path: str, tmp_path: Path) -> None:
    step = "{0: lambda store: store.repository('songs').modify_all(None, {'$inc': {'plays': 1}})}"
    other = start_program(
        "import sys, holdfast\n"
        "waits = [True]\n"
        "def copying(done, total):\n"
        "    if waits:\n"
        "        waits.clear()\n"
        "        print('copying', flush=True)\n"
        "        sys.stdin.readline()\n"
        "with holdfast.open(sys.argv[1]) as store:\n"
        f"    print(store.upgrade({step}, progress=copying)['backup'], flush=True)\n",
        path,
        stdin=subprocess.PIPE,
    )
    assert other.wait_for_line() == "copying"
    with holdfast.open(path) as store:
        report = store.upgrade(
            {0: lambda store: store.repository("songs").modify_all(None, {"$inc": {"plays": 1}})}
        )
        assert report["backup"] == path + "-v0.backup2"
        assert other.process.stdin is not None
        print(file=other.process.stdin, flush=True)
        assert other.wait_for_line() == path + "-v0.backup"
        assert other.wait().returncode == 0
        assert {song["plays"] for song in store.repository("songs").find()} == {1}
    for name in ("-v0.backup", "-v0.backup2"):
        with holdfast.open(path + name, read_only=True) as backup:
            assert {song["plays"] for song in backup.repository("songs").find()} == {0}


@pytest.mark.parametrize("replace", [False, True])
def test_who_opens_a_store_while_it_is_restored_gets_the_restored_one(
    path: str, tmp_path: Path, replace: bool
) -> None:
    restored = tmp_path / "restored.db"
    others: list[Any] = []

    def copying(done: int, total: int) -> None:
        if not others:
            others.append(
                start_program(
                    "import sys, holdfast\n"
                    "with holdfast.open(sys.argv[1], lock_timeout_ms=60_000) as store:\n"
                    "    print(store.repositories(), store.repository('songs').count())\n",
                    str(restored),
                )
            )
            end = time.monotonic() + 60
            while not restored.exists() and time.monotonic() < end:
                time.sleep(0.01)
            assert restored.stat().st_size == 0

    holdfast.restore(path, restored, replace=replace, progress=copying)
    result = others[0].wait()
    assert result.stdout.strip() == "['songs'] 500", result.stderr
    assert sorted(file.name for file in tmp_path.glob("restored.db*")) == ["restored.db", "restored.db-lock"]


def test_a_reader_finds_the_store_sound_that_another_process_has_compacted(path: str, tmp_path: Path) -> None:
    with holdfast.open(path) as store:
        other = start_program(
            "import sys, holdfast\n"
            "with holdfast.open(sys.argv[1], read_only=True) as store:\n"
            "    songs = store.repository('songs')\n"
            "    for line in sys.stdin:\n"
            "        store.backup(line.strip())\n"
            "        print(songs.count(), store.verify()['ok'], flush=True)\n",
            path,
            stdin=subprocess.PIPE,
        )

        def ask(name: str) -> str:
            assert other.process.stdin is not None
            print(tmp_path / name, file=other.process.stdin, flush=True)
            return other.wait_for_line()

        assert ask("before.db") == "500 True"
        songs = store.repository("songs")
        songs.delete_all({"id": {"$ne": "s5"}})
        assert ask("deleted.db") == "1 True"
        size = Path(path).stat().st_size
        store.compact()
        # With a checkpoint, which may come a little later.
        end = time.monotonic() + 60
        while Path(path).stat().st_size > size / 2 and time.monotonic() < end:
            time.sleep(0.01)
        assert Path(path).stat().st_size < size / 2
        assert ask("compacted.db") == "1 True"
        songs.save_many([{"id": f"t{n}", "text": "x" * 500} for n in range(20)])
        assert ask("grown.db") == "21 True"
    assert ask("closed.db") == "21 True"
    assert other.wait().returncode == 0


def test_a_copy_spares_what_others_have_under_the_name_of_its_unfinished_file(
    path: str, tmp_path: Path
) -> None:
    notes = tmp_path / "notes-partial"
    notes.write_text("dear diary")
    with holdfast.open(path) as store:
        store.backup(tmp_path / "monday-partial")
        store.repository("songs").save({"id": "new"})
        for name in ("monday", "notes"):
            with pytest.raises(holdfast.ExistsError, match=f"{name}-partial is in the way.*move it away"):
                store.backup(tmp_path / name)
            with pytest.raises(holdfast.ExistsError, match=f"{name}-partial is in the way"):
                holdfast.restore(tmp_path / "monday-partial", tmp_path / name)
    assert notes.read_text() == "dear diary"
    with holdfast.open(tmp_path / "monday-partial", read_only=True) as backup:
        assert backup.repository("songs").count() == 500


@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_what_a_killed_copy_has_left_is_no_obstacle_to_the_next(
    path: str, tmp_path: Path, share: float
) -> None:
    other = start_program(
        "import os, signal, sys, holdfast\n"
        "def copying(done, total):\n"
        f"    if done >= total * {share}:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "with holdfast.open(sys.argv[1]) as store:\n"
        "    store.repository('songs').save_many([{'id': f't{n}', 'text': 'x' * 500} for n in range(9000)])\n"
        "    store.backup(sys.argv[2], progress=copying)\n",
        path,
        str(tmp_path / "monday.db"),
    )
    assert other.wait().returncode == -signal.SIGKILL
    assert (tmp_path / "monday.db-partial").exists()
    with holdfast.open(path) as store:
        store.backup(tmp_path / "monday.db")
    assert not (tmp_path / "monday.db-partial").exists()
    assert stat.S_IMODE((tmp_path / "monday.db").stat().st_mode) == 0o644
    holdfast.restore(tmp_path / "monday.db", path, replace=True)
    assert stat.S_IMODE(Path(path).stat().st_mode) == 0o644
