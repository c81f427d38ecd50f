internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// Reads an object of which some members are wanted as text, just as they were written. As strict as `OptionReader`,
/// which it asks for the others. Borrows the text.
struct PayloadReader {
    /// For members that are texts, numbers or booleans.
    var options: OptionReader
    private var texts: [(name: [UInt8], text: UnsafeRawBufferPointer)] = []
    private let what: String

    /// `text` was checked to be JSON. `what` names it in messages, without an article.
    init(_ text: UnsafeRawBufferPointer, what: String) throws(HoldfastError) {
        self.what = what
        let walker = ItemWalker(text)
        let start = try walker.start()
        guard try walker.kind(at: start) == .object else {
            throw HoldfastError(.invalidOption, "the \(what) must be a JSON object")
        }
        var texts: [(name: [UInt8], text: UnsafeRawBufferPointer)] = []
        var members: [JSONValue.Member] = []
        _ = try walker.members(of: start) { name, value, end throws(HoldfastError) in
            let name = try walker.decode(name)
            let text = walker.walker.bytes(value, end)
            texts.append((name, text))
            // What containers hold is read by whoever wants it.
            let tree: JSONValue =
                switch try walker.kind(at: value) {
                case .object: .object([])
                case .array: .array([])
                default: try JSONValue.parse(text, what: what)
                }
            members.append(JSONValue.Member(name: name, value: tree))
        }
        self.texts = texts
        options = OptionReader(members: members, what: what)
    }

    /// The text of a member's value; nil where there is none.
    mutating func text(_ name: String) -> UnsafeRawBufferPointer? {
        _ = options.value(name)
        return texts.first { $0.name.elementsEqual(name.utf8) }?.text
    }

    /// The same, of a member that must be there.
    mutating func required(_ name: String) throws(HoldfastError) -> UnsafeRawBufferPointer {
        if let text = text(name) { return text }
        throw HoldfastError(.invalidOption, "the \(what) has no \"\(name)\"", detail: [("option", .text(name))])
    }

    /// The text of a member that must be an object; nil where there is none.
    mutating func object(_ name: String) throws(HoldfastError) -> UnsafeRawBufferPointer? {
        _ = try options.options(name, what: what)
        return text(name)
    }

    /// The members of a member that must be an object; none where there is none.
    mutating func members(
        _ name: String, _ body: (EntityID, UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        guard let text = try object(name) else { return }
        let walker = ItemWalker(text)
        _ = try walker.members(of: walker.start()) { name, value, end throws(HoldfastError) in
            let id = try walker.decode(name).withBytes { name throws(HoldfastError) in try EntityID(checking: name) }
            try body(id, walker.walker.bytes(value, end))
        }
    }

    /// The elements of a member that must be an array; none where there is none.
    mutating func elements(
        _ name: String, _ body: (UnsafeRawBufferPointer) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        guard let text = text(name) else { return }
        let walker = ItemWalker(text)
        let start = try walker.start()
        guard try walker.kind(at: start) == .array else {
            throw HoldfastError(
                .invalidOption, "\"\(name)\" in the \(what) must be an array", detail: [("option", .text(name))])
        }
        _ = try walker.elements(of: start) { element, end throws(HoldfastError) in
            try body(walker.walker.bytes(element, end))
        }
    }

    /// A text or an integer that names something, as ids of entities do.
    mutating func id(_ name: String) throws(HoldfastError) -> EntityID? {
        switch options.value(name) {
        case nil: return nil
        case .string(let bytes)?:
            return try bytes.withBytes { bytes throws(HoldfastError) in try EntityID(checking: bytes) }
        case .integer(let number)?: return EntityID(unchecked: Array(String(number).utf8))
        case let other?:
            throw HoldfastError(
                .invalidID, "\"\(name)\" in the \(what) must be a text or an integer, not \(other.typeInWords)")
        }
    }

    /// A position, a number of commits, a version.
    mutating func count(_ name: String) throws(HoldfastError) -> Int? {
        try options.integer(name, in: 0...Int64.max).map { Int($0) }
    }

    func finish() throws(HoldfastError) { try options.finish() }
}
