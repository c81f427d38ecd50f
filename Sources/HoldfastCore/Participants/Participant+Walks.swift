internal import HoldfastEnvironment

/// Walks, all under the trees' lock. Each goes from link to link: neither depth nor width costs stack.
extension Participant {
    var root: Participant {
        var root = self
        while let parent = root.parent { root = parent }
        return root
    }

    /// This one and all below: parents first, siblings in the order in which they were attached.
    func forEachInOrder(_ body: (Participant) -> Void) {
        var node = self
        while true {
            body(node)
            guard let next = node.successor(below: self) else { return }
            node = next
        }
    }

    /// The same with children first.
    func forEachChildrenFirst(_ body: (Participant) -> Void) {
        var node = deepestFirst
        while true {
            body(node)
            if node === self { return }
            if let sibling = node.nextSibling { node = sibling.deepestFirst } else { node = node.parent! }
        }
    }

    /// The next in order in the tree of `top`.
    private func successor(below top: Participant) -> Participant? {
        if let firstChild { return firstChild }
        var node = self
        while node !== top {
            if let sibling = node.nextSibling { return sibling }
            node = node.parent!
        }
        return nil
    }

    private var deepestFirst: Participant {
        var node = self
        while let child = node.firstChild { node = child }
        return node
    }

    /// Whether `parent` is `node` or below it. Goes up from the one and through the other at the same pace, so that
    /// trees built from either end cost no more than their size.
    static func wouldBeCycle(_ node: Participant, under parent: Participant) -> Bool {
        var upward = parent
        var downward: Participant? = node
        while true {
            if upward === node { return true }
            guard let above = upward.parent else { return false }
            upward = above
            if downward === parent { return true }
            downward = downward?.successor(below: node)
            if downward == nil { return false }
        }
    }
}

/// The lock of all trees of the process. Held for single steps and for walks, never while the host's code runs. One for
/// all, because attaching makes one tree of two.
final class TreeLock: ProcessOwned {
    let epoch: UInt32
    /// Of one byte: what has no size shares its address with the mutex, which the thread sanitizer takes for a race.
    private let lock = Lock(false)
    private static let current = PerProcess<TreeLock>()

    init(epoch: UInt32) { self.epoch = epoch }

    static func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try current.value.lock.withLock { _ throws(Failure) in try body() }
    }
}
