"""await_result: a call that answers by callback, turned into one that returns."""

import os
import signal
import threading
import time
from typing import Any, Callable

import pytest
from threads import in_threads

import holdfast

Done = Callable[..., bool]


def later(seconds: float, *result: Any, **error: Any) -> Callable[[Done], None]:
    """A starter that completes on another thread."""
    return lambda done: threading.Timer(seconds, done, result, error).start()


def test_what_another_thread_answers_is_returned() -> None:
    assert holdfast.await_result(later(0.05, "found")) == "found"


def test_the_starter_runs_on_this_thread_and_may_answer_at_once() -> None:
    threads = []

    def starter(done: Done) -> None:
        threads.append(threading.current_thread())
        done(17)

    assert holdfast.await_result(starter, timeout=0) == 17
    assert threads == [threading.current_thread()]


@pytest.mark.parametrize("way", ["error", "result"])
def test_an_error_is_raised_as_it_is(way: str) -> None:
    mine = LookupError("mine")
    with pytest.raises(LookupError) as raised:
        holdfast.await_result(later(0.01, error=mine) if way == "error" else later(0.01, mine))
    assert raised.value is mine


def test_the_first_completion_wins() -> None:
    answers = []

    def starter(done: Done) -> None:
        answers.extend([done("first"), done("second"), done(error=LookupError())])

    assert holdfast.await_result(starter) == "first"
    assert answers == [True, False, False]


def test_a_time_out_names_what_was_waited_for_and_leaves_it_alive() -> None:
    kept: list[Done] = []
    for timeout in (0, 0.05):
        with pytest.raises(holdfast.TimeoutError, match="zone 4") as raised:
            holdfast.await_result(kept.append, timeout, "zone 4")
        assert raised.value.identifier == "zone 4"
        assert kept[-1]("late") is True
        assert raised.value.future.result(0) == "late"
        assert kept[-1]("later") is False


def test_a_time_out_of_the_answer_s_own_is_no_time_out_of_the_wait() -> None:
    mine = TimeoutError("mine")
    with pytest.raises(TimeoutError) as raised:
        holdfast.await_result(later(0.01, error=mine))
    assert raised.value is mine


def test_the_time_counts_from_before_the_starter() -> None:
    def takes() -> float:
        began = time.monotonic()
        with pytest.raises(holdfast.TimeoutError):
            holdfast.await_result(lambda done: time.sleep(0.3), timeout=0.3)
        return time.monotonic() - began

    # On a busy machine at least one of many is in time.
    assert any(takes() < 0.55 for _ in range(100))


def test_no_time_is_waited_for_ever() -> None:
    assert holdfast.await_result(later(0.2, "found"), timeout=None) == "found"


def test_what_was_given_up_can_be_cancelled() -> None:
    kept: list[Done] = []
    with pytest.raises(holdfast.TimeoutError) as raised:
        holdfast.await_result(kept.append, 0)
    assert raised.value.future.cancel()
    assert kept[0]("late") is False


def test_what_the_starter_raises_ends_it() -> None:
    def starter(done: Done) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        holdfast.await_result(starter)


def test_two_threads_may_wait_for_one_result() -> None:
    kept: list[Done] = []
    with pytest.raises(holdfast.TimeoutError) as raised:
        holdfast.await_result(kept.append, 0)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(raised.value.future.result(120))) for _ in "ab"]
    for thread in threads:
        thread.start()
    kept[0](17)
    for thread in threads:
        thread.join()
    assert found == [17, 17]


def test_a_thousand_may_wait_at_once() -> None:
    found: list[Any] = []
    waiting: list[Done] = []
    all_wait = threading.Event()

    def starter(done: Done) -> None:
        waiting.append(done)
        if len(waiting) == 1000:
            all_wait.set()

    def answer() -> None:
        all_wait.wait(120)
        for number, done in enumerate(waiting):
            done(number)

    answering = threading.Thread(target=answer)
    answering.start()
    in_threads(lambda _: found.append(holdfast.await_result(starter, timeout=300)), range(1000))
    answering.join()
    assert sorted(found) == list(range(1000))


def test_an_error_wins_over_a_later_success_and_the_success_is_told() -> None:
    answers = []

    def starter(done: Done) -> None:
        answers.extend([done(error=LookupError("first")), done("second")])

    with pytest.raises(LookupError, match="first"):
        holdfast.await_result(starter)
    assert answers == [True, False]


def test_handlers_of_signals_that_return_end_no_wait() -> None:
    handled = []
    before = signal.signal(signal.SIGALRM, lambda *_: handled.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:

        def starter(done: Done) -> None:
            def answer() -> None:
                while len(handled) < 50:
                    time.sleep(0.001)
                done("at last")

            threading.Thread(target=answer).start()

        assert holdfast.await_result(starter, timeout=300) == "at last"
        began = time.monotonic()
        with pytest.raises(holdfast.TimeoutError):
            holdfast.await_result(lambda done: None, timeout=0.1)
        assert time.monotonic() - began >= 0.1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_result_that_comes_just_at_the_deadline_is_returned_or_kept_for_the_next_wait() -> None:
    for number in range(300):
        answers: list[bool] = []
        # From well before the deadline to well behind it, on any machine.
        starter = later_noted(0.0005 * (number % 20), number, answers)
        try:
            assert holdfast.await_result(starter, timeout=0.005) == number
        except holdfast.TimeoutError as error:
            assert error.future.result(120) == number
        assert has_counted(answers)


def later_noted(seconds: float, result: Any, answers: "list[bool]") -> Callable[[Done], None]:
    """A starter that completes on another thread, and notes whether that was the first completion."""

    def starter(done: Done) -> None:
        threading.Timer(seconds, lambda: answers.append(done(result))).start()

    return starter


def has_counted(answers: "list[bool]") -> bool:
    """Whether the completion counted, as soon as its thread has noted that."""
    while not answers:
        time.sleep(0.0001)
    return answers == [True]


def test_waits_may_be_nested() -> None:
    def descend(depth: int) -> int:
        return 0 if depth == 0 else 1 + holdfast.await_result(lambda done: done(descend(depth - 1)))

    assert descend(100) == 100


def test_an_interrupt_ends_the_wait_and_what_comes_later_is_told() -> None:
    kept: list[Done] = []

    def starter(done: Done) -> None:
        kept.append(done)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        holdfast.await_result(starter, timeout=300)
    assert time.monotonic() - began < 200
    assert kept[0]("late") is False


def test_waiting_on_the_event_thread_is_refused(store: holdfast.Store) -> None:
    def starter(done: Done) -> None:
        def ask(_: object) -> None:
            try:
                holdfast.await_result(lambda _: None, 0)
            except holdfast.Error as error:
                done(error)

        store.repository("songs").deferred.count().subscribe(ask)

    with pytest.raises(holdfast.WouldDeadlockError):
        holdfast.await_result(starter)
