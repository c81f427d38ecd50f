extension Filter {
    /// Whether the filter holds for a stored entity. Its bytes were checked when they came in; where
    /// they turn out damaged, the error is `corrupt`.
    ///
    /// Time is bounded by conditions × parts of a path × bytes of the document: however a path's parts
    /// may spread over nested arrays, each value is visited once, with all the parts that lead to it.
    public func matches(_ document: UnsafeRawBufferPointer) throws(HoldfastError) -> Bool {
        if conditions.isEmpty { return true }
        let walker = JSONWalker(document)
        do throws(CorruptJSON) {
            let root = try walker.skipWhiteSpace(0)
            for condition in conditions {
                let matcher = ConditionMatcher(walker: walker, condition: condition)
                if try !matcher.object(at: root, active: 1) { return false }
            }
            return true
        } catch { throw HoldfastError(error) }
    }
}

/// Follows one path through a document, answering whether any value that it leads to is equal to the
/// operand.
///
/// An array can be entered in two ways, by an index and by its elements' members, so that several
/// positions of the path may be open at one value. They travel together as the bits of a word, `active`:
/// bit i says that part i is the next one. Following each alone would take exponential time on
/// documents made for it. Recursion goes no deeper than the path is long.
private struct ConditionMatcher {
    let walker: JSONWalker
    let condition: Filter.Condition

    /// The bit that stands for the path's last part.
    private var last: UInt64 { 1 << UInt64(condition.path.parts.count - 1) }

    func object(at position: Int, active: UInt64) throws(CorruptJSON) -> Bool {
        var remaining = active
        while remaining != 0 {
            let part = condition.path.parts[remaining.trailingZeroBitCount]
            let reached = remaining & part.sameName
            remaining &= ~reached

            let found = try part.name.withUnsafeBufferPointer { name throws(CorruptJSON) in
                try walker.value(of: UnsafeRawBufferPointer(name), in: position)
            }
            guard let found else {
                if condition.operand == .null { return true }
                continue
            }
            if reached & last != 0, try isEqualOrHoldsEqual(at: found) { return true }
            let next = (reached & ~last) << 1
            if next == 0 { continue }
            switch try walker.kind(at: found) {
            case .object: if try object(at: found, active: next) { return true }
            case .array: if try array(at: found, active: next) { return true }
            default: if condition.operand == .null { return true }
            }
        }
        return false
    }

    private func array(at position: Int, active: UInt64) throws(CorruptJSON) -> Bool {
        var elements = try walker.elements(of: position)
        var index = 0
        while let element = try elements.next() {
            let picked = bits(in: active, picking: index)
            index += 1
            if picked & last != 0, try walker.equals(element, condition.operand) { return true }
            let next = (picked & ~last) << 1
            switch try walker.kind(at: element) {
            case .object: if try object(at: element, active: active | next) { return true }
            case .array: if next != 0, try array(at: element, active: next) { return true }
            default: break
            }
        }
        return false
    }

    /// Those of the active parts that pick the element of this index.
    private func bits(in active: UInt64, picking index: Int) -> UInt64 {
        var candidates = active & condition.path.indexes
        var picked: UInt64 = 0
        while candidates != 0 {
            let position = candidates.trailingZeroBitCount
            candidates &= candidates - 1
            if condition.path.parts[position].index == index { picked |= 1 << UInt64(position) }
        }
        return picked
    }

    private func isEqualOrHoldsEqual(at position: Int) throws(CorruptJSON) -> Bool {
        if try walker.equals(position, condition.operand) { return true }
        guard try walker.kind(at: position) == .array else { return false }
        var elements = try walker.elements(of: position)
        while let element = try elements.next() {
            if try walker.equals(element, condition.operand) { return true }
        }
        return false
    }
}

extension JSONWalker {
    /// Whether the value at `position` equals a literal, as queries understand it. Recurses no deeper
    /// than the literal.
    func equals(_ position: Int, _ literal: JSONValue) throws(CorruptJSON) -> Bool {
        switch (try kind(at: position), literal) {
        case (.null, .null): return true
        case (.boolean, .bool(let flag)): return boolean(at: position) == flag
        case (.number, .integer(let integer)): return try number(at: position) == .integer(integer)
        case (.number, .real(let real)): return try number(at: position) == .real(real)
        case (.string, .string(let bytes)): return try equals(text(at: position), bytes)
        case (.array, .array(let literals)):
            var elements = try elements(of: position)
            for literal in literals {
                guard let element = try elements.next(), try equals(element, literal) else { return false }
            }
            return try elements.next() == nil
        case (.object, .object(let literals)):
            var members = try members(of: position)
            for literal in literals {
                guard let member = try members.next(), try equals(member.name, literal.name),
                    try equals(member.value, literal.value)
                else { return false }
            }
            return try members.next() == nil
        default: return false
        }
    }

    private func equals(_ text: JSONText, _ literal: [UInt8]) throws(CorruptJSON) -> Bool {
        try literal.withUnsafeBufferPointer { bytes throws(CorruptJSON) in
            try equals(text, UnsafeRawBufferPointer(bytes))
        }
    }
}
