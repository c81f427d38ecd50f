import Foundation
import HistoryChecker
import HoldfastCore
import HoldfastEnvironment
import Testing

/// Several processes on one server, recorded and checked as one history: as it is, and while the server fails. And what a
/// program does there that leaves isolation to the server.
@Suite(.serialized) struct ServerTests {
    private static let server = PrivateServer()

    @Test func `processes that share a server behave as if one transaction ran after the other`() throws {
        let history = try SharedStore.history(
            at: Self.server.url + "?holdfast_store=plain", "serializable", seed: StressTests.seed)
        #expect(HistoryChecker.anomalies(in: history).map(\.description) == [])
        #expect(history.count { $0.outcome == .unknown } == 0)
        #expect(Self.clientsThatCommitted(in: history) == SharedStore.processes * SharedStore.threads)
    }

    @Test func `so they do while the server is killed, paused and started anew`() throws {
        let server = Self.server
        let history = try SharedStore.history(
            at: server.url + "?holdfast_store=disturbed", "serializable", seed: StressTests.seed
        ) { isOver in
            for disturbance in [["crash", "start"], ["pause", "resume"], ["restart"]].cycled() {
                Thread.sleep(forTimeInterval: 0.3)
                if isOver.isSet { return }
                for verb in disturbance {
                    server.run(verb)
                    if verb == "pause" { Thread.sleep(forTimeInterval: 0.2) }
                }
            }
        }
        #expect(HistoryChecker.anomalies(in: history).map(\.description) == [])
        // How many depends on how busy the machine is; but none was kept out by the others, or by the server's ends.
        #expect(Self.clientsThatCommitted(in: history) == SharedStore.processes * SharedStore.threads)
        #expect(history.contains { $0.outcome != .committed })
    }

    private static func clientsThatCommitted(in history: [TransactionRecord]) -> Int {
        Set(history.filter { $0.outcome == .committed }.map(\.process)).count
    }

    /// Else the silence above would mean nothing.
    @Test(arguments: [
        ("READ COMMITTED", Anomaly.Kind.lostUpdate), ("REPEATABLE READ", Anomaly.Kind.antidependencyCycle),
    ])
    func `without Holdfast the checker finds what the server lets through`(
        isolation: String, kind: Anomaly.Kind
    ) throws {
        var found: Set<Anomaly.Kind> = []
        for _ in 0..<20 where !found.contains(kind) {
            let text = PrivateServer.output(of: [
                "python3", PrivateServer.beside(#filePath, "plain_load.py"), Self.server.url, isolation,
                "\(SharedStore.processes * SharedStore.threads)", "100",
            ])
            let history = try JSONDecoder().decode([TransactionRecord].self, from: text)
            found.formUnion(HistoryChecker.anomalies(in: history).map(\.kind))
        }
        #expect(found.contains(kind), "\(found)")
    }
}

extension Array {
    fileprivate func cycled() -> some Sequence<Element> {
        sequence(state: 0) { place in
            defer { place = (place + 1) % count }
            return self[place]
        }
    }
}

/// A PostgreSQL server of the tests' own: see cluster.sh.
private final class PrivateServer: Sendable {
    private let folder: String
    let url: String

    init() {
        var template = Array("/tmp/holdfast-postgresql-XXXXXX".utf8CString)
        mkdtemp(&template)
        folder = String(decoding: template.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        url = Self.run("start", folder, "\(getpid())")
        // A test process lets no object go that is static.
        Self.folders.withLock { $0.append(folder) }
        atexit { for folder in PrivateServer.folders.withLock({ $0 }) { PrivateServer.run("stop", folder) } }
    }

    private static let folders = Lock<[String]>([])

    @discardableResult func run(_ verb: String) -> String { Self.run(verb, folder) }

    @discardableResult private static func run(_ words: String...) -> String {
        let script = beside(#filePath, "../HoldfastPostgreSQLTests/cluster.sh")
        return String(decoding: output(of: [script] + words), as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    static func beside(_ file: String, _ name: String) -> String {
        URL(fileURLWithPath: file).deletingLastPathComponent().appendingPathComponent(name).path
    }

    /// As a shell starts it: what a server inherits of pipes it would keep open.
    static func output(of command: [String]) -> Data {
        let words = command.map { "'\($0)'" }.joined(separator: " ")
        let pipe = popen(words, "r")!
        var text = Data()
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = fread(&part, 1, part.count, pipe), count > 0 { text += part[..<count] }
        let status = pclose(pipe)
        precondition(status == 0, "\(words) ended with \(status)")
        return text
    }
}
