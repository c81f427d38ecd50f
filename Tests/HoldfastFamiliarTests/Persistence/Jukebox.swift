import Foundation
import HoldfastFamiliar
import Testing

#if canImport(Combine)
    import Combine
#else
    import OpenCombine
#endif

struct Offline: Error, Equatable {}

/// A controller whose publishers do what the test says, when it says so.
final class Jukebox: PersistenceController, @unchecked Sendable {
    // Sendable: what changes is behind the lock.
    typealias Element = Song
    typealias Request = String
    typealias Results = PassthroughSubject<PersistenceFetchResult<Song>, Offline>

    private let lock = NSLock()
    private var saves: [String: PassthroughSubject<Song, Offline>] = [:]
    private var deletes: [String: PassthroughSubject<Void, Offline>] = [:]
    private var requests: [String: Results] = [:]
    private var seen: [String] = []

    /// What it was called for, and which requests were cancelled, in order.
    var calls: [String] { lock.withLock { seen } }

    func savePublisher(for element: Song) -> AnyPublisher<Void, Offline> {
        let saved: AnyPublisher<Song, Offline> = savePublisher(for: element)
        return saved.map { _ in }.eraseToAnyPublisher()
    }

    func savePublisher(for element: Song) -> AnyPublisher<Song, Offline> {
        lock.withLock {
            seen.append("save \(element.id)")
            let subject = PassthroughSubject<Song, Offline>()
            saves[element.id] = subject
            return subject.eraseToAnyPublisher()
        }
    }

    func deletePublisher(for element: Song) -> AnyPublisher<Void, Offline> {
        lock.withLock {
            seen.append("delete \(element.id)")
            let subject = PassthroughSubject<Void, Offline>()
            deletes[element.id] = subject
            return subject.eraseToAnyPublisher()
        }
    }

    func requestPublisher(for request: String) -> AnyPublisher<PersistenceFetchResult<Song>, Offline> {
        lock.withLock {
            seen.append("request \(request)")
            let subject = Results()
            requests[request] = subject
            return subject.handleEvents(receiveCancel: { [weak self] in self?.note("cancel \(request)") })
                .eraseToAnyPublisher()
        }
    }

    private func note(_ call: String) { lock.withLock { seen.append(call) } }

    // MARK: What the test says

    func saved(_ song: Song, as stored: Song? = nil) {
        let subject = lock.withLock { saves[song.id]! }
        subject.send(stored ?? song)
        subject.send(completion: .finished)
    }

    func saveFails(_ song: Song) { lock.withLock { saves[song.id]! }.send(completion: .failure(Offline())) }

    func deleted(_ song: Song) {
        let subject = lock.withLock { deletes[song.id]! }
        subject.send(())
        subject.send(completion: .finished)
    }

    func deleteFails(_ song: Song) { lock.withLock { deletes[song.id]! }.send(completion: .failure(Offline())) }

    func answer(_ request: String, _ ids: String...) { results(request).send(Self.result(ids)) }

    /// What was published for a request, also after it was cancelled.
    func results(_ request: String) -> Results { lock.withLock { requests[request]! } }

    static func result(_ ids: [String]) -> PersistenceFetchResult<Song> {
        PersistenceFetchResult(elements: ids.map { Song(id: $0, title: $0) })
    }
}

typealias SongsAction = Jukebox.Action
typealias SongsState = Jukebox.State

extension PersistenceState.RequestState where Element == Song, Request == String {
    /// In a few words.
    var told: String {
        switch self {
        case .initial: "initial"
        case .loading: "loading"
        case .failed(_, let request): "failed \(request)"
        case .received(let songs): (["received"] + songs.map(\.id)).joined(separator: " ")
        case .canceled: "canceled"
        }
    }
}

extension PersistenceState.ProcessState where Element == Song {
    /// In a few words.
    var told: String {
        switch self {
        case .initial: "initial"
        case .processing: "processing"
        case .failed(_, let element): "failed \(element.id)"
        case .succeeded(let element): "succeeded \(element.id)"
        }
    }
}

/// Notes what a publisher tells, from whatever thread.
final class Recording<Value>: @unchecked Sendable {
    // Sendable: what changes is behind the lock.
    private let lock = NSLock()
    private var noted: [Value] = []
    private var subscription: AnyCancellable?

    init(_ publisher: some Publisher<Value, Never>) {
        let subscription = publisher.sink { [unowned self] value in lock.withLock { noted.append(value) } }
        lock.withLock { self.subscription = subscription }
    }

    var values: [Value] { lock.withLock { noted } }
}
