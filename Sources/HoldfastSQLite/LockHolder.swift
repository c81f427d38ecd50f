import CHoldfastPlatform
internal import HoldfastEnvironment

/// A process as it names itself in the sidecar file.
struct LockHolder {
    private let pid: UInt32
    private let program: String
    private let since: UInt64

    /// What the file says, if it says it in the form in which this library writes it. It may end in the rest of a longer
    /// note that was written over.
    init?(_ descriptor: Int32) {
        let line = Self.content(descriptor, limit: 256).prefix { $0 != UInt8(ascii: "\n") }
        let parts = String(decoding: line, as: UTF8.self).split(separator: "\"", omittingEmptySubsequences: false)
        guard parts.count == 9, parts[1] == "pid", parts[3] == "program", parts[7] == "since",
            let pid = UInt32(parts[2].dropFirst().dropLast()), let since = UInt64(parts[8].dropFirst().dropLast()),
            parts[5].utf8.allSatisfy(Self.isHarmless)
        else { return nil }
        self.pid = pid
        self.since = since
        program = String(parts[5])
    }

    var name: String { "process \(pid) (\(program))" }

    /// As JSON.
    var note: [UInt8] { Array("{\"pid\":\(pid),\"program\":\"\(program)\",\"since\":\(since)}".utf8) }

    /// This process's name, of which only harmless characters are kept.
    static func thisProgram() -> String {
        let descriptor = hfplatform_open("/proc/self/comm", O_RDONLY, 0)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        return String(decoding: content(descriptor, limit: 64).filter(isHarmless), as: UTF8.self)
    }

    private static func content(_ descriptor: Int32, limit: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = pread(descriptor, &bytes, limit, 0)
        return Array(bytes.prefix(max(0, count)))
    }

    private static func isHarmless(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: " "), UInt8(ascii: "+"):
            true
        default: false
        }
    }
}
