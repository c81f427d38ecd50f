extension OrderedMap {
    /// What is wrong with the tree, or nil:
    ///
    /// 1. Keys rise from left to right.
    /// 2. A node counts itself and its two sides.
    /// 3. Neither side of a node weighs more than `maximumRatio` times the other.
    ///
    /// Visits every node: for tests.
    package func violatedInvariant() -> String? {
        var previous: Key?
        func check(_ node: Node?) -> String? {
            guard let node else { return nil }
            if let fault = check(node.left) { return fault }
            if let previous, !(previous < node.key) { return "1: \(node.key) stands behind \(previous)" }
            previous = node.key
            let left = (node.left?.count ?? 0) + 1
            let right = (node.right?.count ?? 0) + 1
            if node.count != left + right - 1 { return "2: \(node.key) counts \(node.count)" }
            if max(left, right) > Self.maximumRatio * min(left, right) { return "3: \(node.key) has \(left), \(right)" }
            return check(node.right)
        }
        return check(root)
    }
}
