"""A program whose server is so many milliseconds away, each way.

delayed.py MILLISECONDS URL PROGRAM … runs the program with a URL of a proxy in the place of this one.
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bindings/python/tests"))

from proxy import Proxy  # noqa: E402


def main(milliseconds: float, url: str, command: list[str]) -> int:
    with Proxy(url, delay=milliseconds / 1000) as proxy:
        words = [proxy.url if word == url else word for word in command]
        return subprocess.run(words).returncode


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2], sys.argv[3:]))
