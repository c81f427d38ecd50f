internal import HoldfastEnvironment
internal import HoldfastQuery
internal import HoldfastStorage

/// Collects the distinct values that a path leads to: of equal ones that of the entity with the least id, and in it the
/// first, in whatever order the entities come.
struct DistinctValues {
    private let path: Path
    private var values: [OrderedKey: Value] = [:]
    /// About so much memory they take.
    private(set) var bytes = 0
    private static let valueBytes = MemoryLayout<OrderedKey>.stride + MemoryLayout<Value>.stride + 96

    /// The id of its entity and its text, one behind the other: of many values each takes one piece of memory.
    private struct Value {
        let bytes: [UInt8]
        let textStart: Int

        /// Whether it is of this entity, or of one whose id is less.
        func precedes(_ id: UnsafeRawBufferPointer) -> Bool {
            bytes.withBytes { compareBytes(UnsafeRawBufferPointer(rebasing: $0[..<textStart]), id) <= 0 }
        }
    }

    var count: Int { values.count }

    init(of path: Path) { self.path = path }

    mutating func collect(from entity: EntityView) throws(HoldfastError) {
        try values.askToGrow()
        try Memory.ask(for: 2 * entity.body.count)
        let walker = JSONWalker(entity.body)
        do throws(CorruptJSON) {
            _ = try walker.visitValues(of: path) { position throws(CorruptJSON) in
                var key = OrderedKey()
                try key.append(valueAt: position, in: walker)
                // Also of this entity itself.
                if let known = values[key], known.precedes(entity.id) { return false }
                let text = walker.bytes(position, try walker.endOfValue(at: position))
                var bytes: [UInt8] = []
                bytes.reserveCapacity(entity.id.count + text.count)
                bytes += entity.id
                bytes += text
                let size = bytes.count
                let old = values.updateValue(Value(bytes: bytes, textStart: entity.id.count), forKey: key)
                self.bytes += size - (old?.bytes.count ?? -(key.bytes.count + Self.valueBytes))
                return false
            }
        } catch { throw HoldfastError(error) }
    }

    /// As a JSON array, in their order.
    func json() throws(HoldfastError) -> [UInt8] {
        try Memory.ask(for: values.reduce(0) { $0 + 2 * $1.value.bytes.count + 128 })
        var json: [UInt8] = [UInt8(ascii: "[")]
        var sorted = Array(values)
        try Interrupt.sort(&sorted) { $0.key < $1.key }
        var pace = Interrupt.Pace()
        for (index, entry) in sorted.enumerated() {
            try pace.look(entry.value.bytes.count)
            if index > 0 { json.append(UInt8(ascii: ",")) }
            json += entry.value.bytes[entry.value.textStart...]
        }
        json.append(UInt8(ascii: "]"))
        return json
    }
}

extension JSONWalker {
    /// Visits the values that a path leads to in a document, of an array its elements, until `visit` answers true; answers
    /// whether it did.
    func visitValues(of path: Path, _ visit: (Int) throws(CorruptJSON) -> Bool) throws(CorruptJSON) -> Bool {
        try PathWalk(self, path).visit(from: skipWhiteSpace(0)) { leaf throws(CorruptJSON) in
            switch leaf {
            case .missing, .unnamed, .blocked: return false
            case .member(let position), .element(let position):
                guard try kind(at: position) == .array else { return try visit(position) }
                var elements = try elements(of: position)
                while let element = try elements.next() { if try visit(element) { return true } }
                return false
            }
        }
    }
}
