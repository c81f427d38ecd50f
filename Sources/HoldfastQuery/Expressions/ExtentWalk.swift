package import HoldfastEnvironment

/// Goes through a value to see whether it is too long or too deep. Values hold others by reference, and a short expression
/// may make one that holds another many times.
package struct ExtentWalk {
    /// What there is too much of in a value.
    package enum Excess {
        case depth
        case length
    }

    /// How much longer what is gone through may be: the bytes of its texts and two for each value, itself and what parts it from
    /// the next, no more than it takes as JSON.
    package private(set) var left: Int
    /// How many more values are gone through until the host is asked.
    private var leftToLook = Self.valuesBetweenLooks

    private static let valuesBetweenLooks = 1 << 16

    package init(left: Int) { self.left = left }

    /// Whether more arrays and objects stand in each other in the value, or it is longer than what is left, from which its
    /// length is taken. Recurses no deeper than `depth`, and takes no longer than what is left.
    package mutating func excess(of value: JSONValue, beyond depth: Int) throws(HoldfastError) -> Excess? {
        left -= 2
        if left < 0 { return .length }
        leftToLook -= 1
        if leftToLook == 0 {
            leftToLook = Self.valuesBetweenLooks
            try Interrupt.look()
        }
        switch value {
        case .string(let text):
            left -= text.count
            return left < 0 ? .length : nil
        case .array(let elements):
            if depth == 0 { return .depth }
            // An array of one value many times is as long as that is, as often.
            var (last, length): (UnsafeRawPointer?, Int) = (nil, 0)
            for element in elements {
                let buffer = element.buffer
                if buffer != nil, buffer == last {
                    left -= length
                    if left < 0 { return .length }
                    continue
                }
                let before = left
                if let excess = try excess(of: element, beyond: depth - 1) { return excess }
                (last, length) = (buffer, before - left)
            }
        case .object(let members):
            if depth == 0 { return .depth }
            for member in members {
                left -= member.name.count
                if let excess = try excess(of: member.value, beyond: depth - 1) { return excess }
            }
        default: break
        }
        return nil
    }
}

extension JSONValue {
    /// Where the elements or the members are; values that have them in one place are equal.
    fileprivate var buffer: UnsafeRawPointer? {
        switch self {
        case .array(let elements): elements.withUnsafeBytes(\.baseAddress)
        case .object(let members): members.withUnsafeBytes(\.baseAddress)
        default: nil
        }
    }
}
