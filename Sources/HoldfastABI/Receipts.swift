public import CHoldfast
internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastQuery

extension Receipt: ResultValue {
    /// In one block: the changes, and behind them the texts.
    func put(in place: UnsafeMutablePointer<hf_receipt>) throws(HoldfastError) {
        let changes = changes
        let changeBytes = changes.count * MemoryLayout<hf_receipt_change>.stride
        let textBytes = changes.reduce(position.utf8.count + 1) {
            $0 + $1.repository.utf8.count + $1.id.bytes.count + 2
        }
        guard let block = malloc(changeBytes + textBytes) else {
            throw HoldfastError(.noMemory, "no memory for a receipt of \(changes.count) changes")
        }
        let views = block.bindMemory(to: hf_receipt_change.self, capacity: changes.count)
        var end = (block + changeBytes).assumingMemoryBound(to: CChar.self)
        func append(_ text: some Sequence<UInt8>) -> UnsafePointer<CChar> {
            let start = end
            for byte in text {
                end.pointee = CChar(bitPattern: byte)
                end += 1
            }
            end.pointee = 0
            end += 1
            return UnsafePointer(start)
        }
        for (index, change) in changes.enumerated() {
            (views + index).initialize(
                to: hf_receipt_change(
                    repository: append(change.repository.utf8), id: append(change.id.bytes),
                    id_length: change.id.bytes.count, version: sequence, is_deletion: change.isDeletion))
        }
        let position = append(position.utf8)
        hf_receipt_free(place)
        place.pointee = hf_receipt(
            sequence: sequence, position: position, changes: UnsafePointer(views), change_count: changes.count,
            attempts: Int32(clamping: attempts), is_durable: isDurable, is_replayed: isReplayed, is_atomic: isAtomic)
    }
}

@_cdecl("hf_receipt_read") @implementation
public func hf_receipt_read(
    _ text: UnsafePointer<CChar>?, _ length: Int, _ out_receipt: UnsafeMutablePointer<hf_receipt>?,
    _ out_error: OutError?
) -> hf_status {
    answer(out_receipt, "out_receipt", out_error) { () throws(HoldfastError) in
        try Receipt(json: bytes(text, length, "text"))
    }
}

@_cdecl("hf_receipt_free") @implementation
public func hf_receipt_free(_ receipt: UnsafeMutablePointer<hf_receipt>?) {
    guard let receipt else { return }
    // The block begins with the changes.
    free(UnsafeMutableRawPointer(mutating: receipt.pointee.changes))
    receipt.pointee = hf_receipt()
}
