import Foundation
import Holdfast

/// Its blocking calls have no fetch by id.
struct HoldfastEngine: Engine {
    let store: Store
    let documents: Repository<Document>
    let blocks: Bool

    static func open(_ directory: URL, maxInFlight: Int, blocks: Bool) async throws -> HoldfastEngine {
        let options = StoreOptions(maxInFlight: maxInFlight)
        let store = try await Store.open(directory.appending(path: "holdfast.db").path, options)
        let documents = store.repository(of: Document.self)
        try await documents.open()
        return HoldfastEngine(store: store, documents: documents, blocks: blocks)
    }

    func close() async throws { try await store.close() }

    func add(_ document: Document) async throws {
        if blocks { try documents.blocking.add(document) } else { try await documents.add(document) }
    }

    func addMany(_ documents: [Document]) async throws { try await self.documents.addMany(documents) }

    func fetch(id: String) async throws -> Document? { try await documents.fetch(id: id) }

    func indexSizes() async throws { try await documents.createIndex(.ascending(\.installedSize)) }

    func find(sizes: Range<Int>) async throws -> [Document] {
        try await documents.find(\.installedSize >= sizes.lowerBound && \.installedSize < sizes.upperBound)
    }
}
