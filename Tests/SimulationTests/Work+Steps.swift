import HistoryChecker
import HoldfastStorage

@testable import HoldfastCore
@testable import HoldfastEnvironment
@testable import HoldfastQuery

/// What the steps of a transaction do.
extension Work {
    func perform(_ step: Step, in transaction: Transaction?) throws(HoldfastError) {
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
        case .rollBackAppend(let list):
            let key = simulation.listName(list)
            guard let transaction else { return }
            let before = try numbers(of: key, in: transaction)
            operations.append(.read(key, before))
            let savepoint = try transaction.savepoint()
            let kept = writes
            try save("{\"id\":\"\(key)\",\"values\":\(before + [-1])}", as: key, in: process.lists, transaction)
            try transaction.rollBack(to: savepoint)
            writes = kept
        case .readVersion(let list):
            seen = (simulation.listName(list), [], 0)
            if let found = try entity(seen.key, in: process.lists, nil) {
                seen = (seen.key, Self.numbers(in: found.body), found.version)
            }
        case .setVersion:
            try setVersion()
        case .transfer(let from, let to):
            let names = ["account\(from)", "account\(to)"]
            let balances = [
                try balance(of: names[0], in: transaction), try balance(of: names[1], in: transaction),
            ]
            let movesAll = balances[0] > 0 && simulation.chance.happens(100)
            let amount = movesAll ? balances[0] : simulation.chance.number(in: 1..<10)
            if movesAll {
                // An account that is not there counts as empty.
                let id = EntityID(unchecked: Array(names[0].utf8))
                writes[process.accounts.key(id)] = .some(nil)
                try process.accounts.perform(WriteCall(.delete, id), in: transaction)
            } else {
                try setBalance(names[0], balances[0] - amount, in: transaction)
            }
            try setBalance(names[1], balances[1] + amount, in: transaction)
        case .audit:
            try audit(in: transaction)
        case .countGroup(let group):
            _ = try members(of: group, in: transaction)
        case .joinGroup(let group):
            let members = try members(of: group, in: transaction)
            guard members.count < Simulation.groupLimit else { return }
            let value = simulation.tick()
            operations.append(.append(simulation.groupName(group), value))
            try save(
                "{\"id\":\"\(value)\",\"group\":\"\(simulation.groupName(group))\"}", as: "\(value)",
                in: process.members, transaction)
        case .goOffDuty:
            let watchers = try onDuty(in: transaction)
            if watchers.isEmpty { simulation.report("nobody is on duty") }
            guard watchers.count > 1 else { return }
            try setDuty(false, of: simulation.chance.element(of: watchers), in: transaction)
        case .comeOnDuty(let number):
            try setDuty(true, of: "watcher\(number)", in: transaction)
        case .claim(let number):
            let id = simulation.claims.name(of: number)
            try save("{\"id\":\"\(id)\"}", as: id, in: process.claims, transaction)
        }
    }

    /// A commit of its own, validated in its batch.
    private func setVersion() throws(HoldfastError) {
        let value = simulation.tick()
        operations = [.read(seen.key, seen.numbers), .append(seen.key, value)]
        let text = Array("{\"id\":\"\(seen.key)\",\"values\":\(seen.numbers + [value])}".utf8)
        let key = process.lists.key(EntityID(unchecked: Array(seen.key.utf8)))
        writes = [key: text]
        let stored = try text.withBytes { text throws(HoldfastError) in
            seen.version == 0
                ? try process.lists.perform(WriteCall(.add, nil, text))
                : try process.lists.perform(WriteCall(.update, nil, text, expectedVersion: seen.version))
        }
        let change = Receipt.Change(repository: "lists", id: key.id, isDeletion: false)
        succeed(
            Receipt(
                sequence: stored.version, position: "", isDurable: true, attempts: 1, isReplayed: false,
                changes: [change]),
            isDelivered: false)
    }

    private func audit(in transaction: Transaction?) throws(HoldfastError) {
        var sum = 0
        let list = try process.accounts.find(in: transaction)
        for item in list.items {
            let text = try list.body(of: item)
            let id = list.id(of: item)
            simulation.ledger.noteSeen(process.accounts.key(id), version: item.version, body: text)
            sum += Self.numbers(in: text)[0]
        }
        if sum != Simulation.accounts * 100 {
            simulation.report("\(list.count) accounts hold \(sum)")
        }
    }

    /// The members of a group in the order in which they joined, which the versions tell: a list for the checker.
    private func members(of group: Int, in transaction: Transaction?) throws(HoldfastError) -> [Int] {
        let name = simulation.groupName(group)
        let list = try find("{\"group\":\"\(name)\"}", in: process.members, transaction)
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

    private func onDuty(in transaction: Transaction?) throws(HoldfastError) -> [String] {
        let list = try find("{\"on_duty\":true}", in: process.watchers, transaction)
        return list.items.map { String(decoding: list.ids[$0.id], as: UTF8.self) }
    }

    private func setDuty(_ isOn: Bool, of name: String, in transaction: Transaction?) throws(HoldfastError) {
        try save("{\"id\":\"\(name)\",\"on_duty\":\(isOn)}", as: name, in: process.watchers, transaction)
    }

    // MARK: Entities

    private func find(
        _ filter: String, in repository: Repository, _ transaction: Transaction?
    ) throws(HoldfastError) -> EntityList {
        let filter = try Array(filter.utf8).withBytes { bytes throws(HoldfastError) in try Filter.parse(bytes) }
        return try repository.find(filter, in: transaction)
    }

    private func numbers(of id: String, in transaction: Transaction?) throws(HoldfastError) -> [Int] {
        try entity(id, in: process.lists, transaction).map { Self.numbers(in: $0.body) } ?? []
    }

    private func balance(of id: String, in transaction: Transaction?) throws(HoldfastError) -> Int {
        try entity(id, in: process.accounts, transaction).map { Self.numbers(in: $0.body)[0] } ?? 0
    }

    private func setBalance(_ name: String, _ balance: Int, in transaction: Transaction?) throws(HoldfastError) {
        try save("{\"id\":\"\(name)\",\"balance\":[\(balance)]}", as: name, in: process.accounts, transaction)
    }

    private func entity(
        _ id: String, in repository: Repository, _ transaction: Transaction?
    ) throws(HoldfastError) -> (version: CommitSequence, body: [UInt8])? {
        let id = EntityID(unchecked: Array(id.utf8))
        var found: (version: CommitSequence, body: [UInt8])?
        guard try repository.fetch(id, in: transaction, { found = ($0, Array($1)) }), let found else { return nil }
        simulation.ledger.noteSeen(repository.key(id), version: found.version, body: found.body)
        return found
    }

    private func save(
        _ text: String, as id: String, in repository: Repository, _ transaction: Transaction?
    ) throws(HoldfastError) {
        let bytes = Array(text.utf8)
        writes[repository.key(EntityID(unchecked: Array(id.utf8)))] = bytes
        _ = try bytes.withBytes { bytes throws(HoldfastError) in
            try repository.perform(WriteCall(.save, nil, bytes), in: transaction)
        }
    }

    /// The numbers of the one array in a text.
    private static func numbers(in text: [UInt8]) -> [Int] {
        let inner = text.drop { $0 != UInt8(ascii: "[") }.dropFirst().prefix { $0 != UInt8(ascii: "]") }
        return inner.split { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") }
            .map { Int(String(decoding: $0, as: UTF8.self))! }
    }
}
