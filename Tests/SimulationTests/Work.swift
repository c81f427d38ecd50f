import HistoryChecker

@testable import HoldfastCore

/// One transaction of a client, from its beginning to its outcome, recorded for the checker.
///
/// What it does follows a kind, each of which would show another fault: lists show every dependency, transfers between
/// accounts show half transactions, and groups with a limit show phantoms.
final class Work: CommitObserver, @unchecked Sendable {
    // Confined to the simulation's thread.
    enum Step {
        case readList(Int)
        case appendToList(Int)
        case transfer(from: Int, to: Int)
        case audit
        case countGroup(Int)
        case joinGroup(Int)
        case claim(Int)
    }

    private unowned let simulation: Simulation
    private unowned let client: Client
    private let process: Process
    private let steps: [Step]
    private let options: TransactionOptions
    private let isAlone: Bool
    private let began: Int

    private var transaction: Transaction?
    private var next = 0
    private var operations: [TransactionRecord.Operation] = []
    private var writes: [EntityKey: [UInt8]?] = [:]
    private var joined: [Int: Set<Int>] = [:]
    private(set) var isSubmitted = false
    private(set) var isOver = false

    init(of client: Client, in simulation: Simulation) {
        self.client = client
        self.simulation = simulation
        process = simulation.process
        began = simulation.tick()
        let chance = simulation.chance
        var options = TransactionOptions()
        options.isDurable = chance.happens(600)
        options.timeoutMilliseconds = chance.element(of: [0, 20] + Array(repeating: 1_000_000, count: 12))
        steps = Self.plan(chance)
        // A key of its own for each claim: whoever comes again with it is answered the same.
        if case .claim(let number) = steps[0] { options.idempotencyKey = Array("claim \(number)".utf8) }
        isAlone = steps.count == 1 && Self.isRead(steps[0]) && chance.happens(500)
        self.options = options
    }

    private static func plan(_ chance: SeededChance) -> [Step] {
        let list = { chance.number(in: 0..<4) }
        switch chance.number(in: 0..<100) {
        case 0..<45:
            return (0..<chance.number(in: 1..<5)).map { _ in
                chance.happens(500) ? .readList(list()) : .appendToList(list())
            }
        case 45..<60:
            let from = chance.number(in: 0..<Simulation.accounts)
            return [
                .transfer(from: from, to: (from + chance.number(in: 1..<Simulation.accounts)) % Simulation.accounts)
            ]
        case 60..<70: return [.audit]
        case 70..<92:
            let group = chance.number(in: 0..<2)
            return chance.happens(300) ? [.countGroup(group)] : [.countGroup(group), .joinGroup(group)]
        default: return [.claim(chance.number(in: 0..<30))]
        }
    }

    private static func isRead(_ step: Step) -> Bool {
        switch step {
        case .readList, .audit, .countGroup: true
        case .appendToList, .transfer, .joinGroup, .claim: false
        }
    }

    // MARK: Steps

    func step() {
        do throws(HoldfastError) {
            if next < steps.count {
                if transaction == nil && !isAlone { transaction = try process.store.begin(options) }
                try perform(steps[next], in: transaction)
                next += 1
                if !isAlone || next < steps.count { return }
                end(.committed)
            } else {
                try finish()
            }
        } catch {
            fail(error)
        }
    }

    private func finish() throws(HoldfastError) {
        guard let transaction else { return end(.committed) }
        let chance = simulation.chance
        if chance.happens(50) {
            try transaction.rollback()
            end(.aborted)
        } else if simulation.isInterrupting || chance.happens(600) {
            // Waiting for a place is for threads.
            if !process.hasPlace && options.timeoutMilliseconds > 0 { return }
            // Its own events may come before this call returns.
            isSubmitted = true
            do throws(HoldfastError) {
                try transaction.submit(self)
            } catch {
                isSubmitted = false
                throw error
            }
            if chance.happens(50) { try? transaction.cancel() }
        } else {
            succeed(try transaction.commit(), isDelivered: false)
        }
    }

    func committed(_ outcome: CommitOutcome) {
        if !isSubmitted { simulation.report("a completion came twice, or for what was not submitted") }
        isSubmitted = false
        switch outcome {
        case .success(let receipt): succeed(receipt, isDelivered: true)
        case .failure(let error): fail(error)
        }
        client.workEnded(self)
    }

    private func succeed(_ receipt: Receipt, isDelivered: Bool) {
        if isOver { return }
        simulation.ledger.noteSuccess(
            receipt, writes: writes, wantsDurability: options.isDurable!, isDelivered: isDelivered)
        if case .claim(let number) = steps[0] { simulation.claims.noteSuccess(of: number, receipt) }
        end(.committed)
    }

    private func fail(_ error: HoldfastError) {
        if isOver { return }
        try? transaction?.rollback()
        simulation.trace("\(error.status)")
        end(error.commitState == .unknown ? .unknown : .aborted)
    }

    /// The process has ended before this has.
    func abandon() {
        if isOver { return }
        // What was not handed over cannot have happened; while a call of its own is being run, it can.
        end(isSubmitted || next == steps.count ? .unknown : .aborted)
    }

    private func end(_ outcome: TransactionRecord.Outcome) {
        isOver = true
        transaction = nil
        simulation.trace("\(client.number) \(outcome)")
        let record = TransactionRecord(
            process: client.number, began: began, ended: simulation.tick(), operations: operations, outcome: outcome)
        simulation.ledger.note(record)
    }
}

// MARK: - What the steps do

extension Work {
    private func perform(_ step: Step, in transaction: Transaction?) throws(HoldfastError) {
        switch step {
        case .readList(let list):
            let key = simulation.listName(list)
            operations.append(.read(key, try numbers(of: key, in: transaction)))
        case .appendToList(let list):
            let key = simulation.listName(list)
            let before = try numbers(of: key, in: transaction)
            let value = simulation.tick()
            operations += [.read(key, before), .append(key, value)]
            try save("{\"id\":\"\(key)\",\"values\":\(before + [value])}", as: key, in: process.lists, transaction)
        case .transfer(let from, let to):
            let names = ["account\(from)", "account\(to)"]
            let balances = [
                try number(of: names[0], in: transaction), try number(of: names[1], in: transaction),
            ]
            let amount = simulation.chance.number(in: 1..<10)
            try setBalance(names[0], balances[0] - amount, in: transaction)
            try setBalance(names[1], balances[1] + amount, in: transaction)
        case .audit:
            try audit(in: transaction)
        case .countGroup(let group):
            _ = try members(of: group, in: transaction)
        case .joinGroup(let group):
            let members = try members(of: group, in: transaction)
            guard members.count < Simulation.groupLimit else { return }
            let value = simulation.tick()
            joined[group, default: []].insert(value)
            operations.append(.append(simulation.groupName(group), value))
            try save(
                "{\"id\":\"\(value)\",\"group\":\"\(simulation.groupName(group))\"}", as: "\(value)",
                in: process.members, transaction)
        case .claim(let number):
            let id = simulation.claims.name(of: number)
            try save("{\"id\":\"\(id)\"}", as: id, in: process.claims, transaction)
        }
    }

    private func audit(in transaction: Transaction?) throws(HoldfastError) {
        var sum = 0
        var count = 0
        let list = try process.accounts.find(in: transaction)
        for item in list.items {
            let text = Array(list.json[item.text])
            let id = EntityID(unchecked: Array(list.ids[item.id]))
            simulation.ledger.noteSeen(process.accounts.key(id), version: item.version, text: text)
            sum += Self.numbers(in: text)[0]
            count += 1
        }
        if count != Simulation.accounts || sum != Simulation.accounts * 100 {
            simulation.report("\(count) accounts hold \(sum)")
        }
    }

    /// The members of a group in the order in which they joined, which the versions tell: a list for the checker.
    private func members(of group: Int, in transaction: Transaction?) throws(HoldfastError) -> [Int] {
        let name = simulation.groupName(group)
        let filter = try Array("{\"group\":\"\(name)\"}".utf8).withBytes { bytes throws(HoldfastError) in
            try Filter.parse(bytes)
        }
        let list = try process.members.find(filter, in: transaction)
        let members = list.items.map { item in
            (
                version: item.version == 0 ? .max : item.version,
                value: Int(String(decoding: list.ids[item.id], as: UTF8.self))!
            )
        }
        let ordered = members.sorted { ($0.version, $0.value) < ($1.version, $1.value) }.map(\.value)
        operations.append(.read(name, ordered))
        if ordered.count > Simulation.groupLimit { simulation.report("\(name) has \(ordered.count) members") }
        return ordered
    }

    // MARK: Entities

    private func numbers(of key: String, in transaction: Transaction?) throws(HoldfastError) -> [Int] {
        try text(of: key, in: process.lists, transaction).map(Self.numbers) ?? []
    }

    private func number(of account: String, in transaction: Transaction?) throws(HoldfastError) -> Int {
        try text(of: account, in: process.accounts, transaction).map(Self.numbers)?.first ?? 0
    }

    private func setBalance(_ name: String, _ balance: Int, in transaction: Transaction?) throws(HoldfastError) {
        try save("{\"id\":\"\(name)\",\"balance\":[\(balance)]}", as: name, in: process.accounts, transaction)
    }

    private func text(
        of id: String, in repository: Repository, _ transaction: Transaction?
    ) throws(HoldfastError) -> [UInt8]? {
        let id = EntityID(unchecked: Array(id.utf8))
        var found: (version: CommitSequence, text: [UInt8])?
        guard try repository.fetch(id, in: transaction, { found = ($0, Array($1)) }), let found else { return nil }
        simulation.ledger.noteSeen(repository.key(id), version: found.version, text: found.text)
        return found.text
    }

    private func save(
        _ text: String, as id: String, in repository: Repository, _ transaction: Transaction?
    ) throws(HoldfastError) {
        let bytes = Array(text.utf8)
        writes[repository.key(EntityID(unchecked: Array(id.utf8)))] = bytes
        _ = try bytes.withBytes { bytes throws(HoldfastError) in try repository.save(bytes, in: transaction) }
    }

    /// The numbers of the one array in a text.
    private static func numbers(in text: [UInt8]) -> [Int] {
        let inner = text.drop { $0 != UInt8(ascii: "[") }.dropFirst().prefix { $0 != UInt8(ascii: "]") }
        return inner.split { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") }
            .map { Int(String(decoding: $0, as: UTF8.self))! }
    }
}
