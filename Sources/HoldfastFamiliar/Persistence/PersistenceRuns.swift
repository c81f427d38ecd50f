/// The states of all requests, saves or deletes. Each run has a number of its own, so that an outcome of one whose token
/// another has taken meanwhile changes nothing.
struct PersistenceRuns<RunState: Sendable>: Sendable {
    private(set) var states: [PersistenceToken: RunState] = [:]
    /// How many of those that have ended are remembered.
    private static var kept: Int { 1000 }
    /// Of the run that was begun last.
    private(set) var latest: PersistenceToken?
    private var begun: UInt64 = 0
    /// Those that have not ended.
    private var live: [PersistenceToken: UInt64] = [:]
    /// The others, in the order in which they ended.
    private var ended: [PersistenceToken] = []

    /// The number of the token's run, if it has not ended.
    func run(of token: PersistenceToken) -> UInt64? { live[token] }

    /// Begins a run, in the place of an earlier one of the token.
    mutating func begin(_ token: PersistenceToken, _ state: RunState) {
        if states[token] != nil, live[token] == nil { ended.removeAll { $0 == token } }
        begun += 1
        live[token] = begun
        states[token] = state
        latest = token
    }

    /// Takes note of how a run goes on. False, and nothing, where it has ended.
    mutating func update(_ token: PersistenceToken, run: UInt64, _ state: RunState) -> Bool {
        guard live[token] == run else { return false }
        states[token] = state
        return true
    }

    /// Takes note of how a run ended; nil: as it was. False, and nothing, where it had ended.
    mutating func end(_ token: PersistenceToken, run: UInt64, _ state: RunState? = nil) -> Bool {
        guard live[token] == run else { return false }
        if let state { states[token] = state }
        live[token] = nil
        ended.append(token)
        if ended.count > Self.kept { states[ended.removeFirst()] = nil }
        return true
    }
}

extension PersistenceRuns: Equatable where RunState: Equatable {}
