import Foundation
import HistoryChecker
import HoldfastCore
import HoldfastEngines
import HoldfastEnvironment
import StressLoad

/// One of several processes that share a store:
///
///     StressProcess URL PROCESS THREADS TRANSACTIONS serializable|snapshot LIMITS [failures]
///
/// With "failures" the storage may fail; what fails then is no fault, and everything is durable.
/// Writes a line when it has the store open, and reads a byte before it begins. Runs so many transactions on each of so many
/// threads, and writes the history to its standard output, as JSON. Ends with 1 where something was not as it must be.
@main
struct StressProcess {
    static func main() throws {
        let numbers = CommandLine.arguments.dropFirst(2).compactMap { Int($0) }
        guard numbers.count == 3 else { fatalError("URL PROCESS THREADS TRANSACTIONS ISOLATION LIMITS") }
        let isolation: Isolation = CommandLine.arguments[5] == "snapshot" ? .snapshot : .serializable
        let (process, threads, transactions) = (numbers[0], numbers[1], numbers[2])

        var options = StoreOptions()
        options.maxSnapshots = 3
        options.maxInFlight = 4
        var environment = Environment.system
        environment.limits = try Limits(CommandLine.arguments[6])
        let store = try StoreURL.open(CommandLine.arguments[1], options: options, environment: environment)
        let bench = try StressBench(store: store, process: process)
        FileHandle.standardOutput.write(Data([10]))
        _ = FileHandle.standardInput.readData(ofLength: 1)

        let workers = try (0..<threads).map { thread in
            let client = StressClient(
                number: process * threads + thread, bench: bench, transactions: transactions, isolation: isolation,
                expectsFailures: CommandLine.arguments.last == "failures")
            return try ThreadWorkers().start(name: "client") { client.step() }
        }
        for worker in workers { _ = worker.waitUntilFinished(deadline: nil) }
        do throws(HoldfastError) { _ = try store.close(timeoutMilliseconds: nil) } catch {
            // A server that fails just then has nothing left to be told.
            if CommandLine.arguments.last != "failures" { throw error }
        }
        FileHandle.standardOutput.write(try JSONEncoder().encode(bench.history))
        for fault in bench.faults { FileHandle.standardError.write(Data((fault + "\n").utf8)) }
        exit(bench.faults.isEmpty ? 0 : 1)
    }
}
