internal import CHoldfastPayload
public import HoldfastEnvironment

/// An entity as a caller gave it: checked, its id found, its bytes as they came.
package struct EntityPayload {
    /// From the opening to the closing brace.
    package var body: UnsafeRawBufferPointer
    package var id: EntityID?

    /// Checks one entity. The text is lent from `bytes`.
    package init(
        _ bytes: UnsafeRawBufferPointer, key: String, limits: PayloadLimits, what: String = "entity"
    ) throws(HoldfastError) {
        var entity = hfpayload_entity()
        var error = hfpayload_error()
        let empty: StaticString = ""
        let start = bytes.baseAddress ?? UnsafeRawPointer(empty.utf8Start)
        // Lent by itself: handed over as an argument, a text is copied into an array.
        let isValid = key.withCString {
            hfpayload_entity_check(
                start.assumingMemoryBound(to: CChar.self), bytes.count, $0, limits.c, &entity, &error)
        }
        guard isValid else { throw HoldfastError(payload: error, what: what) }
        self.init(entity, in: bytes)
    }

    private init(_ entity: hfpayload_entity, in bytes: UnsafeRawBufferPointer) {
        body = UnsafeRawBufferPointer(rebasing: bytes[entity.start..<(entity.start + entity.length)])
        guard entity.id_type != HFPAYLOAD_ID_ABSENT else {
            id = nil
            return
        }
        id = withUnsafeBytes(of: entity.id) { EntityID(unchecked: Array($0.prefix(entity.id_length))) }
    }

    /// Checks each element of a JSON array and hands it to `body` with its index.
    package static func forEach(
        in bytes: UnsafeRawBufferPointer, key: String, limits: PayloadLimits, what: String,
        _ body: (Int, EntityPayload) throws(HoldfastError) -> Void
    ) throws(HoldfastError) {
        var batch = hfpayload_batch()
        var error = hfpayload_error()
        let empty: StaticString = ""
        let start = (bytes.baseAddress ?? UnsafeRawPointer(empty.utf8Start)).assumingMemoryBound(to: CChar.self)
        // The batch keeps the key's pointer, so everything happens while it is lent.
        let failure = key.withCString { key -> HoldfastError? in
            guard hfpayload_batch_begin(&batch, start, bytes.count, key, limits.c, &error) else {
                return HoldfastError(payload: error, what: what)
            }
            var entity = hfpayload_entity()
            while true {
                let index = batch.index
                switch hfpayload_batch_next(&batch, &entity, &error) {
                case HFPAYLOAD_BATCH_ENTITY:
                    do throws(HoldfastError) {
                        try body(index, EntityPayload(entity, in: bytes))
                    } catch {
                        return error.status == .cancelled ? error : error.inBatch(at: index)
                    }
                case HFPAYLOAD_BATCH_END: return nil
                default:
                    var failure = HoldfastError(payload: error, what: what)
                    failure.detail.append(("index", .number(UInt64(index))))
                    return failure
                }
            }
        }
        if let failure { throw failure }
    }
}

extension EntityID {
    /// Checks an id that a caller gave by itself.
    public init(checking bytes: UnsafeRawBufferPointer) throws(HoldfastError) {
        var error = hfpayload_error()
        let empty: StaticString = ""
        let start = bytes.baseAddress ?? UnsafeRawPointer(empty.utf8Start)
        guard hfpayload_id_check(start.assumingMemoryBound(to: CChar.self), bytes.count, &error) else {
            throw HoldfastError(payload: error, what: "id")
        }
        self.init(unchecked: Array(bytes))
    }

    /// The ids of a JSON array of texts and integers.
    package static func list(_ json: UnsafeRawBufferPointer, limits: PayloadLimits) throws(HoldfastError) -> [EntityID]
    {
        guard case .array(let elements) = try JSONValue.parse(json, what: "list of ids", limits: limits) else {
            throw HoldfastError(.invalidJSON, "the list of ids must be a JSON array of texts and integers")
        }
        var ids: [EntityID] = []
        ids.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            do throws(HoldfastError) {
                switch element {
                case .integer(let number): ids.append(EntityID(unchecked: Array(String(number).utf8)))
                case .string(let bytes):
                    ids.append(
                        try bytes.withBytes { bytes throws(HoldfastError) in try EntityID(checking: bytes) })
                default:
                    throw HoldfastError(.invalidID, "an id must be a text or an integer, not \(element.typeInWords)")
                }
            } catch { throw error.inBatch(at: index) }
        }
        return ids
    }
}

extension HoldfastError {
    /// The same error, saying which element of a batch it speaks of.
    package func inBatch(at index: Int) -> HoldfastError {
        var error = self
        error.message = "element \(index), counted from 0: \(message)"
        error.detail.append(("index", .number(UInt64(index))))
        return error
    }
}
