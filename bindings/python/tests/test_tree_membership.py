"""Who is a member of a tree, and when: objects join, leave and go, inside a transaction and outside."""

import copy
import gc
import pickle
import sys
from typing import Any

import pytest
from nodes import PHASES, Counter, Family, Node, Refusal, no_error
from programs import in_child, refuses
from threads import in_threads

import holdfast


def participants() -> int:
    return holdfast.handle_count("participant")


@pytest.fixture(autouse=True)
def others() -> int:
    """Participants of before: Ctrl-C leaves some that are nobody's, and other tests send it."""
    return participants()


def test_a_node_made_inside_begins_at_once_with_its_sub_nodes_and_no_other_again(family: Family) -> None:
    branch = Node("branch", calls=family.calls)
    twig = Node("twig", branch)
    with family.root.transaction():
        family.calls.clear()
        branch.attach(family.leaf)
        assert family.calls == ["begin branch", "begin twig"]
    assert branch.counts() == twig.counts() == [1, 1, 1, 0]


def test_a_detached_node_leaves_with_its_sub_nodes(family: Family) -> None:
    with family.root.transaction():
        family.first.detach()
        assert not family.leaf.transaction_is_active
    assert family.leaf.counts() == family.first.counts() == [1, 0, 0, 0]
    assert family.root.counts() == [1, 1, 1, 0]
    with family.first.transaction():
        assert not family.root.transaction_is_active


@pytest.mark.parametrize("phase", PHASES)
def test_a_node_may_be_detached_inside_each_method(family: Family, phase: str) -> None:
    # This one is called before its sibling, whichever way the tree is gone through.
    family.first.hooks[phase] = family.second.detach
    detached = family.second
    with pytest.raises(LookupError) if phase == "rollback" else no_error(), family.root.transaction():
        if phase == "rollback":
            raise LookupError
    assert not detached.transaction_is_active
    assert f"{phase} {detached.name}" not in family.calls
    assert detached.counts() == [phase != "begin", phase == "commit", 0, 0]


@pytest.mark.parametrize("phase", PHASES)
def test_an_object_may_go_inside_each_method_of_its_own(others: int, phase: str) -> None:
    root = Node("root")
    kept: dict[str, Node] = {"child": Node("child", root)}

    def drop() -> None:
        kept.clear()
        gc.collect()

    kept["child"].hooks[phase] = drop
    with pytest.raises(LookupError) if phase == "rollback" else no_error(), root.transaction():
        if phase == "rollback":
            raise LookupError
    assert f"{phase} child" in root.calls
    gc.collect()
    assert participants() == others + 1


def test_what_is_garbage_is_skipped_and_its_children_are_not(others: int, family: Family) -> None:
    with family.root.transaction():
        del family.first
        family.all = (family.root, family.leaf, family.second)
        gc.collect()
        assert participants() == others + 3
    assert "commit leaf" in family.calls and "commit first" not in family.calls
    assert family.leaf.active_transaction is None
    leaf = family.leaf
    family.all = ()
    del family.root
    gc.collect()
    with leaf.transaction():
        pass


def test_what_joins_in_validation_is_validated_too(family: Family) -> None:
    late: list[Node] = []

    def grow() -> None:
        if len(late) < 3:
            late.append(Node(f"late {len(late)}", family.root))
            late[-1].hooks["validate"] = grow

    family.leaf.hooks["validate"] = grow
    with family.root.transaction():
        pass
    assert [node.counts() for node in late] == [[1, 1, 1, 0]] * 3


def test_validation_that_would_never_end_is_ended_and_can_be_repaired(family: Family) -> None:
    late: list[Node] = []

    def grow() -> None:
        late.append(Node("late", family.root))
        late[-1].hooks["validate"] = grow

    family.leaf.hooks["validate"] = grow
    family.root.begin_transaction()
    with pytest.raises(holdfast.InvalidStateError):
        family.root.commit_transaction()
    assert family.root.transaction_is_active
    assert not [call for call in family.calls if call.startswith(("commit", "rollback"))]
    assert late
    late[-1].hooks.clear()
    family.leaf.hooks.clear()
    for node in late:
        node.detach()
    family.root.commit_transaction()
    assert family.leaf.counts()[2:] == [1, 0]


def test_what_cannot_be_attached_is_told(family: Family) -> None:
    with pytest.raises(holdfast.CycleError):
        family.root.attach(family.leaf)
    other = Node("other")
    with other.transaction(), family.root.transaction(), pytest.raises(holdfast.TransactionActiveError):
        other.attach(family.root)


def test_methods_that_begin_or_end_are_refused_and_change_nothing(family: Family) -> None:
    refused = []

    def end() -> None:
        for call in (
            family.root.begin_transaction,
            family.root.commit_transaction,
            family.leaf.rollback_transaction,
        ):
            try:
                call()
            except holdfast.ReentrantError as error:
                refused.append(error)

    for phase in PHASES:
        family.first.hooks[phase] = end
    with family.root.transaction():
        pass
    with pytest.raises(LookupError), family.root.transaction():
        raise LookupError
    assert len(refused) == 3 * 5
    family.expect(2, 1, 1, 1)


def test_another_tree_is_free_inside_a_method(family: Family) -> None:
    other = Family()

    def use_other() -> None:
        with other.root.transaction():
            pass
        with pytest.raises(Refusal), other.root.transaction():
            raise Refusal

    family.leaf.hooks["validate"] = use_other
    with family.root.transaction():
        pass
    other.expect(2, 1, 1, 1)
    family.expect(1, 1, 1, 0)


def test_a_savepoint_brings_objects_and_entities_back(store: holdfast.Store) -> None:
    root = Counter("root")
    child = Counter("child", root)
    songs = store.repository("songs")
    with root.transaction():
        child.value = 1
        with pytest.raises(LookupError), root.savepoint():
            child.value = 2
            raise LookupError
        assert child.value == 1
    with store.transaction(root):
        child.value = 3
        with pytest.raises(LookupError), store.savepoint():
            child.value = 4
            songs.add({"id": "s1"})
            raise LookupError
        songs.add({"id": "s2"})
    assert child.value == 3 and songs.ids() == ["s2"]


def test_a_savepoint_needs_every_member(store: holdfast.Store) -> None:
    root = Counter("root")
    child = Node("child", root)
    with root.transaction(), pytest.raises(holdfast.UnsupportedError), root.savepoint():
        pass
    with store.transaction(child), pytest.raises(holdfast.UnsupportedError), store.savepoint():
        pass


@pytest.mark.parametrize("shape", ["wide", "deep"])
def test_a_tree_may_be_very_large(shape: str) -> None:
    class Small(holdfast.Transactable):
        """Counts."""

        commits = 0

        def on_commit(self, transaction: bytes) -> None:
            Small.commits += 1

    nodes = [Small()]
    for _ in range(100_000):
        node = Small()
        node.attach(nodes[0] if shape == "wide" else nodes[-1])
        nodes.append(node)
    with nodes[-1].transaction():
        pass
    assert Small.commits == len(nodes)


# --- As objects of Python --------------------------------------------------------------------------


def test_a_copy_is_an_object_of_its_own(family: Family) -> None:
    family.root.hooks.clear()
    for copied in (
        copy.copy(family.leaf),
        copy.deepcopy(family.leaf),
        pickle.loads(pickle.dumps(family.leaf)),
    ):
        with family.root.transaction():
            assert not copied.transaction_is_active
        assert vars(copied).keys() == vars(family.leaf).keys()


def test_what_a_destructor_raises_harms_nothing(others: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hooked: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: hooked.append(type(told.exc_value)))

    class Bad(holdfast.Transactable):
        """Fails when it goes."""

        def __del__(self) -> None:
            raise Refusal("in a destructor")

    root = Node("root")
    bad = [Bad() for _ in range(3)]
    for each in bad:
        each.attach(root)
    del each
    with root.transaction():
        bad.clear()
        gc.collect()
    assert hooked == [Refusal] * 3
    assert participants() == others + 1


def test_objects_may_go_on_any_thread_while_others_are_called(others: int) -> None:
    roots = [Node(f"root {number}") for number in range(4)]

    def churn(root: Node) -> None:
        for number in range(300):
            child = Node(f"child {number}", root)
            cycle: Any = [child]
            cycle.append(cycle)
            with root.transaction():
                pass

    in_threads(churn, roots)
    gc.collect()
    assert participants() == others + len(roots)


def test_an_inherited_object_is_refused_in_a_forked_child(family: Family) -> None:
    with family.root.transaction():
        assert in_child(lambda: refuses(family.root.commit_transaction)) == 0
    assert in_child(lambda: refuses(family.root.begin_transaction)) == 0
    family.expect(1, 1, 1, 0)
