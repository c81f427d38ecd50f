/// The bytes at hand are not the JSON that was validated when it came in. Small, so that throwing
/// costs the hot path nothing; whoever knows the entity turns it into `Status.corrupt`.
public struct CorruptJSON: Error, Sendable, Equatable {
    /// Where reading stopped, in bytes from the text's beginning.
    public let position: Int
}

/// The type of a JSON value.
public enum JSONKind: Sendable { case null, boolean, number, string, array, object }

/// Where a string or a member's name lies in a JSON text, without its quotes.
public struct JSONText: Sendable {
    public let start: Int
    public let end: Int
    /// False means that the bytes are the string.
    public let hasEscapes: Bool
}

/// Walks validated JSON text in place: no tree, no copies, no recursion.
///
/// Values are named by the position of their first byte. The walker trusts its text to be JSON only
/// for the meaning of what it reads, never for memory safety: every read is bounded, so damaged bytes
/// yield `CorruptJSON` or a wrong value, and nothing worse.
///
/// It borrows the bytes and must not outlive them; hence it is not Sendable.
public struct JSONWalker {
    package let base: UnsafeRawPointer
    package let end: Int

    public init(_ bytes: UnsafeRawBufferPointer) {
        // An empty buffer may have no address; nothing is read from the one that stands in for it.
        base = bytes.baseAddress ?? UnsafeRawPointer(("" as StaticString).utf8Start)
        end = bytes.count
    }

    // MARK: Bytes

    @inline(__always)
    package func byte(_ position: Int) -> UInt8 { base.load(fromByteOffset: position, as: UInt8.self) }

    /// The bytes of a range that lies within the text.
    public func bytes(_ start: Int, _ end: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + start, count: end &- start)
    }

    /// The first position at or after `position` that is no white space, and is within the text.
    @inline(__always)
    public func skipWhiteSpace(_ position: Int) throws(CorruptJSON) -> Int {
        var position = position
        while position < end {
            if byte(position) > UInt8(ascii: " ") { return position }
            position &+= 1
        }
        throw CorruptJSON(position: position)
    }

    // MARK: Values

    /// The type of the value that begins at `position`.
    public func kind(at position: Int) throws(CorruptJSON) -> JSONKind {
        guard position < end else { throw CorruptJSON(position: position) }
        switch byte(position) {
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        default: throw CorruptJSON(position: position)
        }
    }

    /// The boolean at `position`, whose kind is known.
    public func boolean(at position: Int) -> Bool { byte(position) == UInt8(ascii: "t") }

    /// The string whose opening quote is at `position`.
    @inline(__always)
    public func text(at position: Int) throws(CorruptJSON) -> JSONText {
        guard position < end, byte(position) == UInt8(ascii: "\"") else { throw CorruptJSON(position: position) }
        let start = position &+ 1
        var position = start
        var hasEscapes = false
        while true {
            position = try nextQuoteOrBackslash(position)
            if byte(position) == UInt8(ascii: "\"") {
                return JSONText(start: start, end: position, hasEscapes: hasEscapes)
            }
            hasEscapes = true
            position &+= 2  // the hexadecimal digits of \uXXXX need no care: they are neither
        }
    }

    /// Sixteen bytes at a time: comparing sets all bits of a byte where the text has one that is sought,
    /// and the lowest set bit of the two words tells the first of them.
    @inline(__always)
    private func nextQuoteOrBackslash(_ start: Int) throws(CorruptJSON) -> Int {
        let quote = SIMD16<UInt8>(repeating: UInt8(ascii: "\""))
        let backslash = SIMD16<UInt8>(repeating: UInt8(ascii: "\\"))
        var position = start
        while position &+ 16 <= end {
            let block = base.loadUnaligned(fromByteOffset: position, as: SIMD16<UInt8>.self)
            let found = unsafeBitCast((block .== quote) .| (block .== backslash), to: SIMD2<UInt64>.self)
            if found[0] != 0 { return position &+ (found[0].trailingZeroBitCount &>> 3) }
            if found[1] != 0 { return position &+ 8 &+ (found[1].trailingZeroBitCount &>> 3) }
            position &+= 16
        }
        while position < end {
            let byte = byte(position)
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return position }
            position &+= 1
        }
        throw CorruptJSON(position: position)
    }

    /// The position just behind the value that begins at `position`.
    @inline(__always)
    public func endOfValue(at position: Int) throws(CorruptJSON) -> Int {
        guard position < end else { throw CorruptJSON(position: position) }
        switch byte(position) {
        case UInt8(ascii: "\""): return try text(at: position).end &+ 1
        case UInt8(ascii: "{"), UInt8(ascii: "["): return try endOfContainer(at: position)
        default: return try endOfScalar(at: position)
        }
    }

    /// Counts brackets without telling braces from square ones: validated text balances both.
    private func endOfContainer(at start: Int) throws(CorruptJSON) -> Int {
        var position = start
        var depth = 0
        while position < end {
            switch byte(position) {
            case UInt8(ascii: "\""): position = try text(at: position).end
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth &+= 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth &-= 1
                if depth == 0 { return position &+ 1 }
            default: break
            }
            position &+= 1
        }
        throw CorruptJSON(position: position)
    }

    @inline(__always)
    func endOfScalar(at start: Int) throws(CorruptJSON) -> Int {
        var position = start
        while position < end, !Self.endsScalar(byte(position)) { position &+= 1 }
        guard position > start else { throw CorruptJSON(position: position) }
        return position
    }

    @inline(__always)
    static func endsScalar(_ byte: UInt8) -> Bool {
        byte <= UInt8(ascii: " ") || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}")
            || byte == UInt8(ascii: "]")
    }

    // MARK: Members and elements

    /// A member of an object: its name, and where its value begins.
    public struct Member: Sendable {
        public let name: JSONText
        public let value: Int
    }

    /// The members of the object whose brace is at `position`, in the order of the text.
    @inline(__always)
    public func members(of position: Int) throws(CorruptJSON) -> Members {
        guard position < end, byte(position) == UInt8(ascii: "{") else { throw CorruptJSON(position: position) }
        return Members(walker: self, opening: position)
    }

    /// The elements of the array whose bracket is at `position`.
    @inline(__always)
    public func elements(of position: Int) throws(CorruptJSON) -> Elements {
        guard position < end, byte(position) == UInt8(ascii: "[") else { throw CorruptJSON(position: position) }
        return Elements(walker: self, opening: position)
    }

    /// Goes through the members of an object, or the elements of an array, each of which is named by its position.
    public struct Items<Item> {
        package let walker: JSONWalker
        package let opening: Int
        /// Where the last value handed out begins; 0 before the first.
        fileprivate var value = 0
        /// The position of the closing brace or bracket, once the items are finished.
        public var closing: Int { value }

        package init(walker: JSONWalker, opening: Int) {
            self.walker = walker
            self.opening = opening
        }
    }

    public typealias Members = Items<Member>
    public typealias Elements = Items<Int>

    /// Where the item after the value at `value` begins, which is 0 before the first item; nil where
    /// the container is closed, with the closing position left in `value`.
    @inline(__always)
    fileprivate func nextItem(
        after value: inout Int, opening: Int, closedBy closing: UInt8
    ) throws(CorruptJSON) -> Int? {
        let isFirst = value == 0
        let position = try skipWhiteSpace(isFirst ? opening &+ 1 : endOfValue(at: value))
        if byte(position) == closing {
            value = position
            return nil
        }
        if isFirst { return position }
        guard byte(position) == UInt8(ascii: ",") else { throw CorruptJSON(position: position) }
        return try skipWhiteSpace(position &+ 1)
    }

    /// Where the value of an object's member begins; nil if there is no such member.
    @inline(__always)
    public func value(of name: UnsafeRawBufferPointer, in object: Int) throws(CorruptJSON) -> Int? {
        var members = try members(of: object)
        while let member = try members.next() {
            if try equals(member.name, name) { return member.value }
        }
        return nil
    }
}

extension JSONWalker.Items<JSONWalker.Member> {
    /// The next member, or nil at the closing brace.
    @inline(__always)
    public mutating func next() throws(CorruptJSON) -> JSONWalker.Member? {
        guard let start = try walker.nextItem(after: &value, opening: opening, closedBy: UInt8(ascii: "}")) else {
            return nil
        }
        let name = try walker.text(at: start)
        let colon = try walker.skipWhiteSpace(name.end &+ 1)
        guard walker.byte(colon) == UInt8(ascii: ":") else { throw CorruptJSON(position: colon) }
        value = try walker.skipWhiteSpace(colon &+ 1)
        return JSONWalker.Member(name: name, value: value)
    }
}

extension JSONWalker.Items<Int> {
    /// The next element, or nil at the closing bracket.
    @inline(__always)
    public mutating func next() throws(CorruptJSON) -> Int? {
        guard let start = try walker.nextItem(after: &value, opening: opening, closedBy: UInt8(ascii: "]")) else {
            return nil
        }
        value = start
        return start
    }
}
