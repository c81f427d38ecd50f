import Foundation

/// What is measured: a store of documents, as its careful user would write it.
protocol Engine: Sendable {
    /// Creates a store in this directory, whose commits are durable.
    /// - Parameter blocks: Whether it adds one document, and fetches one, by calls that block the thread.
    static func open(_ directory: URL, maxInFlight: Int, blocks: Bool) async throws -> Self
    func close() async throws

    /// Commits one new document.
    func add(_ document: Document) async throws
    /// Commits new documents together.
    func addMany(_ documents: [Document]) async throws
    func fetch(id: String) async throws -> Document?
    func indexSizes() async throws
    /// The documents of an installed size in this range.
    func find(sizes: Range<Int>) async throws -> [Document]
}
