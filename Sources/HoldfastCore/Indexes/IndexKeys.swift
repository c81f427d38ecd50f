/// The entries that an entity has in an index: one for each value to which the path leads, an array's elements each
/// for itself; for several fields, one for each combination.
///
/// They are the values that a condition on the path looks at (see Matcher.swift), so that whoever matches a condition
/// for a value that is no array has an entry under it. What leads nowhere has null's.
struct IndexKeys {
    /// Beyond so many entries in one index an entity is refused.
    static let limit = 10_000

    /// In order, each once.
    private(set) var keys: [[UInt8]]
    /// Whether there is an array on a path.
    private(set) var hasArrays = false

    static let none = IndexKeys(keys: [])

    private init(keys: [[UInt8]]) { self.keys = keys }

    /// Nil where there would be too many.
    init?(of document: UnsafeRawBufferPointer, for definition: IndexDefinition) throws(CorruptJSON) {
        let walker = JSONWalker(document)
        let root = try walker.skipWhiteSpace(0)
        var keys: [[UInt8]] = [[]]
        for field in definition.fields {
            var values = PathValues(walker: walker, field: field)
            try values.object(at: root, active: 1)
            hasArrays = hasArrays || values.hasArrays
            if values.codes.isEmpty { values.appendMissing() }
            guard values.codes.count * keys.count <= Self.limit else { return nil }
            if values.codes.count == 1 {
                for index in keys.indices { keys[index] += values.codes[0] }
            } else {
                keys = keys.flatMap { key in values.codes.map { key + $0 } }
            }
        }
        if keys.count > 1 {
            keys.sort { $0.lexicographicallyPrecedes($1) }
            var distinct: [[UInt8]] = []
            for key in keys where key != distinct.last { distinct.append(key) }
            keys = distinct
        }
        self.keys = keys
    }
}

/// Follows one path through a document, as `ConditionMatcher` does, and collects the codes of the values at its end.
private struct PathValues {
    let walker: JSONWalker
    let field: IndexDefinition.Field
    private(set) var codes: [[UInt8]] = []
    private(set) var hasArrays = false

    init(walker: JSONWalker, field: IndexDefinition.Field) {
        self.walker = walker
        self.field = field
    }

    private var last: UInt64 { 1 << UInt64(field.path.parts.count - 1) }

    mutating func appendMissing() {
        var key = OrderedKey()
        key.appendMissing(descending: field.isDescending)
        append(key)
    }

    private mutating func append(_ key: OrderedKey) {
        // Enough to know that it is too many.
        if codes.count <= IndexKeys.limit { codes.append(key.bytes) }
    }

    mutating func object(at position: Int, active: UInt64) throws(CorruptJSON) {
        var remaining = active
        while remaining != 0 {
            let part = field.path.parts[remaining.trailingZeroBitCount]
            let reached = remaining & part.sameName
            remaining &= ~reached

            let found = try part.name.withUnsafeBufferPointer { name throws(CorruptJSON) in
                try walker.value(of: UnsafeRawBufferPointer(name), in: position)
            }
            guard let found else {
                appendMissing()
                continue
            }
            if reached & last != 0 { try end(at: found) }
            let next = (reached & ~last) << 1
            if next == 0 { continue }
            switch try walker.kind(at: found) {
            case .object: try object(at: found, active: next)
            case .array: try array(at: found, active: next)
            default: appendMissing()
            }
        }
    }

    private mutating func array(at position: Int, active: UInt64) throws(CorruptJSON) {
        hasArrays = true
        var elements = try walker.elements(of: position)
        var index = 0
        while let element = try elements.next() {
            let picked = field.path.parts(in: active, picking: index)
            index += 1
            // An element that was picked counts for itself, also if it is an array.
            if picked & last != 0 { try append(valueAt: element) }
            let next = (picked & ~last) << 1
            switch try walker.kind(at: element) {
            case .object: try object(at: element, active: active | next)
            case .array: if next != 0 { try array(at: element, active: next) }
            default: break
            }
        }
    }

    /// A value to which the whole path leads.
    private mutating func end(at position: Int) throws(CorruptJSON) {
        guard try walker.kind(at: position) == .array else { return try append(valueAt: position) }
        hasArrays = true
        var elements = try walker.elements(of: position)
        var isEmpty = true
        while let element = try elements.next() {
            isEmpty = false
            try append(valueAt: element)
        }
        if isEmpty {
            var key = OrderedKey()
            key.appendEmptyArray(descending: field.isDescending)
            append(key)
        }
    }

    private mutating func append(valueAt position: Int) throws(CorruptJSON) {
        var key = OrderedKey()
        try key.append(valueAt: position, in: walker, descending: field.isDescending)
        append(key)
    }
}
