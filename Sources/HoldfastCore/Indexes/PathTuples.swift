internal import HoldfastEnvironment
internal import HoldfastQuery

/// What several paths lead to together, as the bytes that order it: tuples with a value for each path. They are the
/// entries of indexes, and the least of them is what a document is sorted by.
///
/// As in MongoDB, paths that come to the same array go on through the same element of it:
///
///     {"a": [{"b": 1, "c": 2}, {"b": 3, "c": 4}]}    has, for a.b and a.c, (1, 2) and (3, 4)
///
/// An element that has no members leads nowhere, as one without this member does; an array at the end of a path stands
/// for its elements, and an empty one comes before null. A number in a path picks the element with this index, where the
/// array has one; what else a condition would look at there (see PathWalk.swift) counts, too. Of paths through several
/// arrays, which MongoDB refuses, there is every combination.
struct PathTuples {
    /// How many tuples there may be, and of how many bytes.
    struct Limit {
        let count: Int
        let bytes: Int
    }

    /// The code of each field, in the fields' directions; none where the field belongs to another part of the document.
    private struct Tuple {
        var codes: [[UInt8]]

        var byteCount: Int { codes.reduce(0) { $0 + $1.count } }

        var bytes: [UInt8] {
            if codes.count == 1 { return codes[0] }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(byteCount)
            for code in codes { bytes += code }
            return bytes
        }

        /// No code is the beginning of another, so that the fields can be compared one by one.
        func precedes(_ other: Tuple) -> Bool {
            for (code, other) in zip(codes, other.codes) where code != other {
                return code.lexicographicallyPrecedes(other)
            }
            return false
        }

        /// With the codes of another part of the document.
        func joined(with other: Tuple) -> Tuple {
            var joined = self
            for index in codes.indices where codes[index].isEmpty { joined.codes[index] = other.codes[index] }
            return joined
        }
    }

    /// A field, and which part of its path comes next.
    private struct Open {
        let field: Int
        let part: Int
    }

    private enum End {
        case missing
        case value(Int)
        /// With the part that comes next.
        case array(Int, Int)
    }

    private let walker: JSONWalker
    private let fields: [SortOrder.Field]
    /// Nil where only the least is wanted.
    private var limit: Limit?
    /// Whether there was an array on a path, or at its end.
    private(set) var hasArrays = false

    init(of document: UnsafeRawBufferPointer, _ fields: [SortOrder.Field]) {
        walker = JSONWalker(document)
        self.fields = fields
    }

    /// The bytes of all of them, in no order, perhaps some twice; nil beyond the limit.
    mutating func all(_ limit: Limit) throws(CorruptJSON) -> [[UInt8]]? {
        self.limit = limit
        let root = try walker.skipWhiteSpace(0)
        var key = OrderedKey()
        if try append(plain: root, to: &key) { return key.bytes.count <= limit.bytes ? [key.bytes] : nil }
        return try tuples(of: allOpen, in: root)?.map(\.bytes)
    }

    /// Appends the least.
    mutating func appendLeast(to key: inout OrderedKey) throws(CorruptJSON) {
        let root = try walker.skipWhiteSpace(0)
        if try append(plain: root, to: &key) { return }
        guard let least = try tuples(of: allOpen, in: root)?.first else { return }
        for code in least.codes { key.bytes += code }
    }

    private var allOpen: [Open] { fields.indices.map { Open(field: $0, part: 0) } }

    /// The one tuple of a document without arrays on the paths; answers false, having appended nothing, where there are.
    private func append(plain root: Int, to key: inout OrderedKey) throws(CorruptJSON) -> Bool {
        let start = key.bytes.count
        for (number, field) in fields.enumerated() {
            switch try end(of: Open(field: number, part: 0), in: root) {
            case .missing: key.appendMissing(descending: field.descending)
            case .value(let position): try key.append(valueAt: position, in: walker, descending: field.descending)
            case .array:
                key.bytes.removeSubrange(start...)
                return false
            }
        }
        return true
    }

    /// Where a path ends in an object, or which array it comes to first.
    private func end(of open: Open, in object: Int) throws(CorruptJSON) -> End {
        let parts = fields[open.field].path.parts
        var position = object
        for number in open.part..<parts.count {
            guard try walker.kind(at: position) == .object else { return .missing }
            let found = try parts[number].name.withBytes { name throws(CorruptJSON) in
                try walker.value(of: name, in: position)
            }
            guard let found else { return .missing }
            if try walker.kind(at: found) == .array { return .array(found, number + 1) }
            position = found
        }
        return .value(position)
    }

    // MARK: Through arrays

    /// Of an object; of nil, which stands for what has no members, all fields lead nowhere. Recurses no deeper than paths
    /// are long.
    private mutating func tuples(of open: [Open], in object: Int?) throws(CorruptJSON) -> [Tuple]? {
        var own = Tuple(codes: Array(repeating: [], count: fields.count))
        var arrays: [(position: Int, open: [Open])] = []
        for field in open {
            switch try object.map({ object throws(CorruptJSON) in try end(of: field, in: object) }) ?? .missing {
            case .missing: own.codes[field.field] = missing(field.field)
            case .value(let position): own.codes[field.field] = try code(of: position, field.field)
            case .array(let position, let part):
                let reached = Open(field: field.field, part: part)
                if let known = arrays.firstIndex(where: { $0.position == position }) {
                    arrays[known].open.append(reached)
                } else {
                    arrays.append((position, [reached]))
                }
            }
        }
        var all = [own]
        for array in arrays {
            guard let others = try tuples(of: array.open, through: array.position),
                let joined = product(all, others)
            else { return nil }
            all = joined
        }
        return all
    }

    private mutating func tuples(of open: [Open], through array: Int) throws(CorruptJSON) -> [Tuple]? {
        hasArrays = true
        var together: [Open] = []
        var picked: [[Tuple]] = []
        for field in open {
            if try picksElement(field, of: array) {
                picked.append(try self.picked(by: field, from: array))
            } else {
                together.append(field)
            }
        }
        guard var all = try together.isEmpty ? [none] : elements(of: array, for: together) else { return nil }
        for other in picked {
            guard let joined = product(all, other) else { return nil }
            all = joined
        }
        return all
    }

    private var none: Tuple { Tuple(codes: Array(repeating: [], count: fields.count)) }

    /// Those of each element.
    private mutating func elements(of array: Int, for open: [Open]) throws(CorruptJSON) -> [Tuple]? {
        let ended = open.filter { $0.part == fields[$0.field].path.parts.count }
        let others = open.filter { $0.part < fields[$0.field].path.parts.count }
        var all = Collected(limit)
        var elements = try walker.elements(of: array)
        while let element = try elements.next() {
            var own = none
            for field in ended { own.codes[field.field] = try code(of: element, field.field) }
            if others.isEmpty {
                all.add(own)
            } else {
                let object = try walker.kind(at: element) == .object ? element : nil
                guard let tuples = try tuples(of: others, in: object) else { return nil }
                for tuple in tuples { all.add(own.joined(with: tuple)) }
            }
            if all.isTooMuch { return nil }
        }
        if all.tuples.isEmpty {
            var own = none
            for field in ended { own.codes[field.field] = emptyArray(field.field) }
            for field in others { own.codes[field.field] = missing(field.field) }
            all.add(own)
        }
        return all.tuples
    }

    /// Whether the next part of the path is the index of an element that the array has.
    private func picksElement(_ open: Open, of array: Int) throws(CorruptJSON) -> Bool {
        let parts = fields[open.field].path.parts
        guard open.part < parts.count, let index = parts[open.part].index else { return false }
        var elements = try walker.elements(of: array)
        for _ in 0...index { if try elements.next() == nil { return false } }
        return true
    }

    /// Those of a field that picks an element, which are the same whichever element the other fields go through.
    private func picked(by open: Open, from array: Int) throws(CorruptJSON) -> [Tuple] {
        let number = open.field
        var all = Collected(limit)
        func add(_ code: [UInt8]) {
            var own = none
            own.codes[number] = code
            all.add(own)
        }
        _ = try PathWalk(walker, fields[number].path).visit(array: array, part: open.part) { leaf throws(CorruptJSON) in
            switch leaf {
            case .unnamed: break
            case .missing, .blocked: add(missing(number))
            // An element that was picked counts for itself, also if it is an array.
            case .element(let position): add(try code(of: position, number))
            case .member(let position):
                guard try walker.kind(at: position) == .array else {
                    add(try code(of: position, number))
                    break
                }
                var elements = try walker.elements(of: position)
                var isEmpty = true
                while let element = try elements.next() {
                    isEmpty = false
                    add(try code(of: element, number))
                }
                if isEmpty { add(emptyArray(number)) }
            }
            return all.isTooMuch
        }
        if all.tuples.isEmpty { add(missing(number)) }
        return all.tuples
    }

    /// Nil where there would be too many.
    private func product(_ left: [Tuple], _ right: [Tuple]) -> [Tuple]? {
        if let limit {
            let leftBytes = left.reduce(0) { $0 + $1.byteCount }
            let rightBytes = right.reduce(0) { $0 + $1.byteCount }
            // Before they are made.
            guard left.count * right.count <= limit.count,
                leftBytes * right.count + rightBytes * left.count <= limit.bytes
            else { return nil }
        }
        return left.flatMap { left in right.map { left.joined(with: $0) } }
    }

    // MARK: Codes

    private func code(of position: Int, _ field: Int) throws(CorruptJSON) -> [UInt8] {
        var key = OrderedKey()
        try key.append(valueAt: position, in: walker, descending: fields[field].descending)
        return key.bytes
    }

    private func missing(_ field: Int) -> [UInt8] {
        var key = OrderedKey()
        key.appendMissing(descending: fields[field].descending)
        return key.bytes
    }

    private func emptyArray(_ field: Int) -> [UInt8] {
        var key = OrderedKey()
        key.appendEmptyArray(descending: fields[field].descending)
        return key.bytes
    }

    /// All of them up to what is too much, or the least.
    private struct Collected {
        private let limit: Limit?
        private(set) var tuples: [Tuple] = []
        private var bytes = 0

        init(_ limit: Limit?) { self.limit = limit }

        var isTooMuch: Bool { limit.map { tuples.count > $0.count || bytes > $0.bytes } ?? false }

        mutating func add(_ tuple: Tuple) {
            if limit != nil {
                // Enough to know that it is too much.
                if isTooMuch { return }
                bytes += tuple.byteCount
                tuples.append(tuple)
            } else if tuples.isEmpty {
                tuples = [tuple]
            } else if tuple.precedes(tuples[0]) {
                tuples[0] = tuple
            }
        }
    }
}
