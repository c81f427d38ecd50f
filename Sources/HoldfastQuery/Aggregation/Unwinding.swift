internal import HoldfastEnvironment

/// Makes one document for each element of an array in a document.
package struct Unwinding: Sendable {
    private let names: [[UInt8]]
    private let element: Projector
    private let index: Projector?
    private let keepsEmpty: Bool

    init(_ path: Path, index: Path?, keepsEmpty: Bool) {
        names = path.parts.map(\.name)
        element = Projector(placingAt: path)
        self.index = index.map { Projector(placingAt: $0) }
        self.keepsEmpty = keepsEmpty
    }

    /// Whether it puts the elements' numbers somewhere.
    package var isNumbering: Bool { index != nil }

    /// Whether it leaves a member of all documents as it is.
    package func keeps(_ name: [UInt8]) -> Bool { element.keeps(name) && index?.keeps(name) ?? true }

    /// How many documents come of this one.
    package func count(_ document: JSONValue) -> Int {
        switch value(in: document) {
        case .array(let elements) where !elements.isEmpty: elements.count
        case nil, .null?, .array?: keepsEmpty ? 1 : 0
        default: 1
        }
    }

    /// The document of this number.
    package func made(_ number: Int, of document: JSONValue) -> JSONValue {
        switch value(in: document) {
        case .array(let elements) where !elements.isEmpty:
            return numbered(element.place(elements[number], in: document), .integer(Int64(number)))
        case .array: return numbered(element.place(nil, in: document), .null)
        default: return numbered(document, .null)
        }
    }

    private func numbered(_ document: JSONValue, _ number: JSONValue) -> JSONValue {
        index?.place(number, in: document) ?? document
    }

    /// Through objects alone: what lies in an array on the way is none of it.
    private func value(in document: JSONValue) -> JSONValue? {
        var value = document
        for name in names {
            guard case .object(let members) = value, let member = members.first(where: { $0.name == name }) else {
                return nil
            }
            value = member.value
        }
        return value
    }
}
