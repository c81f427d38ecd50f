import Foundation
import Holdfast

/// Over 13,000 entries of the ISO registers, from import to a killed process: a first tour of Holdfast.
///
///     swift run -c release IsoRegisters [path of the store]
///
/// Countries, their subdivisions, languages, currencies and scripts come from Debian's package iso-codes. Every step
/// checks what it shows; the program exits with 1 at the first check that fails.
@main
struct IsoRegisters {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.dropFirst().first == "--load" { return try await loadUntilKilled(arguments[2]) }

        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("iso-registers-\(getpid())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = arguments.count > 1 ? arguments[1] : directory.appendingPathComponent("registers.db").path
        print("Holdfast, store \(path)")

        let store = try await Store.open(path)
        let registers = Registers(store)
        try await importAll(registers)
        try await read(registers)
        try await update(registers)
        try await beRefused(store, registers)
        try await commitAsynchronously(registers)
        try await store.close()
        try await killAProcessInMidLoad(path)
        print("Everything held.")
    }
}

/// Prints what was checked; ends the program when it does not hold.
func check(_ holds: Bool, _ sentence: String) {
    print("  \(holds ? "ok" : "FAILED")  \(sentence)")
    if !holds { exit(1) }
}

/// Such as "0.74 s".
func seconds(since began: ContinuousClock.Instant) -> String {
    String(format: "%.2f s", began.duration(to: .now) / .seconds(1))
}

/// Saves every register, in batches that are atomic each.
func importAll(_ registers: Registers) async throws {
    print("Import")
    let began = ContinuousClock.now
    var total = 0
    // On a terminal the line is written over and over.
    let isOnTerminal = isatty(STDOUT_FILENO) != 0
    func importOne<Entry: Register>(_ repository: Repository<Entry>) async throws {
        let entries = try Entry.all()
        for start in stride(from: 0, to: entries.count, by: 500) {
            let batch = Array(entries[start..<min(start + 500, entries.count)])
            try await repository.saveMany(batch)
            total += batch.count
            if isOnTerminal {
                print("  \(total) entries", terminator: "\r")
                fflush(nil)
            }
        }
        check(
            try await repository.fetchAll() == entries.sorted { $0.id < $1.id }, "\(repository.name) are as they came")
    }
    try await importOne(registers.countries)
    try await importOne(registers.subdivisions)
    try await importOne(registers.languages)
    try await importOne(registers.currencies)
    try await importOne(registers.scripts)
    check(total > 13_000, "\(total) entries in \(seconds(since: began))")
}

/// Fetches by id, and finds by members.
func read(_ registers: Registers) async throws {
    print("Read")
    check(try await registers.countries.fetch(id: "DE")?.name == "Germany", "DE is Germany")
    check(try await registers.countries.fetch(id: "XX") == nil, "XX is nobody")
    let living = try Language.all().filter { $0.type == "L" }.count
    check(try await registers.languages.count(["type": "L"]) == living, "\(living) languages are living")
    let lands = try await registers.subdivisions.find(["type": "Land"], limit: 3)
    check(lands.count == 3, "some lands: \(lands.map(\.name).joined(separator: ", "))")
}

/// Changes one entry, and refuses a change that was made from an old copy.
func update(_ registers: Registers) async throws {
    print("Update")
    let countries = registers.countries
    guard let france = try await countries.fetchVersioned(id: "FR") else { return check(false, "there is France") }
    try await countries.patch(id: "FR", ["visited": 2026], expectedVersion: france.version)
    check(try await countries.fetch(id: "FR")?.visited == 2026, "France was visited")
    do {
        try await countries.patch(id: "FR", ["visited": 1999], expectedVersion: france.version)
        check(false, "a change from an old copy is refused")
    } catch let error as HoldfastError where error.status == .versionMismatch {
        check(try await countries.fetch(id: "FR")?.visited == 2026, "a change from an old copy is refused: \(error)")
    }
    try await countries.patch(id: "FR", ["visited": nil])
}

/// A transaction that fails changes nothing; one that lost a race runs again.
func beRefused(_ store: Store, _ registers: Registers) async throws {
    print("Refusal and conflict")
    let (countries, scripts) = (registers.countries, registers.scripts)
    let before = try await countries.fetchAll()
    do {
        try await store.transaction {
            try await countries.deleteMany(ids: ["FR", "IT"])
            try await countries.add(Country(code: "DE", name: "a second one"))
        }
        check(false, "a second Germany is refused")
    } catch let error as HoldfastError where error.status == .exists {
        check(try await countries.fetchAll() == before, "nothing of a refused transaction stays: \(error)")
    }

    // Each may leave, because it sees the other one stay. Both at once would leave nobody.
    try await scripts.saveMany(["Latn", "Cyrl"].map { Script(code: $0, name: $0, onDuty: true) })
    try await withThrowingTaskGroup(of: Void.self) { group in
        for leaving in ["Latn", "Cyrl"] {
            group.addTask {
                try await store.transaction {
                    guard try await scripts.count(["on_duty": true]) == 2 else { return }
                    try await scripts.patch(id: leaving, ["on_duty": false])
                }
            }
        }
        try await group.waitForAll()
    }
    check(try await scripts.count(["on_duty": true]) == 1, "of two that wanted to leave, one stays on duty")
}

/// One durable commit for each language, all under way at once.
func commitAsynchronously(_ registers: Registers) async throws {
    print("Asynchronous commits")
    let languages = registers.languages
    let codes = try await languages.fetchAll().map(\.id)
    let began = ContinuousClock.now
    var told: Set<String> = []
    try await withThrowingTaskGroup(of: Language.self) { group in
        for (number, code) in codes.enumerated() {
            group.addTask { try await languages.patch(id: code, ["number": number]) }
        }
        for try await language in group { told.insert(language.id) }
    }
    print("  \(codes.count) durable commits in \(seconds(since: began))")
    check(told == Set(codes), "each was told when it was stored")
    check(try await languages.fetchAll().map(\.number) == Array(0..<codes.count), "every language has its number")
}
