package import HoldfastEnvironment

/// A `JSONWalker` for code that can fail for other reasons too: damaged bytes are an error of the store.
package struct ItemWalker {
    package let walker: JSONWalker

    package init(_ bytes: UnsafeRawBufferPointer) { walker = JSONWalker(bytes) }

    /// Where the first value begins.
    package func start() throws(HoldfastError) -> Int {
        do { return try walker.skipWhiteSpace(0) } catch { throw HoldfastError(error) }
    }

    package func kind(at position: Int) throws(HoldfastError) -> JSONKind {
        do { return try walker.kind(at: position) } catch { throw HoldfastError(error) }
    }

    package func end(of position: Int) throws(HoldfastError) -> Int {
        do { return try walker.endOfValue(at: position) } catch { throw HoldfastError(error) }
    }

    package func number(at position: Int) throws(HoldfastError) -> JSONNumber {
        do { return try walker.number(at: position) } catch { throw HoldfastError(error) }
    }

    package func string(at position: Int) throws(HoldfastError) -> [UInt8] {
        do { return try walker.decode(walker.text(at: position)) } catch { throw HoldfastError(error) }
    }

    package func decode(_ text: JSONText) throws(HoldfastError) -> [UInt8] {
        do { return try walker.decode(text) } catch { throw HoldfastError(error) }
    }

    /// Orders a name, its escapes resolved, and bytes: negative, 0, positive.
    package func order(_ name: JSONText, _ bytes: [UInt8]) throws(HoldfastError) -> Int {
        do throws(CorruptJSON) {
            return try bytes.withUnsafeBufferPointer { bytes throws(CorruptJSON) in
                try walker.order(name, UnsafeRawBufferPointer(bytes))
            }
        } catch { throw HoldfastError(error) }
    }

    /// Hands each member of an object to `body`: its name, where its value begins, and where it ends. The member begins
    /// at the name's quote. Answers where the object ends.
    @inline(__always)
    package func members(
        of object: Int, _ body: (_ name: JSONText, _ value: Int, _ end: Int) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Int {
        var members: JSONWalker.Members
        do { members = try walker.members(of: object) } catch { throw HoldfastError(error) }
        while true {
            let next: (member: JSONWalker.Member, end: Int)?
            do throws(CorruptJSON) {
                if let member = try members.next() {
                    next = (member, try walker.endOfValue(at: member.value))
                } else {
                    next = nil
                }
            } catch { throw HoldfastError(error) }
            guard let next else { return members.closing + 1 }
            try body(next.member.name, next.member.value, next.end)
        }
    }

    /// Hands each element of an array to `body`: where it begins and ends. Answers where the array ends.
    @inline(__always)
    package func elements(
        of array: Int, _ body: (_ element: Int, _ end: Int) throws(HoldfastError) -> Void
    ) throws(HoldfastError) -> Int {
        var elements: JSONWalker.Elements
        do { elements = try walker.elements(of: array) } catch { throw HoldfastError(error) }
        while true {
            let next: (element: Int, end: Int)?
            do throws(CorruptJSON) {
                if let element = try elements.next() {
                    next = (element, try walker.endOfValue(at: element))
                } else {
                    next = nil
                }
            } catch { throw HoldfastError(error) }
            guard let next else { return elements.closing + 1 }
            try body(next.element, next.end)
        }
    }

    /// How deep the arrays and objects of a value are nested; 0 for a scalar.
    package func depth(of range: Range<Int>) throws(HoldfastError) -> Int {
        var position = range.lowerBound
        var depth = 0
        var greatest = 0
        while position < range.upperBound {
            switch walker.byte(position) {
            case UInt8(ascii: "\""):
                position = try end(of: position)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                greatest = max(greatest, depth)
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            position += 1
        }
        return greatest
    }
}
