internal import HoldfastQuery

/// The entries of an index that was built before its definition said of which kind they are (see
/// `IndexDefinition.isOutdated`). They lack null's for the elements of an array that have no members, where others have
/// some; and combine each value of one path with each of another, also where both come from one array. Such an index is
/// kept as it was begun until it is dropped: mixed entries would lead to entities that are gone.
struct OutdatedTuples {
    /// In no order; nil where there would be too many.
    private(set) var keys: [[UInt8]]?

    init(of document: UnsafeRawBufferPointer, _ fields: [SortOrder.Field]) throws(CorruptJSON) {
        let walker = JSONWalker(document)
        let root = try walker.skipWhiteSpace(0)
        var keys: [[UInt8]] = [[]]
        for field in fields {
            let values = try PathValues(of: root, in: walker, field)
            // Before the combinations are made.
            let count = values.codes.count * keys.count
            let bytes = keys.reduce(0) { $0 + $1.count } * values.codes.count + values.bytes * keys.count
            guard count <= IndexKeys.limit, bytes <= IndexKeys.byteLimit else { return }
            keys = keys.flatMap { key in values.codes.map { key + $0 } }
        }
        self.keys = keys
    }
}

/// The codes of the values that one path leads to.
private struct PathValues {
    private var walker: JSONWalker
    private var field: SortOrder.Field
    private(set) var codes: [[UInt8]] = []
    private(set) var bytes = 0

    init(of document: Int, in walker: JSONWalker, _ field: SortOrder.Field) throws(CorruptJSON) {
        self.walker = walker
        self.field = field
        // A closure cannot capture an inout self across a throwing call, so the walk works on a copy.
        var values = self
        _ = try PathWalk(walker, field.path).visit(from: document) { leaf throws(CorruptJSON) in
            switch leaf {
            case .blocked: return false
            case .missing, .unnamed: values.appendMissing()
            case .member(let position): try values.append(member: position)
            // An element that was picked counts for itself, also if it is an array.
            case .element(let position): try values.append(valueAt: position)
            }
            return false
        }
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
