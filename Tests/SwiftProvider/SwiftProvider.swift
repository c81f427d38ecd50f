public import CHoldfast
internal import Holdfast
internal import HoldfastABI
internal import HoldfastCore
import HoldfastEnvironment

/// A provider in Swift as an engine of the conformance suite: the C functions, and one that opens a store over a dictionary.
///
/// The suite calls it as a C host would, with a directory; stores at one directory have one dictionary.
@_cdecl("dictionary_provider_open")
public func openDictionaryProvider(
    _ directory: UnsafePointer<CChar>, _ options: UnsafePointer<CChar>?,
    _ outStore: UnsafeMutablePointer<OpaquePointer?>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> hf_status {
    let directory = String(cString: directory)
    let shelf = shelves.withLock { shelves in
        let shelf = shelves[directory] ?? Shelf()
        shelves[directory] = shelf
        return shelf
    }
    return answerOpening(options, outStore, outError) { options in
        Result { () throws(HoldfastEnvironment.HoldfastError) in try Holdfast.Store.openCore(provider: shelf, options) }
    }
}

private let shelves = Lock<[String: Shelf]>([:])

/// Four functions, and an actor, which the store's threads must enter to call them.
private actor Shelf: StorageProvider {
    private var documents: [StoredDocument.ID: StoredDocument] = [:]
    func save(_ document: StoredDocument) { documents[document.id] = document }
    func fetchAll() -> [StoredDocument] { Array(documents.values) }
    func fetch(id: StoredDocument.ID) -> StoredDocument? { documents[id] }
    func delete(id: StoredDocument.ID) { documents[id] = nil }
}
