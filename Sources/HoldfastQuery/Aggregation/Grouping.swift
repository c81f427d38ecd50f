package import HoldfastEnvironment

/// How documents are brought together: by a key, each group with what accumulators make of it.
package struct Grouping: Sendable {
    package enum Key: Sendable {
        /// What is missing is null.
        case expression(Expression)
        case bucket(Bucket)
    }

    /// Which of the ranges between boundaries a value is in.
    package struct Bucket: Sendable {
        let value: Expression
        /// Ascending. Each belongs to the range that it begins.
        let boundaries: [JSONValue]
        let keys: [OrderedKey]
        /// For what is in no range.
        let otherwise: JSONValue?
    }

    package struct Field: Sendable {
        package let name: [UInt8]
        package let accumulation: Accumulation
    }

    package let key: Key
    package let fields: [Field]

    /// The path whose value is the key; nil where that is worked out.
    package var path: [[UInt8]]? {
        guard case .expression(let expression) = key, let path = expression.path, !path.isEmpty else { return nil }
        return path
    }

    package func key(of document: JSONValue, _ place: StagePlace) throws(HoldfastError) -> JSONValue {
        switch key {
        case .expression(let expression): return try expression.evaluate(document) ?? .null
        case .bucket(let bucket): return try bucket.key(of: document, place)
        }
    }
}

extension Grouping.Bucket {
    fileprivate func key(of document: JSONValue, _ place: StagePlace) throws(HoldfastError) -> JSONValue {
        let value = try value.evaluate(document) ?? .null
        var key = OrderedKey()
        key.append(value)
        let above = keys.partitioningIndex { key < $0 }
        if above > 0, above < keys.count { return boundaries[above - 1] }
        guard let otherwise else {
            var writer = JSONWriter()
            writer.value(value)
            let shown = String(decoding: writer.bytes.prefix(60), as: UTF8.self)
            throw place.refusal(
                "has no bucket for the value \(shown): widen \"boundaries\", or give a \"default\"", path: "groupBy")
        }
        return otherwise
    }
}
