"""A program of the benchmark, in several processes at once that share its work.

processes.py NUMBER PROGRAM WORKLOAD PLACE DOCUMENTS COUNT … runs each with documents of its own, so many that together they
are COUNT, and prints how long it took from when the first began until the last had ended.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path


def main(number: int, command: list[str]) -> None:
    count = int(command[4])
    documents = Path(command[3]).read_text().splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for place in range(number):
            share = Path(folder, f"{place}.ndjson")
            share.write_text("".join(documents[place::number]))
            own = str(count // number + (place < count % number))
            words = [*command[:3], str(share), own, *command[5:]]
            running.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        told = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        sys.exit("a process failed")
    results = [json.loads(text) for text in told]
    began = min(result["ended"] - result["seconds"] for result in results)
    print(
        json.dumps(
            {
                "operations": sum(result["operations"] for result in results),
                "seconds": max(result["ended"] for result in results) - began,
                "repeated": sum(result["repeated"] for result in results),
                "megabytes": 0,
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
