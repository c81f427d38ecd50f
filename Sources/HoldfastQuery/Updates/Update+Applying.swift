public import HoldfastEnvironment

extension Update {
    /// The updated text of `target`, which is a stored entity. The caller checks the result's size.
    public func applied(to target: UnsafeRawBufferPointer) throws(HoldfastError) -> [UInt8] {
        let walker = ItemWalker(target)
        let application = UpdateApplication(update: self, target: walker, moved: try found(in: walker))
        var output: [UInt8] = []
        output.reserveCapacity(target.count + text.count)
        let start = try walker.start()
        output.append(contentsOf: walker.walker.bytes(0, start))
        let end = try application.object(root, at: start, depth: 0, isInArray: false, &output)
        output.append(contentsOf: walker.walker.bytes(end, target.count))
        return output
    }

    /// Where the values lie that `$rename` takes; nil for those that are not there.
    private func found(in target: ItemWalker) throws(HoldfastError) -> [Range<Int>?] {
        var found: [Range<Int>?] = []
        for path in moved { found.append(try range(of: path, in: target)) }
        return found
    }

    private func range(of path: Path, in target: ItemWalker) throws(HoldfastError) -> Range<Int>? {
        var range: Range<Int>?
        var position = try target.start()
        for part in path.parts {
            switch try target.kind(at: position) {
            case .object: break
            case .array: throw Leaf(path: path, name: "$rename", operation: .unset).isInArray()
            default: return nil
            }
            range = nil
            _ = try target.members(of: position) { name, value, end throws(HoldfastError) in
                if try target.order(name, part) == 0 { range = value..<end }
            }
            guard let range else { return nil }
            position = range.lowerBound
        }
        return range
    }
}

/// One application of an update to one entity.
struct UpdateApplication {
    let update: Update
    let target: ItemWalker
    /// Where the values lie that are moved; nil for those that are not there.
    let moved: [Range<Int>?]

    /// Appends the object at `opening`, updated, and answers where it ended. `depth` counts the parts of the paths that
    /// lead to it. Recurses as deep as the update.
    func object(
        _ node: Update.Node, at opening: Int, depth: Int, isInArray: Bool, _ output: inout [UInt8]
    ) throws(HoldfastError) -> Int {
        var isDone = [Bool](repeating: false, count: node.children.count)
        var rewriter = ContainerRewriter(target.walker, opening: opening)
        let end = try target.members(of: opening) { name, value, end throws(HoldfastError) in
            let start = name.start - 1
            guard let index = try node.child(named: name, in: target) else {
                rewriter.keep(from: start, to: end, &output)
                return
            }
            isDone[index] = true
            let step = node.children[index].step
            if case .end(let leaf) = step, case .unset = leaf.operation {
                rewriter.remove(from: start, to: end, &output)
                return
            }
            rewriter.keep(from: start, replacing: value, to: end, &output)
            try rewrite(step, value..<end, depth: depth + 1, isInArray: isInArray, &output)
        }
        for index in node.additions where !isDone[index] && creator(in: node.children[index].step) != nil {
            rewriter.add(&output)
            try create(node.children[index], isInArray: isInArray, &output)
        }
        rewriter.finish(at: end, &output)
        return end
    }

    /// Appends the array at `opening`, updated: the paths' next parts are indexes of it.
    @inline(never)
    private func array(
        _ node: Update.Node, at opening: Int, depth: Int, _ output: inout [UInt8]
    ) throws(HoldfastError) {
        for child in node.children where child.index == nil {
            if let leaf = creator(in: child.step) { throw leaf.isBlocked(byA: .array, depth: depth) }
        }
        var rest = node.byIndex[...]
        var count = 0
        var rewriter = ContainerRewriter(target.walker, opening: opening)
        let end = try target.elements(of: opening) { element, end throws(HoldfastError) in
            if let first = rest.first, node.children[first].index == count {
                rest.removeFirst()
                rewriter.keep(from: element, replacing: element, to: end, &output)
                try rewrite(node.children[first].step, element..<end, depth: depth + 1, isInArray: true, &output)
            } else {
                rewriter.keep(from: element, to: end, &output)
            }
            count += 1
        }
        for child in rest.lazy.map({ node.children[$0] }) where creator(in: child.step) != nil {
            let index = child.index!
            let missing = index - count
            guard missing <= (update.limits.maxBytes - min(output.count, update.limits.maxBytes)) / 5 else {
                throw creator(in: child.step)!.isTooFar(index, limit: update.limits.maxBytes)
            }
            for _ in 0..<missing {
                rewriter.add(&output)
                output.append(contentsOf: "null".utf8)
            }
            rewriter.add(&output)
            try create(child.step, isInArray: true, &output)
            count = index + 1
        }
        rewriter.finish(at: end, &output)
    }

    /// Appends a value of the target, updated.
    private func rewrite(
        _ step: Update.Step, _ value: Range<Int>, depth: Int, isInArray: Bool, _ output: inout [UInt8]
    ) throws(HoldfastError) {
        switch step {
        case .end(let leaf): try change(leaf, value, isInArray: isInArray, &output)
        case .through(let node):
            switch try target.kind(at: value.lowerBound) {
            case .object:
                _ = try object(node, at: value.lowerBound, depth: depth, isInArray: isInArray, &output)
            case .array: try array(node, at: value.lowerBound, depth: depth, &output)
            case let kind:
                if let leaf = creator(in: step) { throw leaf.isBlocked(byA: kind, depth: depth) }
                output.append(contentsOf: target.walker.bytes(value.lowerBound, value.upperBound))
            }
        }
    }

    // MARK: What is not there yet

    /// The first leaf that makes a value where there is none.
    private func creator(in step: Update.Step) -> Update.Leaf? {
        switch step {
        case .through(let node):
            for child in node.children {
                if let leaf = creator(in: child.step) { return leaf }
            }
            return nil
        case .end(let leaf):
            switch leaf.operation {
            case .unset, .pull: return nil
            case .move(let number): return moved[number] == nil ? nil : leaf
            default: return leaf
            }
        }
    }

    /// Appends a new member.
    @inline(never)
    private func create(
        _ child: Update.Child, isInArray: Bool, _ output: inout [UInt8]
    ) throws(HoldfastError) {
        var name = JSONWriter()
        name.member(utf8: child.name)
        output.append(contentsOf: name.bytes)
        try create(child.step, isInArray: isInArray, &output)
    }

    /// Appends the value of what has a creator.
    @inline(never)
    private func create(_ step: Update.Step, isInArray: Bool, _ output: inout [UInt8]) throws(HoldfastError) {
        switch step {
        case .end(let leaf): try create(leaf, isInArray: isInArray, &output)
        case .through(let node):
            output.append(UInt8(ascii: "{"))
            var isFirst = true
            for child in node.additions.lazy.map({ node.children[$0] }) where creator(in: child.step) != nil {
                if !isFirst { output.append(UInt8(ascii: ",")) }
                isFirst = false
                try create(child, isInArray: isInArray, &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }
}
