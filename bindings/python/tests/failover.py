"""Commits while the servers that keep them fail one after the other, and others take their place.

python failover.py 10000 makes so many commits, and prints figures. With a synchronous replica nothing that
was acknowledged may be lost.
"""

import itertools
import random
import signal
import sys
import time

from cuts import Load, Told, judge, open_accounts
from replicas import LEASE, Replicas

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


DISTURBANCES = (kill_server, pause_node, kill_node, pause_briefly)


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


def run(replicas: Replicas, commits: int, seed: int) -> Told:
    """So many commits, among which each of the disturbances comes to pass. Then everything is looked at."""
    name = "holdfast_store=failover"
    open_accounts(f"{replicas.url}?{name}")
    share = commits // (len(DISTURBANCES) + 1)
    # On two machines, as it were: of which one is told who is the primary, and one finds out.
    with Load([f"{replicas.url}?{name}", f"{replicas.hosts}&{name}"], seed) as load:
        for number, disturb in enumerate(DISTURBANCES, 1):
            wait_for(load, number * share)
            began, before = time.monotonic(), load.acknowledged
            disturb(replicas)
            wait_for(load, load.acknowledged + 1)
            print(f"{disturb.__name__} behind {before} commits: {time.monotonic() - began:.1f} s", flush=True)
            replicas.wait_until_whole()
        wait_for(load, commits)
        told = load.end()
    judge(f"{replicas.url}?{name}", told)
    return told


def main(commits: int, seed: int) -> None:
    replicas = Replicas(is_synchronous=True)
    try:
        began = time.monotonic()
        told = run(replicas, commits, seed)
        print(
            f"seed {seed}: in {time.monotonic() - began:.0f} s {len(told.acknowledged)} acknowledged, "
            f"{len(told.refused)} refused, {len(told.unknown)} unknown, {told.resolved} told by their key; "
            f"the longest read {told.longest_read:.1f} s, the longest commit {told.longest_commit:.1f} s"
        )
        for text, count in itertools.islice(told.errors.most_common(), 30):
            print(f"{count:6} {text}")
    finally:
        replicas.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30))
