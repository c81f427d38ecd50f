public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

/// What an export answers in a place of the caller's.
protocol ResultValue {
    associatedtype Place = Self
    func put(in place: UnsafeMutablePointer<Place>) throws(HoldfastError)
}

extension ResultValue where Place == Self {
    func put(in place: UnsafeMutablePointer<Self>) { place.pointee = self }
}

extension Bool: ResultValue {}
extension Int32: ResultValue {}
extension Int64: ResultValue {}
extension UInt64: ResultValue {}
extension hf_transaction_state: ResultValue {}

extension OpaquePointer: ResultValue {
    func put(in place: UnsafeMutablePointer<OpaquePointer?>) { place.pointee = self }
}

extension [UInt8]: ResultValue {
    func put(in place: UnsafeMutablePointer<hf_buffer>) throws(HoldfastError) { try fill(place, with: self) }
}

extension EntityList: ResultValue {
    func put(in place: UnsafeMutablePointer<hf_entity_list>) throws(HoldfastError) { try fill(place, with: self) }
}

/// Memory that a caller keeps and passes again: `hf_buffer` and `hf_entity` begin alike.
private func fill(
    _ data: inout UnsafeMutablePointer<CChar>?, _ length: inout Int, _ capacity: inout Int,
    with bytes: UnsafeRawBufferPointer
) throws(HoldfastError) {
    if data == nil || capacity < bytes.count + 1 {
        let wanted = max(bytes.count + 1, (0..<Limits.inForce.doubledBytes).contains(capacity) ? capacity * 2 : 0)
        guard let grown = realloc(data, wanted) else {
            throw HoldfastError(.noMemory, "no memory for a result of \(bytes.count) bytes")
        }
        data = grown.assumingMemoryBound(to: CChar.self)
        capacity = wanted
    }
    if let start = bytes.baseAddress { memcpy(data!, start, bytes.count) }
    data![bytes.count] = 0
    length = bytes.count
}

/// Hands over what a commit has answered: a failure to do so is told as one of a commit that is stored.
func markingStored(_ isStored: Bool, _ hand: () throws(HoldfastError) -> Void) throws(HoldfastError) {
    do throws(HoldfastError) {
        try hand()
    } catch {
        var error = error
        if isStored { error.commitState = .done }
        throw error
    }
}

func fill(_ buffer: UnsafeMutablePointer<hf_buffer>, with bytes: [UInt8]) throws(HoldfastError) {
    try bytes.withBytes { bytes throws(HoldfastError) in
        try fill(&buffer.pointee.data, &buffer.pointee.length, &buffer.pointee.capacity, with: bytes)
    }
}

func fill(
    _ entity: UnsafeMutablePointer<hf_entity>, with bytes: UnsafeRawBufferPointer, version: CommitSequence
) throws(HoldfastError) {
    try fill(&entity.pointee.data, &entity.pointee.length, &entity.pointee.capacity, with: bytes)
    entity.pointee.version = version
}

/// A list in two blocks: the JSON, taken over as it is, and the views with the ids behind them.
func fill(_ list: UnsafeMutablePointer<hf_entity_list>, with entities: EntityList) throws(HoldfastError) {
    let viewBytes = entities.count * MemoryLayout<hf_entity_view>.stride
    // Of no bytes malloc may answer nil.
    guard let block = malloc(max(viewBytes + entities.ids.count, 1)) else {
        throw HoldfastError(.noMemory, "no memory for a list of \(entities.count) entities")
    }
    let views = block.bindMemory(to: hf_entity_view.self, capacity: entities.count)
    let ids = (block + viewBytes).assumingMemoryBound(to: CChar.self)
    entities.ids.withBytes { bytes in
        if let start = bytes.baseAddress { memcpy(ids, start, bytes.count) }
    }
    let length = entities.json.count
    let json = entities.json.take()!.assumingMemoryBound(to: CChar.self)
    for (index, item) in entities.items.enumerated() {
        (views + index).initialize(
            to: hf_entity_view(
                id: ids + item.id.lowerBound, id_length: item.id.count, data: json + item.body.lowerBound,
                length: item.body.count, version: item.version))
    }
    hf_entity_list_free(list)
    list.pointee = hf_entity_list(
        items: UnsafePointer(views), count: entities.count, json: UnsafePointer(json), json_length: length)
}

@_cdecl("hf_buffer_set") @implementation
public func hf_buffer_set(
    _ buffer: UnsafeMutablePointer<hf_buffer>?, _ bytes: UnsafePointer<CChar>?, _ length: Int
) -> Bool {
    guard let buffer, let bytes = try? HoldfastABI.bytes(bytes, length, "bytes") else { return false }
    return
        (try? fill(&buffer.pointee.data, &buffer.pointee.length, &buffer.pointee.capacity, with: bytes)) != nil
}

@_cdecl("hf_buffer_free") @implementation
public func hf_buffer_free(_ buffer: UnsafeMutablePointer<hf_buffer>?) {
    guard let buffer else { return }
    free(buffer.pointee.data)
    buffer.pointee = hf_buffer(data: nil, length: 0, capacity: 0)
}

@_cdecl("hf_entity_free") @implementation
public func hf_entity_free(_ entity: UnsafeMutablePointer<hf_entity>?) {
    guard let entity else { return }
    free(entity.pointee.data)
    entity.pointee = hf_entity(data: nil, length: 0, capacity: 0, version: 0)
}

@_cdecl("hf_entity_list_free") @implementation
public func hf_entity_list_free(_ list: UnsafeMutablePointer<hf_entity_list>?) {
    guard let list else { return }
    free(UnsafeMutableRawPointer(mutating: list.pointee.items))
    free(UnsafeMutableRawPointer(mutating: list.pointee.json))
    list.pointee = hf_entity_list(items: nil, count: 0, json: nil, json_length: 0)
}

@_cdecl("hf_json_quote") @implementation
public func hf_json_quote(
    _ text: UnsafePointer<CChar>?, _ length: Int, _ out_json: UnsafeMutablePointer<hf_buffer>?, _ out_error: OutError?
) -> hf_status {
    answer(out_json, "out_json", out_error) { () throws(HoldfastError) in
        let bytes = try bytes(text, length, "text")
        // Six for each where all are escaped, and as much again while that grows.
        try Memory.ask(for: 16 * bytes.count)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw HoldfastError(.invalidArgument, "text is not valid UTF-8: encode it so")
        }
        var writer = JSONWriter()
        writer.string(text)
        return writer.bytes
    }
}
