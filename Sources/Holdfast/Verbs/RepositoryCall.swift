internal import HoldfastCore
internal import HoldfastEnvironment
internal import HoldfastStorage

/// A call of a repository's, described once, and carried out by each of its doors in a way of its own: `Repository` lets its
/// task wait, `BlockingRepository` its thread, and `DeferredRepository` either of them, when it is run.
struct RepositoryCall<Entity: Codable & Identifiable & Sendable, Answer: Sendable>: Sendable
where Entity.ID: EntityIdentifier {
    /// What is asked of the core. Its answer is decoded by the caller.
    typealias Question =
        @Sendable (HoldfastCore.Transaction?) throws(CoreError) -> @Sendable () throws -> Answer

    /// What is to be done, with everything encoded.
    enum Work {
        /// Writes that are known without reading. What they have left is handed to the second, if it is wanted.
        case write([Write], wantsResults: Bool, @Sendable ([[UInt8]]) throws -> Answer)
        case read(Question)
        /// Reads, and writes accordingly: outside a transaction, in one that runs again after a conflict.
        case change(Question)
    }

    /// Whether it may write.
    let writes: Bool
    /// The answer where `.notFound` is well.
    var answerIfMissing: Answer?
    /// What it is for an opened repository.
    let work: @Sendable (Repository<Entity>, HoldfastCore.Repository) throws -> Work

    fileprivate func forgiven(_ error: any Error) throws -> Answer {
        guard let answerIfMissing, (error as? HoldfastError)?.status == .notFound else { throw error }
        return answerIfMissing
    }
}

// MARK: Awaited

extension Repository {
    func perform<Answer>(_ call: RepositoryCall<Entity, Answer>) async throws -> Answer {
        call.writes ? try await store.writing { try await carryOut(call) } : try await carryOut(call)
    }

    private func carryOut<Answer>(_ call: RepositoryCall<Entity, Answer>) async throws -> Answer {
        try Task.checkCancellation()
        let core = try await core()
        switch try call.work(self, core) {
        case .write(let writes, let wantsResults, let answer):
            do { return try answer(await carryOut(writes, wantsResults, core)) } catch {
                return try call.forgiven(error)
            }
        case .read(let question): return try await ask(question)()
        case .change(let question):
            return try await store.transaction {
                try Task.checkCancellation()
                return try await ask(question)()
            }
        }
    }

    private func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (HoldfastCore.Transaction?) throws(CoreError) -> Answer
    ) async throws -> Answer {
        let transaction = try TransactionScope.transaction(of: store)
        return try await store.waiting { () throws(CoreError) in try question(transaction) }
    }

    /// Inside the transaction that the task is in, or as a commit of their own. Answers what they have left, if wanted.
    private func carryOut(
        _ writes: [Write], _ wantsResults: Bool, _ core: HoldfastCore.Repository
    ) async throws -> [[UInt8]] {
        if let scope = try TransactionScope.joined(by: store) {
            let transaction = scope.transaction
            return try await store.waiting { [name] () throws(CoreError) in
                transaction.note(writingIn: scope.number)
                return try transaction.write(writes, wantsResults: wantsResults, repository: name)
            }
        }
        if writes.isEmpty { return [] }
        let pending = CommitFuture()
        let commit = try translatingErrors { () throws(CoreError) in
            try core.commit(of: writes, wantsResults: wantsResults, unlessValidated: pending)
        }
        guard let commit else {
            return try await store.transaction {
                try Task.checkCancellation()
                return try await carryOut(writes, wantsResults, core)
            }
        }
        let queue = store.core.queue
        if try translatingErrors({ () throws(CoreError) in try !queue.takeFreeSlot(for: commit) }) {
            try await store.withSlot(until: commit.deadline!) {
                try translatingErrors { () throws(CoreError) in try queue.submitInSlot(commit) }
            }
        }
        _ = try await pending.receipt { _ = queue.cancel(commit) }
        return commit.results
    }
}

// MARK: Blocking

extension BlockingRepository {
    func perform<Answer>(_ call: RepositoryCall<Entity, Answer>) throws -> Answer {
        let store = repository.store
        guard call.writes else { return try carryOut(call) }
        try store.requireBlocking()
        return try store.writingNow {
            // In which part of a transaction, before anything can fail.
            if let scope = TransactionScope.scope(of: store) { scope.transaction.note(writingIn: scope.number) }
            return try carryOut(call)
        }
    }

    private func carryOut<Answer>(_ call: RepositoryCall<Entity, Answer>) throws -> Answer {
        let core = try repository.coreNow()
        switch try call.work(repository, core) {
        case .write(let writes, let wantsResults, let answer):
            do {
                return try answer(
                    ask { transaction throws(CoreError) in
                        try core.perform(writes, in: transaction, wantsResults: wantsResults).bodies
                    })
            } catch { return try call.forgiven(error) }
        case .read(let question), .change(let question): return try ask(question)()
        }
    }

    func ask<Answer>(_ question: (HoldfastCore.Transaction?) throws(CoreError) -> Answer) throws -> Answer {
        let transaction = try TransactionScope.transaction(of: repository.store)
        return try translatingErrors { () throws(CoreError) in try question(transaction) }
    }
}

// MARK: Later

extension DeferredRepository {
    func operation<Answer>(_ call: RepositoryCall<Entity, Answer>) -> Operation<Answer> {
        Operation(
            blocking: { [repository] in try repository.blocking.perform(call) },
            asynchronous: { [repository] in try await repository.perform(call) })
    }
}
