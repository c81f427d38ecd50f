import Foundation

/// The benchmark's programs in Swift: Holdfast's Swift API and GRDB, with one Codable type.
///
///     SwiftEngines ENGINE WORKLOAD DIRECTORY DOCUMENTS COUNT IN_FLIGHT
///
/// ENGINE is holdfast or grdb, or one of them with "-blocking" behind it. The directory is created. Prints a line of
/// JSON, as the other programs do.
@main
struct Main {
    static func main() async {
        do {
            let (operations, seconds) = try await run(Array(CommandLine.arguments.dropFirst()))
            print("{\"operations\":\(operations),\"seconds\":\(seconds),\"repeated\":0}")
        } catch {
            FileHandle.standardError.write(Data("FAILED: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws -> (operations: Int, seconds: Double) {
        guard arguments.count == 6, let workload = Workload(rawValue: arguments[1]),
            let count = Int(arguments[4]), let inFlight = Int(arguments[5]), count > 0, inFlight > 0
        else { throw Failure(description: "ENGINE WORKLOAD DIRECTORY DOCUMENTS COUNT IN_FLIGHT") }
        let directory = URL(filePath: arguments[2])
        let documents = try Document.load(arguments[3])
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)

        func measure<E: Engine>(_ type: E.Type, blocks: Bool = false) async throws -> (Int, Double) {
            let engine = try await type.open(directory, maxInFlight: inFlight, blocks: blocks)
            let measured = try await workload.measure(engine, documents, count: count, inFlight: inFlight)
            try await engine.close()
            return measured
        }
        switch arguments[0] {
        case "holdfast": return try await measure(HoldfastEngine.self)
        case "holdfast-blocking": return try await measure(HoldfastEngine.self, blocks: true)
        case "grdb": return try await measure(GRDBEngine.self)
        case "grdb-blocking": return try await measure(GRDBEngine.self, blocks: true)
        default: throw Failure(description: "no such engine: \(arguments[0])")
        }
    }
}
