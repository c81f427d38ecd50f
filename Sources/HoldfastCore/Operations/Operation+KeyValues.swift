public import HoldfastEnvironment
public import HoldfastQuery

/// Values by key: each is kept by an entity of its own, `{"id": key, "value": value}`.
extension Operation {
    /// Answers the value of a key, or null.
    public static func get(
        _ key: EntityID, in repository: String, of store: Store
    ) throws(HoldfastError) -> Operation {
        try described(store, .fetch, repository) { writer in
            writer.member("id", utf8: key.bytes)
            writer.member("member", "value")
        }
    }

    /// Stores a value under a key, whether it has one or not; nil, or null, removes what is there.
    public static func put(
        _ value: UnsafeRawBufferPointer?, under key: EntityID, in repository: String, of store: Store
    ) throws(HoldfastError) -> Operation {
        guard let value, try !isNull(value, store.options.limits) else {
            return try remove(key, isMissingAllowed: true, in: repository, of: store)
        }
        return try described(store, .save, repository, size: value.count) { writer in
            // Under another key the entity would be a new one each time.
            writer.member("key", "id")
            writer.member("entity")
            writer.beginObject()
            writer.member("id", utf8: key.bytes)
            writer.member("value")
            writer.raw(value)
            writer.endObject()
        }
    }

    /// Removes the value of a key; `.notFound` where there is none, unless `isMissingAllowed`.
    public static func remove(
        _ key: EntityID, isMissingAllowed: Bool = false, in repository: String, of store: Store
    ) throws(HoldfastError) -> Operation {
        try described(store, .delete, repository) { writer in
            writer.member("id", utf8: key.bytes)
            writer.member("missing_ok", isMissingAllowed)
        }
    }

    /// Checks that the text is one value, and no more than that.
    private static func isNull(
        _ value: UnsafeRawBufferPointer, _ limits: PayloadLimits
    ) throws(HoldfastError) -> Bool {
        try JSONValue.check(value, what: "value", limits: limits)
        let walker = ItemWalker(value)
        return try walker.kind(at: walker.start()) == .null
    }

    private static func described(
        _ store: Store, _ verb: Verb, _ repository: String, size: Int = 0, _ rest: (inout JSONWriter) -> Void
    ) throws(HoldfastError) -> Operation {
        var writer = JSONWriter(reservingCapacity: size + 1024)
        writer.beginObject()
        writer.member("operation", verb.rawValue)
        writer.member("repository", repository)
        rest(&writer)
        writer.endObject()
        return try writer.bytes.withBytes { text throws(HoldfastError) in try Operation(store, describedBy: text) }
    }
}
