internal import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// A payload or id that a caller passed: bytes with their length, or up to their NUL. Throws where there is no memory to
/// work on them: for a copy, one with an id inserted, and what is answered.
func bytes(
    _ pointer: UnsafePointer<CChar>?, _ length: Int, _ name: StaticString
) throws(HoldfastError) -> UnsafeRawBufferPointer {
    guard let pointer else {
        if length == 0 { return UnsafeRawBufferPointer(start: nil, count: 0) }
        throw HoldfastError(.invalidArgument, "\(name) is NULL: pass its bytes")
    }
    // HF_NTS is the greatest size_t, which Swift sees as -1.
    let count = length == -1 ? terminatedLength(of: pointer) : length
    guard count >= 0 else {
        throw HoldfastError(.invalidArgument, "the length of \(name) is beyond all memory: pass bytes, or HF_NTS")
    }
    guard count <= longest else {
        throw HoldfastError(.noMemory, "\(name) has \(count) bytes, and at most \(longest) are taken")
    }
    try Memory.ask(for: 3 * count)
    return UnsafeRawBufferPointer(start: pointer, count: count)
}

/// Of what a caller passes, in bytes. So that thrice as much is no more than can be asked for.
private let longest = 1 << 34

/// Bytes that may be left out.
func optionalBytes(
    _ pointer: UnsafePointer<CChar>?, _ length: Int, _ name: StaticString
) throws(HoldfastError) -> UnsafeRawBufferPointer? {
    pointer == nil ? nil : try bytes(pointer, length, name)
}

/// Options: closed with NUL, or NULL.
func options(_ pointer: UnsafePointer<CChar>?) -> UnsafeRawBufferPointer? {
    pointer.map { UnsafeRawBufferPointer(start: $0, count: terminatedLength(of: $0)) }
}

/// A name or URL: closed with NUL, valid UTF-8.
func text(_ pointer: UnsafePointer<CChar>?, _ name: StaticString) throws(HoldfastError) -> String {
    guard let pointer else { throw HoldfastError(.invalidArgument, "\(name) is NULL: pass its text") }
    try Memory.ask(for: 3 * terminatedLength(of: pointer))
    guard let text = String(validatingCString: pointer) else {
        throw HoldfastError(.invalidArgument, "\(name) is not valid UTF-8: encode it so")
    }
    return text
}

func entityID(_ pointer: UnsafePointer<CChar>?, _ length: Int) throws(HoldfastError) -> EntityID {
    try EntityID(checking: bytes(pointer, length, "id"))
}

/// A place for a result that the caller cannot do without.
func required<Value>(
    _ pointer: UnsafeMutablePointer<Value>?, _ name: StaticString
) throws(HoldfastError) -> UnsafeMutablePointer<Value> {
    guard let pointer else { throw HoldfastError(.invalidArgument, "\(name) is NULL: pass where the result goes") }
    return pointer
}

private func terminatedLength(of text: UnsafePointer<CChar>) -> Int {
    var length = 0
    while text[length] != 0 { length += 1 }
    return length
}
