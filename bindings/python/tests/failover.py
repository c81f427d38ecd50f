"""Commits while the servers that keep them fail one after the other, and others take their place.

python failover.py 10000 makes so many commits, and prints figures. With a synchronous replica nothing that
was acknowledged may be lost. python failover.py --asynchronous 4000 has replicas that are behind: what they
lack is lost, and nothing may be stored that was built on it.
"""

import argparse
import itertools
import random
import signal
import time

from cuts import Load, Told, judge, open_accounts
from replicas import LEASE, Node, Replicas

#: Seconds in which something must be committed again, also on a busy machine.
LONGEST_OUTAGE = 180


def kill_server(replicas: Replicas) -> None:
    """Patroni, which goes on, hands over at once."""
    primary = replicas.wait_for_primary()
    primary.kill_server()
    replicas.wait_for_primary(other_than=primary)


def kill_node(replicas: Replicas) -> None:
    """A replica takes over when the lease is over. What the node had alone is gone when it is back."""
    primary = replicas.wait_for_primary()
    primary.kill()
    replicas.wait_for_primary(other_than=primary)
    primary.start()


def pause_node(replicas: Replicas) -> None:
    """It does not know that it is no longer the primary, when it goes on in the middle of what it did."""
    primary = replicas.wait_for_primary()
    primary.signal(signal.SIGSTOP)
    try:
        replicas.wait_for_primary(other_than=primary)
    finally:
        primary.signal(signal.SIGCONT)


def pause_briefly(replicas: Replicas) -> None:
    """Not for as long as its lease."""
    primary = replicas.wait_for_primary()
    primary.signal(signal.SIGSTOP)
    try:
        time.sleep(LEASE / 4)
    finally:
        primary.signal(signal.SIGCONT)


def leave_replicas_behind(replicas: Replicas) -> "tuple[Node, list[Node]]":
    """The primary, which goes on committing, and its replicas, which are gone."""
    primary = replicas.wait_for_primary()
    others = [node for node in replicas.nodes if node is not primary]
    for node in others:
        node.kill()
    time.sleep(LEASE / 16)
    return primary, others


def kill_ahead(replicas: Replicas) -> None:
    """What it has committed alone is gone when it is back."""
    primary, others = leave_replicas_behind(replicas)
    primary.kill()
    for node in others:
        node.start()
    replicas.wait_for_primary(other_than=primary)
    primary.start()


def pause_ahead(replicas: Replicas) -> None:
    """Whoever is still connected to it may see for a moment what is lost."""
    primary, others = leave_replicas_behind(replicas)
    primary.signal(signal.SIGSTOP)
    try:
        for node in others:
            node.start()
        replicas.wait_for_primary(other_than=primary)
    finally:
        primary.signal(signal.SIGCONT)


DISTURBANCES = (kill_server, pause_node, kill_node, pause_briefly)
LOSSES = (kill_ahead, pause_ahead, kill_ahead, pause_ahead)


def wait_for(load: Load, commits: int) -> None:
    last, since = load.acknowledged, time.monotonic()
    while last < commits:
        assert load.runs, "a process of the load has ended"
        assert time.monotonic() - since < LONGEST_OUTAGE, (
            f"nothing is committed any more, after {last} commits"
        )
        time.sleep(0.1)
        if load.acknowledged != last:
            last, since = load.acknowledged, time.monotonic()


def run(replicas: Replicas, commits: int, seed: int) -> "tuple[Told, int]":
    """So many commits, among which each of the disturbances comes to pass. Then everything is looked at.
    Answers also how many were acknowledged and lost."""
    disturbances = DISTURBANCES if replicas.is_synchronous else LOSSES
    name = "holdfast_store=failover"
    open_accounts(f"{replicas.url}?{name}")
    share = commits // (len(disturbances) + 1)
    # On two machines, as it were: of which one is told who is the primary, and one finds out.
    with Load([f"{replicas.url}?{name}", f"{replicas.hosts}&{name}"], seed) as load:
        for number, disturb in enumerate(disturbances, 1):
            wait_for(load, number * share)
            began, before = time.monotonic(), load.acknowledged
            disturb(replicas)
            wait_for(load, load.acknowledged + 1)
            print(f"{disturb.__name__} behind {before} commits: {time.monotonic() - began:.1f} s", flush=True)
            replicas.wait_until_whole()
        wait_for(load, commits)
        told = load.end()
    lost = judge(f"{replicas.url}?{name}", told, may_lose=not replicas.is_synchronous)
    assert replicas.is_synchronous or lost, "no replica was behind"
    return told, lost


def main(commits: int, seed: int, is_synchronous: bool) -> None:
    replicas = Replicas(is_synchronous)
    try:
        began = time.monotonic()
        told, lost = run(replicas, commits, seed)
        print(
            f"seed {seed}: in {time.monotonic() - began:.0f} s {len(told.acknowledged)} acknowledged, "
            f"of which {lost} were lost, {len(told.refused)} refused, {len(told.unknown)} unknown, "
            f"{told.resolved} told by their key; "
            f"the longest read {told.longest_read:.1f} s, the longest commit {told.longest_commit:.1f} s"
        )
        for text, count in itertools.islice(told.errors.most_common(), 30):
            print(f"{count:6} {text}")
    finally:
        replicas.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--asynchronous", action="store_true")
    parser.add_argument("commits", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=random.randrange(1 << 30))
    given = parser.parse_args()
    main(given.commits, given.seed, not given.asynchronous)
