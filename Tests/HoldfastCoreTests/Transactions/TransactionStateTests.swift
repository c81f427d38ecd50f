import Testing

@testable import HoldfastCore
@testable import HoldfastEnvironment

@Suite("The state of a transaction")
struct TransactionStateTests {
    /// What each call makes of each state, written down once more as a reader would say it: answers, and behind each the
    /// states that give it. `>` stands before the state that it leads to, `!` before a refusal, and `over` for the four
    /// refusals of what is committing or has ended. In a state that is not named the call cannot come.
    private static let table: [TransactionCall: String] = [
        // A store's.
        .use: "stay: open ending; validators: validating; !onlyValidators: claimed sealed ready; over",
        .change: "stay: open ending; !validatorsAsked: claimed validating sealed ready; over",
        .enlist:
            "stay: open ending; validators: validating; !sealed: claimed sealed ready committing; "
            + "!committed: committed; !rolledBack: rolledBack; !failed: failed",
        .validate: ">validating: open ending; !validatorsAsked: claimed validating sealed ready; over",
        .claim:
            ">claimed: open; !beingEnded: ending claimed validating sealed ready committing; "
            + "!committed: committed; !rolledBack: rolledBack; !failed: failed",
        .claimInVain:
            ">ending: open; !beingEnded: ending claimed validating sealed ready committing; "
            + "!committed: committed; !rolledBack: rolledBack; !failed: failed",
        .seal: ">validating: claimed; over",
        .commit: ">committing: open ending; !validatorsAsked: claimed validating sealed ready; over",
        .store: ">committing: sealed ready; over",
        .commitAroundScope: "!scopeUnderWay: open ending claimed validating sealed ready; over",
        .commitFromBody: "!managed: open ending claimed validating sealed ready; over",
        .rollback:
            ">rolledBack: open ending; stay: rolledBack; !validatorsAsked: claimed validating sealed ready; "
            + "!committing: committing; !committed: committed; !failed: failed",
        .rollbackFromBody:
            "stay: rolledBack; !managed: open ending claimed validating sealed ready committing committed failed",
        .giveUp:
            ">failed: open ending; stay: claimed validating sealed ready committing committed rolledBack failed",
        .retry:
            "stay: rolledBack failed; !notFailed: open ending claimed validating sealed ready committing committed",
        .retryFromBody:
            "!managed: rolledBack failed; !notFailed: open ending claimed validating sealed ready committing committed",
        .letGo:
            ">open: ending claimed ready; stay: open validating sealed committing committed rolledBack failed",
        .keep: ">ready: sealed",
        .stored: ">committed: committing",
        .notAccepted: ">open: committing",
        .failed: ">failed: committing",
        // Of both.
        .accepted: ">sealed: validating",
        .refused: ">open: validating",
        .reopen:
            ">open: sealed ready; stay: open ending calling claimed validating committing heldCommit heldRollback "
            + "notifyingCommit notifyingRollback committed rolledBack failed",
        // Of trees.
        .enlistTree:
            "stay: open calling validating; !sealed: sealed heldCommit heldRollback; "
            + "!membersCalled: notifyingCommit notifyingRollback; !hasEnded: committed rolledBack",
        .rearrange:
            "stay: open calling validating notifyingCommit notifyingRollback committed rolledBack; "
            + "!sealed: sealed heldCommit heldRollback",
        .beginAnother:
            "!active: open; !membersCalled: calling validating notifyingCommit notifyingRollback; "
            + "!sealed: sealed heldCommit heldRollback; stay: committed rolledBack",
        .callMembers:
            "stay: open; !membersCalled: calling validating notifyingCommit notifyingRollback; "
            + "!sealed: sealed heldCommit heldRollback; !notActive: committed rolledBack",
        .validateTrees:
            ">validating: open; !membersCalled: calling validating notifyingCommit notifyingRollback; "
            + "!sealed: sealed heldCommit heldRollback; !notActive: committed rolledBack",
        .commitTrees: ">notifyingCommit: open calling sealed; " + itHasEnded,
        .commitTreesLater: ">heldCommit: open calling sealed; " + itHasEnded,
        .rollBackTrees: ">notifyingRollback: open calling sealed; " + itHasEnded,
        .rollBackTreesLater: ">heldRollback: open calling sealed; " + itHasEnded,
        .release:
            ">notifyingCommit: heldCommit; >notifyingRollback: heldRollback; "
            + "stay: open calling validating sealed notifyingCommit notifyingRollback committed rolledBack",
        .notified: ">committed: notifyingCommit; >rolledBack: notifyingRollback",
        .desert:
            ">rolledBack: open; stay: calling validating sealed heldCommit heldRollback notifyingCommit notifyingRollback "
            + "committed rolledBack",
    ]
    private static let itHasEnded =
        "stay: validating heldCommit heldRollback notifyingCommit notifyingRollback committed rolledBack"

    private func state(_ name: Substring) throws -> TransactionState {
        try #require(TransactionState.allCases.first { "\($0)" == name }, "no state \(name)")
    }

    private func refusal(_ name: Substring) throws -> TransactionRefusal {
        try #require(TransactionRefusal.allCases.first { "\($0)" == name }, "no refusal \(name)")
    }

    private func answer(_ text: Substring) throws -> TransactionState.Answer {
        switch text.first {
        case ">": .to(try state(text.dropFirst()))
        case "!": .refuse(try refusal(text.dropFirst()))
        default: text == "stay" ? .stay : .onlyForValidators
        }
    }

    private func row(_ text: String) throws -> [TransactionState: TransactionState.Answer] {
        var row: [TransactionState: TransactionState.Answer] = [:]
        let whole = text.replacing(
            "over", with: "!committing: committing; !committed: committed; !rolledBack: rolledBack; !failed: failed")
        for part in whole.split(separator: "; ") {
            let halves = part.split(separator: ": ")
            for name in try #require(halves.last).split(separator: " ") {
                let known = row.updateValue(try answer(halves[0]), forKey: try state(name))
                #expect(known == nil, "\(name) twice")
            }
        }
        return row
    }

    @Test func `answers every call as the table says, and is in no other where the call can come`() throws {
        for call in TransactionCall.allCases {
            let row = try row(try #require(Self.table[call], "\(call) is not in the table"))
            for state in TransactionState.allCases {
                #expect(state.answer(to: call) == row[state] ?? .unreachable, "\(call) in \(state)")
            }
        }
    }

    /// Where these calls lead to, one after the other, from a transaction that was begun.
    private func reached(by calls: some Sequence<TransactionCall>, and others: Set<TransactionState>)
        -> Set<TransactionState>
    {
        var reached = others.union([.open])
        while true {
            let next = calls.flatMap { call in
                reached.compactMap { state in
                    if case .to(let next) = state.answer(to: call) { next } else { nil }
                }
            }
            if reached.isSuperset(of: next) { return reached }
            reached.formUnion(next)
        }
    }

    private static let both: Set<TransactionCall> = [.accepted, .refused, .reopen]
    private static let ofTrees: Set<TransactionCall> = [
        .enlistTree, .rearrange, .beginAnother, .callMembers, .validateTrees, .commitTrees, .commitTreesLater,
        .rollBackTrees, .rollBackTreesLater, .release, .notified, .desert,
    ]
    private static let ofStore = Set(TransactionCall.allCases).subtracting(both).subtracting(ofTrees)

    @Test func `is in reach, of a store's transaction or of trees, and no call of the one comes to the other's`() {
        let ofStore = reached(by: Self.ofStore.union(Self.both), and: [])
        // Whether members are called is counted beside.
        let ofTrees = reached(by: Self.ofTrees.union(Self.both), and: [.calling])
        #expect(ofStore.union(ofTrees) == Set(TransactionState.allCases))
        for state in TransactionState.allCases {
            for call in Self.ofStore where !ofStore.contains(state) {
                #expect(state.answer(to: call) == .unreachable, "\(call) in \(state)")
            }
            for call in Self.ofTrees where !ofTrees.contains(state) {
                #expect(state.answer(to: call) == .unreachable, "\(call) in \(state)")
            }
        }
    }

    @Test func `is left by no call once it has ended, and can be ended from everywhere else`() {
        for state in TransactionState.allCases {
            let next = TransactionCall.allCases.filter { call in
                if case .to = state.answer(to: call) { true } else { false }
            }
            #expect(next.isEmpty == state.hasEnded, "\(state) is left by \(next)")
        }
    }

    @Test func `refuses with the status that the header names`() {
        let statuses: [TransactionRefusal: Status] = [
            .committing: .invalidState, .committed: .invalidState, .rolledBack: .invalidState, .failed: .invalidState,
            .managed: .invalidState, .scopeUnderWay: .invalidState, .beingEnded: .invalidState,
            .notFailed: .invalidState, .hasEnded: .invalidState, .onlyValidators: .reentrant,
            .validatorsAsked: .reentrant, .membersCalled: .reentrant, .sealed: .busy, .active: .transactionActive,
            .notActive: .transactionNotActive, .impossible: .internal,
        ]
        for refusal in TransactionRefusal.allCases {
            #expect(refusal.error.status == statuses[refusal], "\(refusal)")
            #expect(!refusal.error.message.isEmpty)
        }
    }

    @Test func `is told to hosts as open until its commit is on its way`() {
        for state in TransactionState.allCases {
            #expect((state.phase == .open) == state.isOpen, "\(state)")
            #expect([.committed, .rolledBack, .failed].contains(state.phase) == state.hasEnded, "\(state)")
        }
    }
}
