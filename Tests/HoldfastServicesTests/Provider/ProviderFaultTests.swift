import HoldfastServices
import StorageConformance
import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery

/// A provider that fails at every place in turn: each commit is stored as a whole or not at all, the store tells which,
/// and shows what the provider has.
struct ProviderFaultTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var abilities: HostProviderAbilities
        /// How many calls in a row fail.
        var failures: Int
        /// Whether a write that fails has been done all the same.
        var failsAfterwards = false

        var testDescription: String {
            "abilities \(abilities.rawValue), \(failures) failures\(failsAfterwards ? ", done all the same" : "")"
        }
    }

    private static let cases = [
        Case(abilities: [], failures: 1), Case(abilities: [], failures: 1, failsAfterwards: true),
        Case(abilities: [], failures: 3), Case(abilities: [], failures: 3, failsAfterwards: true),
        Case(abilities: [], failures: 1_000),
        Case(abilities: [.apply], failures: 1), Case(abilities: [.apply, .changeToken, .sync], failures: 1),
        Case(abilities: [.apply, .changeToken, .sync], failures: 4), Case(abilities: [.sync, .find], failures: 1),
        Case(abilities: [.changeToken], failures: 2),
    ]

    @Test(arguments: cases)
    func `whichever call fails, a commit is stored as a whole or not at all`(which: Case) throws {
        var failing = 0
        while true {
            failing += 1
            let hasFailed = try Work(which, failing: failing).run()
            if !hasFailed { break }
        }
        // As many as the work needs when nothing fails.
        #expect(failing > 30)
    }

    /// One run over a fixed list of commits.
    private final class Work {
        private let which: Case
        private let provider: DictionaryProvider
        private let store: Store
        private let songs: Repository
        private let failed = Lock(false)
        /// What was told to be stored.
        private var model: [String: String] = [:]

        init(_ which: Case, failing first: Int) throws {
            self.which = which
            provider = DictionaryProvider(which.abilities)
            store = try Store.open(provider: provider)
            songs = try store.repository("songs")
            provider.contents.withLock { $0.failsAfterwards = which.failsAfterwards }
            let failed = failed
            provider.fail { _, number in
                guard number >= first, number < first + which.failures else { return false }
                failed.withLock { $0 = true }
                return true
            }
        }

        /// Answers whether a call has failed.
        func run() throws -> Bool {
            try commit(["a": "1", "b": "1", "c": "1"])
            try commit(["a": "2"])
            try read()
            try commit(["a": "3", "b": nil, "d": "3", "e": "3"])
            try commit(["d": nil])
            try commit(["b": "4", "c": "4", "a": nil])
            try read()
            try commit(["f": "5", "a": "5"])
            provider.failNoMore()
            try compare()
            try commit(["z": "6"])
            try compare()
            #expect(try store.close(timeoutMilliseconds: nil))
            return failed.withLock { $0 }
        }

        /// Writes and deletes in one transaction.
        private func commit(_ changes: [String: String?]) throws {
            var next = model
            do throws(HoldfastError) {
                let transaction = try store.begin()
                for (id, value) in changes.sorted(by: { $0.key < $1.key }) {
                    next[id] = value.map { "{\"id\":\"\(id)\",\"n\":\($0)}" }
                    let write = Write(
                        key: songs.key(EntityID(unchecked: Array(id.utf8))),
                        action: next[id].map { .put(Array($0.utf8)) } ?? .delete)
                    _ = try transaction.write(write, repository: "songs")
                }
                let receipt = try transaction.commit()
                #expect(receipt.isAtomic == (which.abilities.contains(.apply) || changes.count == 1))
                model = next
            } catch {
                #expect(error.status == .hostError, "\(error)")
                switch error.commitState {
                case .none: break
                case .unknown:
                    // Only what could not be taken back: each entity is the old one or the new.
                    #expect(which.failures > 1)
                    for id in Set(model.keys).union(next.keys) {
                        let stored = provider["songs", id]
                        #expect(stored == model[id] || stored == next[id])
                        next[id] = stored
                    }
                    model = next
                case .done: Issue.record("\(error)")
                }
            }
            let model = model
            let stored = provider.contents.withLock { contents in
                (contents.bodies["songs"] ?? [:]).map { ($0.text, String(decoding: $1, as: UTF8.self)) }
            }
            #expect(Dictionary(uniqueKeysWithValues: stored) == model)
        }

        /// What can be read is right.
        private func read() throws {
            do throws(HoldfastError) {
                try compare()
            } catch {
                #expect(error.status == .hostError, "\(error)")
            }
        }

        private func compare() throws(HoldfastError) {
            let list = try songs.fetchAll()
            var found: [String: String] = [:]
            for item in list.items {
                found[list.id(of: item).text] = String(decoding: try list.body(of: item), as: UTF8.self)
            }
            #expect(found == model)
            for id in "abcdefz".map(String.init) {
                var text: String?
                _ = try songs.fetch(EntityID(unchecked: Array(id.utf8)), in: nil) {
                    text = String(decoding: $1, as: UTF8.self)
                }
                #expect(text == model[id])
            }
        }
    }
}
