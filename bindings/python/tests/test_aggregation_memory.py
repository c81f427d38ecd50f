"""Pipelines over many entities take memory for what they keep, and not for what they read.

Each runs in a process of its own on a store that lies in a file, and the most memory that this has had at
once is what counts. `make aggregation-memory` has a million entities and prints the figures.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast

COUNT = int(os.environ.get("HOLDFAST_AGGREGATED", "50000"))
#: What a process takes at most, in kilobytes, beside what it had before and the pages of the file.
ALLOWED = 24 << 10
#: Bytes for a group of which but its key is kept.
GROUP = 300
#: So many of them SQLite keeps for a snapshot.
CACHED = 64 << 10

PIPELINES = {
    "match, group, sort": [
        {"$match": {"n": {"$gte": 10}}},
        {"$group": {"_id": "$kind", "sum": {"$sum": "$n"}, "most": {"$max": "$text"}, "count": {"$sum": 1}}},
        {"$sort": {"sum": -1}},
    ],
    "sort, limit": [{"$sort": {"text": -1, "n": 1}}, {"$limit": 10}],
    "unwind, group": [{"$unwind": "$tags"}, {"$group": {"_id": "$tags", "count": {"$sum": 1}}}],
    "set, sort, limit": [
        {"$set": {"m": {"$mod": ["$n", 997]}}},
        {"$sort": {"m": -1, "n": 1}},
        {"$skip": 5},
        {"$limit": 10},
        {"$project": {"m": 1}},
    ],
    "group each": [{"$group": {"_id": "$n"}}, {"$count": "groups"}],
}

PROGRAM = """
import json, sys, time
import holdfast

def kilobytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))

with holdfast.open(sys.argv[1]) as store:
    things = store.repository("things")
    things.aggregate([{"$limit": 1}])
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")
    before, began = kilobytes("VmRSS"), time.monotonic()
    documents = things.aggregate(json.loads(sys.argv[2]), max_memory_bytes=1 << 30)
    took = time.monotonic() - began
    print(json.dumps({"kilobytes": kilobytes("VmHWM") - before, "documents": documents, "seconds": took}))
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("aggregated") / "store.db"
    with holdfast.open(path) as store:
        things = store.repository("things")
        for start in range(0, COUNT, 10000):
            things.save_many(
                {
                    "id": f"{n:07}",
                    "n": n,
                    "kind": n % 100,
                    "tags": [n % 7, n % 11],
                    "text": f"{n * 7919:09} " * 20,
                }
                for n in range(start, start + 10000)
            )
    return path


@pytest.mark.parametrize("name", PIPELINES)
def test_memory_is_taken_for_what_is_kept_alone(filled: Path, name: str) -> None:
    arguments = [sys.executable, "-c", PROGRAM, str(filled), json.dumps(PIPELINES[name])]
    kept = COUNT * GROUP >> 10 if name == "group each" else 0
    told = json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
    size = filled.stat().st_size >> 10
    took = f"{told['kilobytes']} kB beside {size} kB of data, {told['seconds']:.2f} s"
    print(f"{name}: {took} for {COUNT:,} entities")
    if name == "match, group, sort":
        assert sum(it["count"] for it in told["documents"]) == COUNT - 10
    elif name == "unwind, group":
        assert sum(it["count"] for it in told["documents"]) == 2 * COUNT
    elif name == "group each":
        assert told["documents"] == [{"groups": COUNT}]
    else:
        assert len(told["documents"]) == 10
    assert told["kilobytes"] < ALLOWED + min(size, CACHED) + kept
