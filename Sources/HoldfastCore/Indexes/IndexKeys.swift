/// The entries that an entity has in an index: one for each value to which the path leads, an array's elements each
/// for itself; for several fields, one for each combination.
///
/// They are the values that a condition on the path looks at (see PathWalk.swift), so that whoever matches a condition
/// for a value that is no array has an entry under it. What leads nowhere has null's.
struct IndexKeys {
    /// Beyond so many entries in one index, or so many bytes of keys, an entity is refused: the combinations of several
    /// fields are many more than its text has bytes.
    static let limit = 10_000
    static let byteLimit = 1 << 20

    /// In order, each once.
    private(set) var keys: [[UInt8]]
    /// Whether a path leads to other than one value, or to an array.
    private(set) var hasArrays = false

    static let none = IndexKeys(keys: [])

    private init(keys: [[UInt8]]) { self.keys = keys }

    var byteCount: Int { keys.reduce(0) { $0 + $1.count } }

    /// Nil where there would be too many.
    init?(of document: UnsafeRawBufferPointer, for definition: IndexDefinition) throws(CorruptJSON) {
        let walker = JSONWalker(document)
        let root = try walker.skipWhiteSpace(0)
        var keys: [[UInt8]] = [[]]
        for field in definition.fields {
            let values = try PathValues(of: root, in: walker, field)
            hasArrays = hasArrays || values.hasArrays
            // Before the combinations are made.
            let count = values.codes.count * keys.count
            let bytes = keys.reduce(0) { $0 + $1.count } * values.codes.count + values.bytes * keys.count
            guard count <= Self.limit, bytes <= Self.byteLimit else { return nil }
            if keys[0].isEmpty {
                keys = values.codes
            } else if values.codes.count == 1 {
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

extension Index {
    /// The entries of an entity, or why it can have none.
    func keys(
        of document: UnsafeRawBufferPointer, _ id: @autoclosure () -> EntityID, in repository: String
    ) throws(HoldfastError) -> IndexKeys {
        let keys: IndexKeys?
        do throws(CorruptJSON) { keys = try IndexKeys(of: document, for: definition) } catch {
            throw HoldfastError(error)
        }
        if let keys { return keys }
        let id = id()
        throw HoldfastError(
            .invalidEntity,
            "\(repository) \"\(id.text)\" would have more than \(IndexKeys.limit) entries, or \(IndexKeys.byteLimit) bytes "
                + "of keys, in the index \"\(record.name)\": shorten its arrays or texts, or drop the index",
            detail: [("index", .text(record.name)), ("id", .text(id.text))])
    }
}

/// The codes of the values that one path leads to.
private struct PathValues {
    private var walker: JSONWalker
    private var field: SortOrder.Field
    private(set) var codes: [[UInt8]] = []
    private(set) var bytes = 0
    /// Whether there is other than one value, or one that is an array.
    private(set) var hasArrays = false

    init(of document: Int, in walker: JSONWalker, _ field: SortOrder.Field) throws(CorruptJSON) {
        self.walker = walker
        self.field = field
        // A closure cannot capture an inout self across a throwing call, so the walk works on a copy.
        var values = self
        var count = 0
        _ = try PathWalk(walker, field.path).visit(from: document) { leaf throws(CorruptJSON) in
            switch leaf {
            case .blocked: return false
            case .missing: values.appendMissing()
            case .member(let position): try values.append(member: position)
            case .element(let position):
                if try walker.kind(at: position) == .array { values.hasArrays = true }
                // An element that was picked counts for itself, also if it is an array.
                try values.append(valueAt: position)
            }
            count += 1
            return false
        }
        values.hasArrays = values.hasArrays || count != 1
        if values.codes.isEmpty { values.appendMissing() }
        self = values
    }

    private mutating func appendMissing() {
        var key = OrderedKey()
        key.appendMissing(descending: field.descending)
        append(key)
    }

    private mutating func append(member position: Int) throws(CorruptJSON) {
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
            key.appendEmptyArray(descending: field.descending)
            append(key)
        }
    }

    private mutating func append(valueAt position: Int) throws(CorruptJSON) {
        var key = OrderedKey()
        try key.append(valueAt: position, in: walker, descending: field.descending)
        append(key)
    }

    private mutating func append(_ key: OrderedKey) {
        // Enough to know that it is too many.
        guard codes.count <= IndexKeys.limit, bytes <= IndexKeys.byteLimit else { return }
        codes.append(key.bytes)
        bytes += key.bytes.count
    }
}
