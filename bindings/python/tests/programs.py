"""Other processes for tests: forked children, and programs of their own."""

import os
import signal
import subprocess
import sys
import textwrap
import traceback
import warnings
from typing import Any, Callable

import holdfast


def run_program(text: str, *arguments: str, development: bool = True) -> "subprocess.CompletedProcess[str]":
    """Runs a program to its end, in Python's development mode, which reports what is forgotten."""
    return start_program(text, *arguments, development=development).wait()


class Program:
    """A program that runs, with what it prints."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def wait_for_line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def wait(self, timeout: float = 300) -> "subprocess.CompletedProcess[str]":
        """Its end: exit code, and what it has printed since."""
        try:
            output, errors = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return subprocess.CompletedProcess(self.process.args, self.process.returncode, output, errors)


def start_program(text: str, *arguments: str, development: bool = True, **options: Any) -> Program:
    """Starts a program."""
    command = [
        sys.executable,
        *(["-X", "dev"] if development else []),
        "-c",
        textwrap.dedent(text),
        *arguments,
    ]
    return Program(
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    )


class Writer:
    """Another process that has a store open, and runs lines of Python that use `store` and its `songs`."""

    TEXT = """
        import sys, holdfast
        with holdfast.open(sys.argv[1]) as store:
            songs = store.repository("songs")
            for line in sys.stdin:
                exec(line)
                print("done", flush=True)
    """

    def __init__(self, path: str) -> None:
        self._program = start_program(self.TEXT, path, development=False, stdin=subprocess.PIPE)

    def __call__(self, line: str) -> None:
        """Runs a line to its end."""
        assert self._program.process.stdin is not None
        self._program.process.stdin.write(line + "\n")
        self._program.process.stdin.flush()
        assert self._program.wait_for_line() == "done"

    def close(self) -> None:
        """Ends the process, and the store with it."""
        assert self._program.wait().returncode == 0


def fork(function: Callable[[], Any]) -> int:
    """Runs a function in a forked child and answers the child's number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of newer Pythons: forking beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(300)
        try:
            os._exit(0 if function() else 1)
        except BaseException:
            traceback.print_exc()
            os._exit(2)
    return child


def exit_code(child: int) -> int:
    """How a child ended: its exit code, or the negative of the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def in_child(function: Callable[[], Any]) -> int:
    """Runs a function in a forked child and answers its exit code: 0 when it answered true."""
    return exit_code(fork(function))


def refuses(call: Callable[[], Any]) -> bool:
    """Whether a call raises ForkedError."""
    try:
        call()
    except holdfast.ForkedError:
        return True
    return False
