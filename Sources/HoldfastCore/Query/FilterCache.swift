/// Compiled filters by their text, so that a program that asks the same again, with other parameters, compiles once.
final class FilterCache: Sendable {
    private let limit: Int
    /// Longer texts are compiled each time: they are lists of values more often than questions that come again.
    private static let maxBytes = 1024

    private let templates = Lock<[[UInt8]: FilterTemplate]>([:])

    init(limit: Int) { self.limit = limit }

    func template(_ text: UnsafeRawBufferPointer, limits: PayloadLimits) throws(HoldfastError) -> FilterTemplate {
        guard text.count <= Self.maxBytes else { return try FilterTemplate.parse(text, limits: limits) }
        let key = Array(text)
        if let template = templates.withLock({ $0[key] }) { return template }
        let template = try FilterTemplate.parse(text, limits: limits)
        templates.withLock { templates in
            // Those in use come back at once; which they are is not worth remembering.
            if templates.count >= limit { templates.removeAll(keepingCapacity: true) }
            templates[key] = template
        }
        return template
    }
}
