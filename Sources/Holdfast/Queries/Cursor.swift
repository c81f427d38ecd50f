internal import Foundation
internal import HoldfastCore
internal import HoldfastQuery

/// What a query finds, read in pieces of 256 KiB, so that any number of entities takes little memory:
///
///     for try await song in songs.iterate(\.plays > 9) { … }
///
/// Each iteration reads one snapshot: that of the transaction in which it asks for its first entity, or one of its own,
/// taken then. A snapshot that is too old, or in the way of others, is taken back; the iteration then goes on with a newer
/// one if nothing that it has read is different there, and else throws `.conflict`. In a transaction it sees the writes
/// that were made before its first entity, and none after.
///
/// Coming to the end, leaving the loop, an error and the task's cancellation (`CancellationError`) give the snapshot back.
public struct Cursor<Element: Sendable>: AsyncSequence, Sendable {
    typealias Opening = @Sendable () async throws -> HoldfastCore.Cursor?
    typealias Decoding = @Sendable (_ text: [UInt8], _ id: ArraySlice<UInt8>) throws -> Element

    let store: Store
    let open: Opening
    let decode: Decoding

    /// Begins an iteration. Nothing is read yet.
    public func makeAsyncIterator() -> Iterator { Iterator(store: store, open: open, decode: decode) }

    /// One iteration.
    public struct Iterator: AsyncIteratorProtocol {
        private let store: Store
        private let decode: Decoding
        /// Opens the core's cursor, until that is done.
        private var open: Opening?
        /// Dropping it gives its snapshot back.
        private var cursor: HoldfastCore.Cursor?
        private var piece = EntityList()
        private var next = 0

        init(store: Store, open: @escaping Opening, decode: @escaping Decoding) {
            self.store = store
            self.open = open
            self.decode = decode
        }

        /// The next entity, or nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Element? {
            do {
                try Task.checkCancellation()
                if next == piece.count { try await readPiece(isolation: actor) }
                if next == piece.count {
                    close()
                    return nil
                }
                let item = piece.items[next]
                next += 1
                let text = try translatingErrors { () throws(CoreError) in try piece.body(of: item) }
                return try decode(text, piece.ids[item.id])
            } catch {
                close()
                throw error
            }
        }

        private mutating func readPiece(isolation actor: isolated (any Actor)?) async throws {
            if let open {
                cursor = try await open()
                self.open = nil
            }
            guard let cursor else { return }
            piece = try await store.waiting { () throws(CoreError) in try cursor.next(0) }
            next = 0
        }

        private mutating func close() {
            (open, cursor) = (nil, nil)
            (piece, next) = (EntityList(), 0)
        }
    }
}

extension Repository {
    /// What `find` would answer, in pieces. Nothing is read, and no error told, before the first entity is asked for.
    public func iterate(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:]
    ) -> Cursor<Entity> {
        cursor(
            Query(filter, sort, skip, limit, parameters), as: Entity.self)
    }

    /// Some members of what `find` would answer, as another type, in pieces.
    public func iterate<Answer: Decodable & Sendable>(
        _ filter: Filter<Entity> = .all, fields: Fields<Entity>, as type: Answer.Type = Answer.self,
        sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil, parameters: QueryParameters = [:]
    ) -> Cursor<Answer> {
        cursor(
            Query(filter, sort, skip, limit, parameters, fields),
            as: type)
    }

    private func cursor<Answer: Decodable>(_ query: Query<Entity>, as type: Answer.Type) -> Cursor<Answer> {
        Cursor(
            store: store,
            open: { [self] in try await perform(.cursor(query)) },
            decode: { [coding, name] text, id in
                try coding.decode(type, from: text, id: String(decoding: id, as: UTF8.self), repository: name)
            })
    }
}

extension BlockingRepository {
    /// Hands out the entities that match, one after the other, so that any number takes little memory:
    /// ``Repository/iterate(_:sort:skip:limit:parameters:)``.
    /// - Parameters:
    ///   - filter: Which entities are meant.
    ///   - sort: As of `find`.
    ///   - skip: As of `find`.
    ///   - limit: As of `find`.
    ///   - parameters: As of `find`.
    ///   - body: Takes one entity, on this thread. What it throws ends the call.
    public func iterate(
        _ filter: Filter<Entity> = .all, sort: [Order<Entity>] = [], skip: Int = 0, limit: Int? = nil,
        parameters: QueryParameters = [:], _ body: (Entity) throws -> Void
    ) throws {
        let query = Query(filter, sort, skip, limit, parameters)
        guard let cursor = try perform(.cursor(query)) else { return }
        while true {
            let piece = try translatingErrors { () throws(CoreError) in try cursor.next(0) }
            if piece.count == 0 { return }
            for entity in try repository.decode(piece, as: Entity.self) { try body(entity) }
        }
    }
}
