extension String {
    /// Lends the text's bytes.
    func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try Array(utf8).withUnsafeBytes(body)
    }
}
