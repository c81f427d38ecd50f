package import HoldfastEnvironment

/// A dotted path into a document.
package struct Path: Sendable, Equatable {
    /// Positions in a path are the bits of a word while it is matched; the last bit stays free.
    static let maxParts = 63

    /// The path of no parts, which leads to the value itself: what `$elemMatch` compares elements with.
    package static let itself = Path(parts: [], indexes: 0)

    package let parts: [Part]

    package struct Part: Sendable, Equatable {
        package let name: [UInt8]
        /// The index that the name means in an array: digits without a leading zero.
        package let index: Int?
        /// The parts of the path with this name, as bits.
        let sameName: UInt64
    }

    /// The parts that are indexes, as bits.
    package let indexes: UInt64

    private init(parts: [Part], indexes: UInt64) {
        self.parts = parts
        self.indexes = indexes
    }

    package init(_ text: [UInt8], what: String) throws(HoldfastError) {
        let names = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
        guard names.count <= Self.maxParts else {
            throw HoldfastError(
                .invalidQuery, "a path in the \(what) has \(names.count) parts; \(Self.maxParts) are allowed")
        }
        var indexes: UInt64 = 0
        let parts = names.enumerated().map { position, name in
            let index = Self.index(name)
            if index != nil { indexes |= 1 << UInt64(position) }
            var sameName: UInt64 = 0
            for (other, otherName) in names.enumerated() where otherName == name { sameName |= 1 << UInt64(other) }
            return Part(name: name, index: index, sameName: sameName)
        }
        self.init(parts: parts, indexes: indexes)
    }

    /// Whether it is that of the member with this name.
    package func leads(to name: String) -> Bool { parts.count == 1 && parts[0].name.elementsEqual(name.utf8) }

    /// As it was written.
    package var text: String { parts.map { String(decoding: $0.name, as: UTF8.self) }.joined(separator: ".") }

    private static func index(_ name: [UInt8]) -> Int? {
        guard name.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
            name.count == 1 || name.first != UInt8(ascii: "0")
        else { return nil }
        return Int(String(decoding: name, as: UTF8.self))
    }
}
