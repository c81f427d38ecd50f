package import HoldfastEnvironment

/// Compiled filters by their text, so that a program that asks the same again, with other parameters, compiles once.
package final class FilterCache: Sendable {
    private let limits: Limits

    private let templates = Lock<[[UInt8]: FilterTemplate]>([:])

    package init(_ limits: Limits) { self.limits = limits }

    package func template(
        _ text: UnsafeRawBufferPointer, limits payload: PayloadLimits
    ) throws(HoldfastError) -> FilterTemplate {
        guard text.count <= limits.filterTemplateBytes else { return try FilterTemplate.parse(text, limits: payload) }
        let key = Array(text)
        if let template = templates.withLock({ $0[key] }) { return template }
        let template = try FilterTemplate.parse(text, limits: payload)
        templates.withLock { templates in
            // Those in use come back at once; which they are is not worth remembering.
            if templates.count >= limits.filterTemplates { templates.removeAll(keepingCapacity: true) }
            templates[key] = template
        }
        return template
    }
}
