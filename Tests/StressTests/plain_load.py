"""What programs do that leave isolation to the server: the load of StressClient, on tables of its own.

python3 plain_load.py URL ISOLATION CLIENTS TRANSACTIONS prints the history as TransactionRecord reads it.
"""

import ctypes
import json
import random
import sys
import threading
import time
from typing import Any, Optional

pq = ctypes.CDLL("libpq.so.5")
pq.PQconnectdb.restype = pq.PQexec.restype = ctypes.c_void_p
pq.PQgetvalue.restype = pq.PQresultErrorField.restype = pq.PQerrorMessage.restype = (
    ctypes.c_char_p
)
for function in (
    pq.PQstatus,
    pq.PQerrorMessage,
    pq.PQresultStatus,
    pq.PQntuples,
    pq.PQclear,
):
    function.argtypes = [ctypes.c_void_p]
pq.PQexec.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
pq.PQgetvalue.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
pq.PQresultErrorField.argtypes = [ctypes.c_void_p, ctypes.c_int]


class Refused(Exception):
    """The server has, and nothing of the transaction is stored."""


class Client:
    """A connection of its own."""

    def __init__(self, url: str) -> None:
        self._connection = pq.PQconnectdb(url.encode())
        if pq.PQstatus(self._connection) != 0:
            sys.exit(pq.PQerrorMessage(self._connection).decode())

    def run(self, sql: str) -> "Optional[str]":
        """The first value of the first row."""
        result = pq.PQexec(self._connection, sql.encode())
        try:
            if pq.PQresultStatus(result) not in (1, 2):
                state = pq.PQresultErrorField(result, ord("C")).decode()
                if state.startswith("40") or state == "23505":
                    raise Refused(state)
                sys.exit(pq.PQerrorMessage(self._connection).decode())
            return (
                pq.PQgetvalue(result, 0, 0).decode() if pq.PQntuples(result) else None
            )
        finally:
            pq.PQclear(result)


def transaction(
    client: Client, isolation: str, number: int, turn: int, draw: random.Random
) -> "dict[str, Any]":
    """Reads lists and appends to them, as StressClient does."""
    operations: list[Any] = []
    outcome = "committed"
    began = time.monotonic_ns()
    try:
        client.run(f"BEGIN ISOLATION LEVEL {isolation}")
        for place in range(draw.randint(1, 4)):
            key = f"list{turn // 20}-{draw.randrange(4)}"
            text = client.run(
                f"SELECT array_to_json(numbers) FROM plain_lists WHERE key = '{key}'"
            )
            numbers = json.loads(text) if text else []
            operations.append({"read": {"_0": key, "_1": list(numbers)}})
            if draw.random() < 0.5:
                value = (number << 32) + turn * 8 + place
                operations.append({"append": {"_0": key, "_1": value}})
                client.run(
                    f"INSERT INTO plain_lists VALUES ('{key}', '{{{','.join(map(str, [*numbers, value]))}}}') "
                    "ON CONFLICT (key) DO UPDATE SET numbers = excluded.numbers"
                )
        client.run("COMMIT")
    except Refused:
        client.run("ROLLBACK")
        outcome = "aborted"
    ended = time.monotonic_ns()
    return {
        "process": number,
        "began": began,
        "ended": ended,
        "operations": operations,
        "outcome": {outcome: {}},
    }


def main(url: str, isolation: str, clients: int, transactions: int) -> None:
    first = Client(url)
    first.run("SET client_min_messages = warning")
    first.run("DROP TABLE IF EXISTS plain_lists")
    first.run(
        "CREATE TABLE plain_lists (key text PRIMARY KEY, numbers int8[] NOT NULL)"
    )
    history: list[Any] = []

    def run(number: int) -> None:
        client, draw = Client(url), random.Random(number)
        for turn in range(transactions):
            history.append(transaction(client, isolation, number, turn, draw))

    threads = [
        threading.Thread(target=run, args=(number,)) for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    json.dump(history, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
