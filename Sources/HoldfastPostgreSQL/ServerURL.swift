public import HoldfastEnvironment

/// Where a store on a server is: a URL as libpq takes it, with the store's name as a parameter more.
///
///     postgresql://[user[:password]@][host[:port],…][/database][?parameter=value&…]
public struct ServerURL: Sendable {
    /// For libpq.
    let connection: String
    /// Nil where the URL tells none.
    public let store: String?
    /// Without secrets, for messages and for `describe`.
    public let place: String

    public static let schemes = ["postgresql", "postgres"]
    public static let standardStore = "main"
    private static let storeParameter = "holdfast_store"
    private static let secrets = ["password", "sslpassword"]

    /// `url` begins with one of the schemes and a colon, in any case.
    public init(_ url: String) throws(HoldfastError) {
        let rest = Array(url.utf8)[...].drop { $0 != UInt8(ascii: ":") }.dropFirst()
        guard rest.starts(with: "//".utf8) else {
            throw HoldfastError(
                .invalidURL,
                "a store on a server is named \"postgresql://[user@]host[:port]/database\", not without the \"//\"")
        }
        let parts = rest.dropFirst(2)
            .split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        guard !rest.contains(0) else { throw HoldfastError(.invalidURL, "the URL of a server holds a NUL byte") }
        let (authority, path) = Self.divide(parts[0])
        var kept: [ArraySlice<UInt8>] = []
        var shown: [ArraySlice<UInt8>] = []
        var name: String?
        for parameter in parts.count > 1 ? parts[1].split(separator: UInt8(ascii: "&")) : [] {
            let pair = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let key = try Self.decode(pair[0])
            if key == Self.storeParameter {
                guard name == nil, pair.count == 2 else {
                    throw HoldfastError(.invalidURL, "\"\(key)\" names the store once: give \"\(key)=NAME\"")
                }
                name = try Self.decode(pair[1])
                shown.append(parameter)
                continue
            }
            kept.append(parameter)
            if !Self.secrets.contains(key) { shown.append(parameter) }
        }
        if let name { try Self.check(name, .invalidURL) }
        store = name
        connection = "postgresql://" + Self.text(authority + path) + Self.query(kept)
        place = "postgresql://" + Self.text(Self.withoutPassword(authority) + path) + Self.query(shown)
    }

    /// Refuses what can name no store.
    public static func check(_ store: String, _ status: Status) throws(HoldfastError) {
        guard (1...255).contains(store.utf8.count),
            store.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else {
            throw HoldfastError(
                status, "the name of a store on a server has 1 to 255 bytes and no control characters: choose another")
        }
    }

    private static func divide(_ bytes: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, ArraySlice<UInt8>) {
        let slash = bytes.firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
        return (bytes[..<slash], bytes[slash...])
    }

    private static func withoutPassword(_ authority: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")),
            let colon = authority[..<at].firstIndex(of: UInt8(ascii: ":"))
        else { return authority }
        return authority[..<colon] + authority[at...]
    }

    private static func query(_ parameters: [ArraySlice<UInt8>]) -> String {
        parameters.isEmpty ? "" : "?" + parameters.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "&")
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    /// RFC 3986, section 2.1.
    private static func decode(_ bytes: ArraySlice<UInt8>) throws(HoldfastError) -> String {
        func digit(_ byte: UInt8) -> UInt8? { Character(UnicodeScalar(byte)).hexDigitValue.map(UInt8.init) }
        var decoded: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                throw HoldfastError(.invalidURL, "in the URL of a server \"%\" stands before two hexadecimal digits")
            }
            decoded.append(high << 4 | low)
        }
        guard let text = String(validating: decoded, as: UTF8.self) else {
            throw HoldfastError(.invalidURL, "a parameter in the URL of a server is no UTF-8")
        }
        return text
    }
}

/// How a store on a server is opened; `include/holdfast/store.h` describes each.
public struct PostgreSQLOptions: Sendable {
    public var store = ServerURL.standardStore
    public var create = true
    public var readOnly = false
    public var lockTimeoutMilliseconds: UInt64 = 5_000
    public var maxConnections = 32
    /// In nanoseconds.
    public var maxStaleness: UInt64 = 0

    public init() {}

    /// How long a connection is waited for, in nanoseconds: a second at least, because none comes at once.
    var patience: UInt64 { max(1_000, lockTimeoutMilliseconds) &* 1_000_000 }
}
