/// A persistent ordered map: a copy costs nothing and never sees what is changed in the original afterwards,
/// so that a snapshot of the memory engine is a copy of its maps.
///
/// A weight-balanced tree. A change copies the nodes between the root and its place, except those that nothing
/// else refers to, which are changed where they are: the second change of a batch costs no more than in an
/// ordinary tree. The height stays below 2.5 times the logarithm of the count, so neither walking nor releasing
/// a tree goes deep. (Weights and rotations: Hirai and Yamamoto, "Balancing weight-balanced trees", 2011.)
package struct OrderedMap<Key: Comparable & Sendable, Value: Sendable>: Sendable {
    package private(set) var root: Node?

    package init() {}

    package var count: Int { root?.count ?? 0 }

    /// The entry with the smallest key.
    package var first: (key: Key, value: Value)? {
        guard var node = root else { return nil }
        while let next = node.left { node = next }
        return (node.key, node.value)
    }

    /// Reads; sets; removes by setting nil.
    package subscript(key: Key) -> Value? {
        get {
            // One comparison a node: the last node that is not behind the key is the only candidate.
            var candidate: Node?
            var next = root
            while let node = next {
                if key < node.key {
                    next = node.left
                } else {
                    candidate = node
                    next = node.right
                }
            }
            guard let candidate, !(candidate.key < key) else { return nil }
            return candidate.value
        }
        set {
            if let newValue {
                Self.set(key, to: newValue, in: &root)
            } else if self[key] != nil {
                Self.remove(key, from: &root)
            }
        }
    }

    /// Visits the entries in the order of their keys, beginning with `start` or the next one behind it (nil: with
    /// the first), until `body` answers false.
    package func walk<Failure: Error>(
        from start: Key? = nil, _ body: (Key, Value) throws(Failure) -> Bool
    ) throws(Failure) {
        _ = try Self.visit(root, from: start, body)
    }

    /// Visits the entries before `end` in the reverse order of their keys, until `body` answers false.
    func walkBackward<Failure: Error>(
        before end: Key, _ body: (Key, Value) throws(Failure) -> Bool
    ) throws(Failure) {
        _ = try Self.visitBackward(root, before: end, body)
    }

    private static func visitBackward<Failure: Error>(
        _ tree: Node?, before end: Key?, _ body: (Key, Value) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        guard let tree else { return true }
        if let end, !(tree.key < end) { return try visitBackward(tree.left, before: end, body) }
        guard try visitBackward(tree.right, before: end, body), try body(tree.key, tree.value) else { return false }
        return try visitBackward(tree.left, before: nil, body)
    }

    private static func visit<Failure: Error>(
        _ tree: Node?, from start: Key?, _ body: (Key, Value) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        guard let tree else { return true }
        if let start, tree.key < start { return try visit(tree.right, from: start, body) }
        guard try visit(tree.left, from: start, body), try body(tree.key, tree.value) else { return false }
        return try visit(tree.right, from: nil, body)
    }
}

// MARK: - Nodes

extension OrderedMap {
    /// Sendable although it can change: only a node to which exactly one reference exists is ever changed.
    package final class Node: @unchecked Sendable {
        package fileprivate(set) var key: Key
        package fileprivate(set) var value: Value
        package fileprivate(set) var left: Node?
        package fileprivate(set) var right: Node?
        package fileprivate(set) var count: Int

        fileprivate init(key: Key, value: Value, left: Node? = nil, right: Node? = nil, count: Int = 1) {
            self.key = key
            self.value = value
            self.left = left
            self.right = right
            self.count = count
        }

        fileprivate func updateCount() { count = weight(left) + weight(right) - 1 }
    }

    /// One more than the number of entries, as the balance is defined with it.
    fileprivate static func weight(_ tree: Node?) -> Int { (tree?.count ?? 0) + 1 }

    private static func makeUnique(_ tree: inout Node?) {
        guard !isKnownUniquelyReferenced(&tree), let node = tree else { return }
        tree = Node(key: node.key, value: node.value, left: node.left, right: node.right, count: node.count)
    }

    private static func set(_ key: Key, to value: Value, in tree: inout Node?) {
        makeUnique(&tree)
        guard let node = tree else {
            tree = Node(key: key, value: value)
            return
        }
        if key < node.key {
            set(key, to: value, in: &node.left)
        } else if node.key < key {
            set(key, to: value, in: &node.right)
        } else {
            node.value = value
            return
        }
        balance(node, in: &tree)
    }

    /// The key is there.
    private static func remove(_ key: Key, from tree: inout Node?) {
        makeUnique(&tree)
        guard let node = tree else { return }
        if key < node.key {
            remove(key, from: &node.left)
        } else if node.key < key {
            remove(key, from: &node.right)
        } else if node.left == nil {
            tree = node.right
            return
        } else if node.right == nil {
            tree = node.left
            return
        } else {
            (node.key, node.value) = removeFirst(from: &node.right)
        }
        balance(node, in: &tree)
    }

    /// The tree is not empty.
    private static func removeFirst(from tree: inout Node?) -> (Key, Value) {
        makeUnique(&tree)
        let node = tree!
        guard node.left != nil else {
            tree = node.right
            return (node.key, node.value)
        }
        let first = removeFirst(from: &node.left)
        balance(node, in: &tree)
        return first
    }
}

// MARK: - Balance

extension OrderedMap {
    /// Neither side of a node weighs more than this many times the other.
    static var maximumRatio: Int { 3 }
    /// From here on the inner grandchild is too heavy for a single rotation.
    private static var innerRatio: Int { 2 }

    /// Restores the balance of a node, one of whose sides has gained or lost one entry. The node is `tree`'s and
    /// referred to by nothing else.
    private static func balance(_ node: Node, in tree: inout Node?) {
        let left = weight(node.left)
        let right = weight(node.right)
        if right > maximumRatio * left {
            makeUnique(&node.right)
            let child = node.right!
            if weight(child.left) >= innerRatio * weight(child.right) {
                makeUnique(&child.left)
                rotateRight(child, in: &node.right)
            }
            rotateLeft(node, in: &tree)
        } else if left > maximumRatio * right {
            makeUnique(&node.left)
            let child = node.left!
            if weight(child.right) >= innerRatio * weight(child.left) {
                makeUnique(&child.right)
                rotateLeft(child, in: &node.left)
            }
            rotateRight(node, in: &tree)
        } else {
            node.count = left + right - 1
        }
    }

    /// Its right child, which must be unique, takes the node's place.
    private static func rotateLeft(_ node: Node, in tree: inout Node?) {
        let child = node.right!
        node.right = child.left
        child.left = node
        node.updateCount()
        child.updateCount()
        tree = child
    }

    /// Its left child, which must be unique, takes the node's place.
    private static func rotateRight(_ node: Node, in tree: inout Node?) {
        let child = node.left!
        node.left = child.right
        child.right = node
        node.updateCount()
        child.updateCount()
        tree = child
    }
}
