internal import Foundation

/// Writes a value straight into the bytes that `JSONEncoder` would write with sorted keys and without escaped slashes, and
/// gives up where anything is in doubt.
///
/// Containers are written as they are filled. To write to one closes those that are open in it, so a type that goes back to
/// an inner container after that is left to `JSONEncoder`.
final class EntityWriter {
    private struct Container {
        let number: Int
        let isObject: Bool
        /// Where it begins in the bytes.
        let start: Int
        /// Where its members begin in `members`.
        let firstMember: Int
        var count = 0
        var isSorted = true
    }

    // No access nests in another, and looking for that costs more than most writes.
    @exclusivity(unchecked) private var bytes: [UInt8] = []
    @exclusivity(unchecked) private var open: [Container] = []
    /// Where the members of the open objects begin, and their names end, those of inner ones behind those of outer ones.
    @exclusivity(unchecked) private var members: [(start: Int, nameEnd: Int)] = []
    /// Room to sort in.
    @exclusivity(unchecked) private var unsorted: [UInt8] = []
    @exclusivity(unchecked) private var lastNumber = 0
    @exclusivity(unchecked) private var isDoubtful = false

    private static let maxDepth = 200

    struct Doubt: Error {}

    /// The text of this value; nil when in doubt, and for what `JSONEncoder` refuses.
    static func encode<Value: Encodable>(_ value: Value) -> [UInt8]? {
        let writer = EntityWriter()
        writer.bytes.reserveCapacity(512)
        do { try writer.write(value) } catch { return nil }
        return writer.isDoubtful || writer.bytes.isEmpty ? nil : writer.bytes
    }

    @discardableResult
    func doubt() -> Doubt {
        isDoubtful = true
        return Doubt()
    }

    // MARK: Values

    func write<Value: Encodable>(_ value: Value) throws {
        let type = Value.self
        if type == String.self { return write(string: unsafeBitCast(value, to: String.self)) }
        if type == Int.self { return write(ascii: unsafeBitCast(value, to: Int.self).description) }
        if type == Bool.self { return write(ascii: unsafeBitCast(value, to: Bool.self) ? "true" : "false") }
        if type == Double.self { return try write(real: unsafeBitCast(value, to: Double.self)) }
        if try writeOther(value) { return }
        let depth = open.count
        do {
            try value.encode(to: encoderHere())
        } catch {
            // Somebody may catch it.
            throw doubt()
        }
        close(to: depth)
    }

    private func writeOther<Value>(_ value: Value) throws -> Bool {
        let type = Value.self
        func integer<Integer: FixedWidthInteger>(_: Integer.Type) -> Bool {
            guard type == Integer.self else { return false }
            write(ascii: unsafeBitCast(value, to: Integer.self).description)
            return true
        }
        if integer(Int64.self) || integer(Int32.self) || integer(Int16.self) || integer(Int8.self)
            || integer(UInt.self) || integer(UInt64.self) || integer(UInt32.self) || integer(UInt16.self)
            || integer(UInt8.self)
        {
            return true
        }
        if type == Float.self {
            try write(real: unsafeBitCast(value, to: Float.self))
        } else if type == Data.self {
            write(string: unsafeBitCast(value, to: Data.self).base64EncodedString())
        } else if type == URL.self {
            write(string: unsafeBitCast(value, to: URL.self).absoluteString)
        } else if type == Decimal.self || type == Int128.self || type == UInt128.self {
            throw doubt()
        } else {
            return false
        }
        return true
    }

    func writeNull() { write(ascii: "null") }

    private func write(ascii text: String) { bytes.append(contentsOf: text.utf8) }

    private func write<Real: BinaryFloatingPoint & CustomStringConvertible>(real: Real) throws {
        guard real.isFinite else { throw doubt() }
        let text = real.description.utf8
        bytes.append(contentsOf: text.suffix(2).elementsEqual(".0".utf8) ? text.dropLast(2) : text[...])
    }

    private func write(string: String) {
        var string = string
        bytes.append(UInt8(ascii: "\""))
        string.withUTF8 { text in
            var written = 0
            for (place, byte) in text.enumerated()
            where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(contentsOf: text[written..<place])
                write(escaped: byte)
                written = place + 1
            }
            bytes.append(contentsOf: text[written...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private func write(escaped byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0..<0x20:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(UInt8(ascii: "0") + byte >> 4)
            bytes.append(Array("0123456789abcdef".utf8)[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }

    // MARK: Containers

    /// The number of a container that begins where a value is to be written.
    func begin(isObject: Bool) -> Int {
        if open.count >= Self.maxDepth { doubt() }
        lastNumber += 1
        open.append(
            Container(number: lastNumber, isObject: isObject, start: bytes.count, firstMember: members.count))
        bytes.append(UInt8(ascii: isObject ? "{" : "["))
        return lastNumber
    }

    /// For a value that is to be written here.
    func encoderHere() -> EntityEncoder { EntityEncoder(writer: self, start: bytes.count, depth: open.count) }

    /// Whether a value that began there is still unwritten.
    func isUnwritten(from start: Int, depth: Int) -> Bool { bytes.count == start && open.count == depth }

    func count(of number: Int) -> Int {
        guard let container = open.last(where: { $0.number == number }) else {
            doubt()
            return 0
        }
        return container.count
    }

    /// Makes it the innermost container, and ready for a member or element.
    private func resume(_ number: Int) throws {
        guard let place = open.lastIndex(where: { $0.number == number }) else { throw doubt() }
        close(to: place + 1)
        requireValue(in: open[place])
        if open[place].count > 0 { bytes.append(UInt8(ascii: ",")) }
        open[place].count += 1
    }

    func beginElement(of number: Int) throws { try resume(number) }

    func beginMember(_ name: String, of number: Int) throws {
        try resume(number)
        let start = bytes.count
        var name = name
        let isPlain = name.withUTF8 { name in
            bytes.append(UInt8(ascii: "\""))
            bytes.append(contentsOf: name)
            return name.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        }
        // Others may be equal without having the same bytes, and sort otherwise than they are written.
        guard isPlain else { throw doubt() }
        let container = open[open.count - 1]
        let nameEnd = bytes.count
        if container.isSorted, container.count > 1, let last = members.last,
            !bytes[(last.start + 1)..<last.nameEnd].lexicographicallyPrecedes(bytes[(start + 1)..<nameEnd])
        {
            open[open.count - 1].isSorted = false
        }
        members.append((start, nameEnd))
        bytes.append(contentsOf: "\":".utf8)
    }

    /// Each member and element has been written, as far as they were begun.
    private func requireValue(in container: Container) {
        guard container.count > 0, let last = bytes.last else { return }
        if last == UInt8(ascii: ":") || last == UInt8(ascii: ",") || bytes.count == container.start + 1 { doubt() }
    }

    /// Closes all containers from this depth on.
    private func close(to depth: Int) {
        while open.count > depth {
            let container = open.removeLast()
            requireValue(in: container)
            if !container.isSorted { sort(container) }
            members.removeSubrange(container.firstMember...)
            bytes.append(UInt8(ascii: container.isObject ? "}" : "]"))
        }
    }

    /// Writes the members anew in the order of their names, in the same place: they take as much as before.
    private func sort(_ container: Container) {
        let first = container.start + 1
        unsorted.removeAll(keepingCapacity: true)
        unsorted.append(contentsOf: bytes[first...])
        var sorted = Array(members[container.firstMember...].indices)
        unsorted.withUnsafeBufferPointer { text in
            func name(_ member: Int) -> Slice<UnsafeBufferPointer<UInt8>> {
                text[(members[member].start + 1 - first)..<(members[member].nameEnd - first)]
            }
            sorted.sort { name($0).lexicographicallyPrecedes(name($1)) }
            bytes.removeSubrange(first...)
            for (place, member) in sorted.enumerated() {
                if place > 0 {
                    // Of several members of one name the last counts.
                    if name(member).elementsEqual(name(sorted[place - 1])) { doubt() }
                    bytes.append(UInt8(ascii: ","))
                }
                // Each ends before the comma that the next one comes after.
                let end = member + 1 < members.count ? members[member + 1].start - 1 - first : text.count
                bytes.append(contentsOf: text[(members[member].start - first)..<end])
            }
        }
    }
}
