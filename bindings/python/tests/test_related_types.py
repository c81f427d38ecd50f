"""Types of which one is the other as well: a moment is a day, and a count a number."""

import dataclasses
import datetime
from typing import Optional, Union

import pytest

import holdfast

WHEN = datetime.datetime(2024, 5, 17, 8, 30, tzinfo=datetime.timezone.utc)


class Count(int):
    pass


@dataclasses.dataclass
class Log:
    id: str
    day: Optional[datetime.date] = None
    moment: Union[datetime.datetime, datetime.date, None] = None
    counts: dict[Count, str] = dataclasses.field(default_factory=dict)


@pytest.mark.parametrize("when", [WHEN, WHEN.replace(tzinfo=None), datetime.date(2024, 5, 17)])
def test_a_day_and_a_moment_come_back_as_what_they_were_where_both_may_stand(
    when: datetime.date, store: holdfast.Store
) -> None:
    logs = store.repository("logs", cls=Log)
    logs.save(Log("a", day=when, moment=when))
    assert logs["a"] == Log("a", day=when, moment=when)
    assert type(logs["a"].day) is type(logs["a"].moment) is type(when)


def test_the_keys_of_a_dict_come_back_as_numbers_of_a_class_of_one_s_own(store: holdfast.Store) -> None:
    logs = store.repository("logs", cls=Log)
    logs.save(Log("a", counts={Count(3): "b"}))
    assert logs["a"].counts == {3: "b"}
    assert [type(key) for key in logs["a"].counts] == [Count]
