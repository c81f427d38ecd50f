import Foundation
import Holdfast

/// What the second process commits: two of them in each transaction.
struct Arrival: Codable, Identifiable, Sendable {
    var id: String
    var name: String
}

/// Kills a second process while it commits, and counts that everything it acknowledged is there.
func killAProcessInMidLoad(_ path: String) async throws {
    print("Kill")
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["--load", path]
    process.standardOutput = output
    try process.run()

    var text = Data()
    var lines = 0
    while true {
        let data = output.fileHandleForReading.availableData
        if data.isEmpty { break }
        text.append(data)
        lines += data.count { $0 == UInt8(ascii: "\n") }
        if lines >= 2000 { kill(process.processIdentifier, SIGKILL) }
    }
    process.waitUntilExit()
    // The very last line may have been cut by the kill.
    let acknowledged = String(decoding: text, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        .dropLast().map(String.init)
    let wasKilled = process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
    check(wasKilled && acknowledged.count >= 2000, "killed after \(acknowledged.count) acknowledged commits")

    let options = StoreOptions(lockTimeout: .seconds(10))
    let store = try await Store.open(path, options)
    let stored = Set(try await store.repository(of: Arrival.self, named: "arrivals").fetchAll().map(\.id))
    let missing = acknowledged.filter { !stored.contains($0) }
    check(missing.isEmpty, "all of them are among the \(stored.count) entities that are stored")
    let halves = stored.filter { !stored.contains($0.hasSuffix("/back") ? String($0.dropLast(5)) : $0 + "/back") }
    check(halves.isEmpty, "each transaction is there whole")
    check(
        try await Registers(store).countries.fetch(id: "DE")?.name == "Germany", "and everything else is still there")
    try await store.close()
}

/// The second process: commits for ever, a thousand at once, and prints the id of each commit that is durable.
func loadUntilKilled(_ path: String) async throws {
    let store = try await Store.open(path)
    let arrivals = store.repository(of: Arrival.self, named: "arrivals")
    let subdivisions = try Subdivision.all()

    @Sendable func arrive(_ number: Int) async throws {
        let place = subdivisions[number % subdivisions.count]
        let id = "\(number)/\(place.code)"
        try await store.transaction {
            try await arrivals.save(Arrival(id: id, name: place.name))
            try await arrivals.save(Arrival(id: id + "/back", name: place.name))
        }
        FileHandle.standardOutput.write(Data("\(id)\n".utf8))
    }

    try await withThrowingTaskGroup(of: Void.self) { group in
        var number = 0
        while true {
            group.addTask { [number] in try await arrive(number) }
            number += 1
            if number >= 1000 { try await group.next() }
        }
    }
}
