"""Object trees alone: they begin, validate, commit and roll back together."""

import pytest
from nodes import Family, Node, Refusal, refuse

import holdfast


def test_parents_begin_and_validate_first_and_end_last(family: Family) -> None:
    down, up = ["root", "first", "leaf", "second"], ["leaf", "first", "second", "root"]
    for ending, calls in (("commit", up), ("rollback", up)):
        family.calls.clear()
        family.leaf.begin_transaction()
        getattr(family.second, f"{ending}_transaction")()
        expected = [f"begin {name}" for name in down]
        expected += [f"validate {name}" for name in down] if ending == "commit" else []
        assert family.calls[: len(expected)] == expected
        assert family.calls[len(expected) :] == [f"{ending} {name}" for name in calls]


def test_siblings_come_in_the_order_in_which_they_were_attached_at_both_ends() -> None:
    root = Node("root")
    names = [f"{number * 7 % 50}" for number in range(50)]
    children = [Node(name, root) for name in names]
    children[10].detach()
    children[10].attach(root)
    names.append(names.pop(10))
    for ending in ("commit", "rollback"):
        root.calls.clear()
        root.begin_transaction()
        getattr(root, f"{ending}_transaction")()
        assert [name for call, name in map(str.split, root.calls) if call == "begin"] == ["root", *names]
        assert [name for call, name in map(str.split, root.calls) if call == ending] == [*names, "root"]


def test_a_commit_from_a_leaf_commits_every_member_once(family: Family) -> None:
    family.leaf.begin_transaction()
    family.leaf.commit_transaction()
    family.expect(1, 1, 1, 0)


def test_a_second_begin_is_refused_and_calls_nobody(family: Family) -> None:
    descriptor = family.root.begin_transaction()
    before = list(family.calls)
    for node in family.all:
        with pytest.raises(holdfast.TransactionActiveError):
            node.begin_transaction()
        assert node.active_transaction == descriptor != holdfast.ANY_TRANSACTION
    assert family.calls == before
    family.root.rollback_transaction()
    family.expect(1, 0, 0, 1)


def test_the_end_of_nothing_is_refused_and_calls_nobody(family: Family) -> None:
    stale = family.root.begin_transaction()
    family.root.rollback_transaction(stale)
    family.calls.clear()
    for end in (family.leaf.commit_transaction, family.root.rollback_transaction):
        with pytest.raises(holdfast.TransactionNotActiveError):
            end()
        with pytest.raises(holdfast.WrongDescriptorError):
            end(stale)
        with pytest.raises(holdfast.InvalidArgumentError):
            end(b"short")
    fresh = family.root.begin_transaction()
    assert fresh != stale
    family.calls.clear()
    for end in (family.leaf.commit_transaction, family.root.rollback_transaction):
        with pytest.raises(holdfast.WrongDescriptorError):
            end(stale)
    assert not family.calls
    family.root.commit_transaction(fresh)


def test_the_descriptor_is_readable_in_every_method_and_no_longer(family: Family) -> None:
    with family.root.transaction() as descriptor:
        pass
    for node in family.all:
        assert node.seen == [descriptor] * 3 and len(descriptor) == 16
    family.expect(1, 1, 1, 0)


def test_a_refusal_leaves_an_explicit_transaction_open_for_repair(family: Family) -> None:
    family.root.begin_transaction()
    family.root.hooks["validate"] = refuse
    with pytest.raises(Refusal, match="mine"):
        family.leaf.commit_transaction()
    assert family.root.counts() == [1, 1, 0, 0] and family.leaf.counts() == [1, 0, 0, 0]
    assert family.leaf.transaction_is_active
    family.root.hooks.clear()
    family.leaf.commit_transaction()
    assert family.root.counts() == [1, 2, 1, 0] and family.leaf.counts() == [1, 1, 1, 0]


def test_a_block_commits_at_its_end_and_nested_blocks_join(family: Family) -> None:
    with family.root.transaction() as outer, family.leaf.transaction() as inner:
        assert outer == inner
    family.expect(1, 1, 1, 0)


def test_an_exception_of_the_block_rolls_back_and_travels_out(family: Family) -> None:
    mine = LookupError("mine")
    with pytest.raises(LookupError) as raised, family.first.transaction():
        raise mine
    assert raised.value is mine
    family.expect(1, 0, 0, 1)


def test_the_exception_of_a_validator_is_the_one_that_the_block_raises(family: Family) -> None:
    mine = Refusal("mine")

    def refuse_with_mine() -> None:
        raise mine

    family.second.hooks["validate"] = refuse_with_mine
    with pytest.raises(Refusal) as raised, family.root.transaction():
        pass
    assert raised.value is mine
    family.expect(1, 1, 0, 1)


@pytest.mark.parametrize("ending", ["commit_transaction", "rollback_transaction"])
def test_a_block_that_ends_its_transaction_itself_hides_nothing(family: Family, ending: str) -> None:
    with family.root.transaction():
        getattr(family.root, ending)()
    with pytest.raises(LookupError) as raised, family.root.transaction():
        getattr(family.root, ending)()
        raise LookupError("mine")
    assert not hasattr(raised.value, "secondary")
    assert not family.root.transaction_is_active


@pytest.mark.parametrize("way", ["block", "explicit", "attach"])
def test_what_an_on_begin_raises_ends_the_transaction(family: Family, way: str) -> None:
    late = Node("late", calls=family.calls)
    (late if way == "attach" else family.leaf).hooks["begin"] = refuse
    with pytest.raises(Refusal):
        if way == "explicit":
            family.root.begin_transaction()
        else:
            with family.root.transaction():
                assert way == "attach"
                late.attach(family.root)
    family.expect(1, 0, 0, 1)
    assert not late.transaction_is_active
