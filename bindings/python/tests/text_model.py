"""What a text index must answer, worked out from the texts alone: of words of letters, with no language."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

Text = str | list[str] | None


class TextModel:
    """Texts under two paths, each with a weight."""

    def __init__(self, weights: dict[str, int]) -> None:
        self.weights = weights
        self.entities: dict[str, dict[str, Any]] = {}

    def texts(self, entity: dict[str, Any]) -> Iterable[tuple[list[str], int]]:
        for path, weight in self.weights.items():
            value: Text = entity.get(path)
            for text in value if isinstance(value, list) else [value] if isinstance(value, str) else []:
                yield text.lower().split(), weight

    def has(self, entity: dict[str, Any], words: list[str]) -> bool:
        """Whether the words stand one behind the other in one of its texts."""
        return any(
            text[start : start + len(words)] == words
            for text, _ in self.texts(entity)
            for start in range(len(text))
        )

    def search(
        self, words: list[str], phrases: Sequence[list[str]] = (), exclusions: Sequence[list[str]] = ()
    ) -> list[tuple[str, float]]:
        """The ids of all that match with their scores, the best first, of equal ones the least id."""
        wanted = list(dict.fromkeys([*words, *(word for phrase in phrases for word in phrase)]))
        lengths = {
            id: sum(len(text) for text, _ in self.texts(entity)) for id, entity in self.entities.items()
        }
        mean = sum(lengths.values()) / len(lengths) if lengths else 0
        scores: dict[str, float] = {}
        for word in wanted:
            found = {}
            for id, entity in self.entities.items():
                weight = sum(text.count(word) * weight for text, weight in self.texts(entity))
                if weight:
                    found[id] = weight
            inverse = max(1e-6, math.log((len(lengths) - len(found) + 0.5) / (len(found) + 0.5)))
            for id, weight in found.items():
                relative = lengths[id] / mean
                part = inverse * weight * 2.2 / (weight + 1.2 * (0.25 + 0.75 * relative))
                scores[id] = scores.get(id, 0.0) + part
        matching = [
            (id, score)
            for id, score in scores.items()
            if all(self.has(self.entities[id], phrase) for phrase in phrases)
            and not any(self.has(self.entities[id], phrase) for phrase in exclusions)
        ]
        return sorted(matching, key=lambda found: (-found[1], found[0]))


def search_text(
    words: list[str], phrases: Sequence[list[str]] = (), exclusions: Sequence[list[str]] = ()
) -> dict[str, Any]:
    pieces = [*words, *(f'"{" ".join(phrase)}"' for phrase in phrases)]
    pieces += [f'-"{" ".join(phrase)}"' for phrase in exclusions]
    return {"$text": {"$search": " ".join(pieces)}}
