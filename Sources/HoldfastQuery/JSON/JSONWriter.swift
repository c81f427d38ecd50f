/// Writes JSON text: receipts, error details, descriptions. Commas are its own business.
///
///     JSONWriter.object { writer in
///         writer.member("sequence", 7)
///         writer.member("changed", each: ["s1"]) { writer, id in writer.string(id) }
///     }                                           // {"sequence":7,"changed":["s1"]}
public struct JSONWriter: Sendable {
    /// What has been written so far.
    public private(set) var bytes: [UInt8] = []
    /// Whether a value stands right before, so that the next one at its level needs a comma.
    private var needsComma = false

    public init(reservingCapacity capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    // MARK: Structure

    public mutating func beginObject() { begin(UInt8(ascii: "{")) }
    public mutating func endObject() { end(UInt8(ascii: "}")) }
    public mutating func beginArray() { begin(UInt8(ascii: "[")) }
    public mutating func endArray() { end(UInt8(ascii: "]")) }

    /// The name of the next value.
    public mutating func member(_ name: String) {
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// The name of the next value, in UTF-8.
    public mutating func member(utf8 name: [UInt8]) {
        string(utf8: name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func begin(_ bracket: UInt8) {
        beginValue()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func end(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func beginValue() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    // MARK: Values

    public mutating func null() { raw("null") }

    public mutating func boolean(_ value: Bool) { raw(value ? "true" : "false") }

    public mutating func integer(_ value: Int64) {
        beginValue()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        appendDigits(value.magnitude)
    }

    public mutating func unsigned(_ value: UInt64) {
        beginValue()
        appendDigits(value)
    }

    /// The shortest text that reads back as the same double. What JSON cannot say is written as null.
    public mutating func real(_ value: Double) {
        guard value.isFinite else { return null() }
        beginValue()
        bytes.append(contentsOf: value.description.utf8)
    }

    public mutating func string(_ value: String) {
        beginValue()
        var value = value
        value.withUTF8 { appendQuoted(UnsafeRawBufferPointer($0)) }
    }

    /// A string given as UTF-8 bytes.
    public mutating func string(utf8 value: [UInt8]) {
        beginValue()
        value.withUnsafeBytes { appendQuoted($0) }
    }

    /// A value that is JSON text already.
    public mutating func raw(_ json: [UInt8]) {
        beginValue()
        bytes.append(contentsOf: json)
    }

    /// A value that is JSON text already, in borrowed memory.
    public mutating func raw(_ json: UnsafeRawBufferPointer) {
        beginValue()
        bytes.append(contentsOf: json)
    }

    /// A value that is JSON text already, written in the source.
    public mutating func raw(_ json: StaticString) {
        raw(UnsafeRawBufferPointer(start: json.utf8Start, count: json.utf8CodeUnitCount))
    }

    /// Any piece of JSON text, written in the source with all its signs. What follows brings its own comma, if it needs
    /// one: this is for texts whose form is known beforehand.
    public mutating func verbatim(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        needsComma = false
    }

    /// The same for a piece that was written before.
    public mutating func verbatim(_ text: [UInt8]) {
        bytes.append(contentsOf: text)
        needsComma = false
    }

    /// A tree, in compact form.
    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let value): boolean(value)
        case .integer(let value): integer(value)
        case .real(let value): real(value)
        case .string(let value): string(utf8: value)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let members):
            beginObject()
            for item in members {
                member(utf8: item.name)
                self.value(item.value)
            }
            endObject()
        }
    }

    // MARK: Objects and lists with what is in them

    /// The text of an object whose members `body` writes.
    public static func object<Failure: Error>(
        _ body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) -> [UInt8] {
        var writer = JSONWriter()
        try writer.object(body)
        return writer.bytes
    }

    /// An object whose members `body` writes.
    public mutating func object<Failure: Error>(
        _ body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        beginObject()
        try body(&self)
        endObject()
    }

    public mutating func member(_ name: String, _ value: String) {
        member(name)
        string(value)
    }

    public mutating func member(_ name: String, utf8 value: [UInt8]) {
        member(name)
        string(utf8: value)
    }

    public mutating func member(_ name: String, _ value: UInt64) {
        member(name)
        unsigned(value)
    }

    public mutating func member(_ name: String, _ value: Int64) {
        member(name)
        integer(value)
    }

    public mutating func member(_ name: String, _ value: Bool) {
        member(name)
        boolean(value)
    }

    public mutating func member(_ name: String, raw json: [UInt8]) {
        member(name)
        raw(json)
    }

    /// A member that is an object.
    public mutating func member<Failure: Error>(
        _ name: String, _ body: (inout JSONWriter) throws(Failure) -> Void
    ) throws(Failure) {
        member(name)
        try object(body)
    }

    /// A member that is a list: `write` is called for each of its values.
    public mutating func member<Elements: Sequence, Failure: Error>(
        _ name: String, each elements: Elements,
        _ write: (inout JSONWriter, Elements.Element) throws(Failure) -> Void
    ) throws(Failure) {
        member(name)
        beginArray()
        for element in elements { try write(&self, element) }
        endArray()
    }

    /// A member that is a list of objects: `write` is called for the members of each.
    public mutating func member<Elements: Sequence, Failure: Error>(
        _ name: String, objects elements: Elements,
        _ write: (inout JSONWriter, Elements.Element) throws(Failure) -> Void
    ) throws(Failure) {
        try member(name, each: elements) { writer, element throws(Failure) in
            try writer.object { writer throws(Failure) in try write(&writer, element) }
        }
    }

    // MARK: Text

    private mutating func appendDigits(_ value: UInt64) {
        var value = value
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = digits.count
            repeat {
                start -= 1
                digits.initializeElement(at: start, to: UInt8(ascii: "0") + UInt8(value % 10))
                value /= 10
            } while value > 0
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(digits)[start...]))
        }
    }

    /// Escapes what JSON forbids in a string, and nothing else, in runs between such bytes.
    private mutating func appendQuoted(_ text: UnsafeRawBufferPointer) {
        bytes.append(UInt8(ascii: "\""))
        var run = 0
        for index in 0..<text.count {
            let byte = text[index]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[run..<index]))
            run = index + 1
            bytes.append(UInt8(ascii: "\\"))
            switch byte {
            case UInt8(ascii: "\n"): bytes.append(UInt8(ascii: "n"))
            case UInt8(ascii: "\t"): bytes.append(UInt8(ascii: "t"))
            case UInt8(ascii: "\r"): bytes.append(UInt8(ascii: "r"))
            case 0x08: bytes.append(UInt8(ascii: "b"))
            case 0x0C: bytes.append(UInt8(ascii: "f"))
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
            default:
                bytes.append(contentsOf: "u00".utf8)
                bytes.append(UInt8(ascii: "0") + byte >> 4)
                let low = byte & 0xF
                bytes.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
            }
        }
        bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[run...]))
        bytes.append(UInt8(ascii: "\""))
    }
}
