"""A program of the benchmark, in several processes at once that share its work.

processes.py NUMBER PROGRAM WORKLOAD PLACE DOCUMENTS COUNT … runs each with its share of COUNT, and prints how long the one
took that took longest.
"""

import json
import subprocess
import sys


def main(number: int, command: list[str]) -> None:
    count = int(command[4])
    shares = [count // number + (place < count % number) for place in range(number)]
    running = [
        subprocess.Popen(
            [*command[:4], str(share), *command[5:]], stdout=subprocess.PIPE, text=True
        )
        for share in shares
    ]
    told = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        sys.exit("a process failed")
    results = [json.loads(text) for text in told]
    print(
        json.dumps(
            {
                "operations": sum(result["operations"] for result in results),
                "seconds": max(result["seconds"] for result in results),
                "repeated": sum(result["repeated"] for result in results),
                "megabytes": 0,
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
