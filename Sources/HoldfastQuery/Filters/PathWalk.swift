/// Follows a path through a document to the values that it leads to.
///
/// An array can be entered in two ways, by an index and by its elements' members, so that several
/// positions of the path may be open at one value. They travel together as the bits of a word, `active`:
/// bit i says that part i is the next one. Following each alone would take exponential time on
/// documents made for it. Recursion goes no deeper than the path is long.
package struct PathWalk {
    package let walker: JSONWalker
    package let path: Path
    /// The bit that stands for the path's last part.
    private let last: UInt64

    package enum Leaf {
        /// The path ends, or breaks off, where there is no value.
        case missing
        /// An object in an array has no member that is called by the number with which the path may pick an element.
        case unnamed
        /// An element of an array on the way that cannot have members: it ends the path for sorting and indexes alone.
        case blocked
        case member(Int)
        /// Picked by its index.
        case element(Int)
    }

    /// Answers true to stop.
    package typealias Visit = (Leaf) throws(CorruptJSON) -> Bool

    /// The path must have parts.
    package init(_ walker: JSONWalker, _ path: Path) {
        self.walker = walker
        self.path = path
        last = 1 << UInt64(path.parts.count - 1)
    }

    /// Visits what the path leads to from the value at `position`; answers whether a visit stopped it.
    @inline(__always)
    package func visit(from position: Int, _ body: Visit) throws(CorruptJSON) -> Bool {
        if try walker.kind(at: position) == .object { return try object(at: position, active: 1, body) }
        // An array that is an element of an array has its indexes for names.
        guard try walker.kind(at: position) == .array, let index = path.parts[0].index else {
            return try body(.missing)
        }
        var elements = try walker.elements(of: position)
        for _ in 0..<index { if try elements.next() == nil { return try body(.missing) } }
        guard let element = try elements.next() else { return try body(.missing) }
        return try member(at: element, reached: 1, body)
    }

    /// Visits what the path leads to from its part `part` on, from the array at `position`.
    package func visit(array position: Int, part: Int, _ body: Visit) throws(CorruptJSON) -> Bool {
        try array(at: position, active: 1 << UInt64(part), body)
    }

    /// `numbers` are those of the active parts that may as well pick an element of the array that the object is in.
    private func object(
        at position: Int, active: UInt64, numbers: UInt64 = 0, _ body: Visit
    ) throws(CorruptJSON) -> Bool {
        var remaining = active
        while remaining != 0 {
            let part = path.parts[remaining.trailingZeroBitCount]
            let reached = remaining & part.sameName
            remaining &= ~reached
            let found = try part.name.withUnsafeBufferPointer { name throws(CorruptJSON) in
                try walker.value(of: UnsafeRawBufferPointer(name), in: position)
            }
            if let found {
                if try member(at: found, reached: reached, body) { return true }
            } else {
                if try body(reached & ~numbers == 0 ? .unnamed : .missing) { return true }
            }
        }
        return false
    }

    /// A member's value, to which the parts `reached` have led.
    private func member(at position: Int, reached: UInt64, _ body: Visit) throws(CorruptJSON) -> Bool {
        if reached & last != 0, try body(.member(position)) { return true }
        let next = (reached & ~last) << 1
        if next == 0 { return false }
        switch try walker.kind(at: position) {
        case .object: return try object(at: position, active: next, body)
        case .array: return try array(at: position, active: next, body)
        default: return try body(.missing)
        }
    }

    private func array(at position: Int, active: UInt64, _ body: Visit) throws(CorruptJSON) -> Bool {
        var elements = try walker.elements(of: position)
        var index = 0
        while let element = try elements.next() {
            let picked = parts(of: active, picking: index)
            index += 1
            if picked & last != 0, try body(.element(element)) { return true }
            let next = (picked & ~last) << 1
            switch try walker.kind(at: element) {
            case .object:
                let numbers = active & path.indexes & ~next
                if try object(at: element, active: active | next, numbers: numbers, body) { return true }
            case .array where next != 0: if try array(at: element, active: next, body) { return true }
            default: if active & path.indexes == 0, try body(.blocked) { return true }
            }
        }
        return false
    }

    /// Those of the active parts that pick the element of this index.
    private func parts(of active: UInt64, picking index: Int) -> UInt64 {
        var candidates = active & path.indexes
        var picked: UInt64 = 0
        while candidates != 0 {
            let position = candidates.trailingZeroBitCount
            candidates &= candidates - 1
            if path.parts[position].index == index { picked |= 1 << UInt64(position) }
        }
        return picked
    }
}
