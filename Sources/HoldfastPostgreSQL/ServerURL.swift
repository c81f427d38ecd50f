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
    /// Its passwords as they stand in it, where those have "%", of which libpq may say that it does not understand them.
    let quotedSecrets: [String]

    public static let schemes = ["postgresql", "postgres"]
    public static let standardStore = "main"
    private static let storeParameter = "holdfast_store"
    private static let secretParameters = ["password", "sslpassword"]

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
        try Self.refuseUnquotedPassword(authority, behind: rest.dropFirst(2 + authority.count))
        var kept: [ArraySlice<UInt8>] = []
        var shown: [ArraySlice<UInt8>] = []
        let (visible, password) = Self.parted(authority)
        var secrets = [Self.text(password)]
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
            if Self.secretParameters.contains(key) {
                secrets.append(Self.text(pair.count > 1 ? pair[1] : []))
            } else {
                shown.append(parameter)
            }
        }
        if let name { try Self.check(name, .invalidURL) }
        store = name
        quotedSecrets = secrets.filter { $0.utf8.contains(UInt8(ascii: "%")) }
        connection = "postgresql://" + Self.text(authority + path) + Self.query(kept)
        place = "postgresql://" + Self.text(visible + path) + Self.query(shown)
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

    /// A password may hold what ends the authority, "/" or "?", and the rest of it would then be taken for a database or for
    /// parameters, which messages show.
    private static func refuseUnquotedPassword(
        _ authority: ArraySlice<UInt8>, behind rest: ArraySlice<UInt8>
    ) throws(HoldfastError) {
        let at = UInt8(ascii: "@")
        guard !authority.contains(at), rest.contains(at) else { return }
        let hasPorts = authority.split(separator: UInt8(ascii: ",")).allSatisfy { host in
            let address = host.starts(with: "[".utf8) ? host.drop { $0 != UInt8(ascii: "]") }.dropFirst() : host
            let port = address.drop { $0 != UInt8(ascii: ":") }.dropFirst()
            return port.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        }
        let path = rest.prefix { $0 != UInt8(ascii: "?") }
        let parameters = rest.dropFirst(path.count + 1).split(separator: UInt8(ascii: "&"))
        let hasPieces = parameters.contains { $0.prefix { $0 != UInt8(ascii: "=") }.contains(at) }
        guard !hasPorts || hasPieces || path.contains(at) else { return }
        throw HoldfastError(
            .invalidURL,
            "the URL of a server has \"@\" behind its host, as where a password holds \"/\" or \"?\": write such characters of a "
                + "password or a database's name as %2F, %3F and %40")
    }

    /// The authority without its password, and that.
    private static func parted(_ authority: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, password: ArraySlice<UInt8>) {
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")),
            let colon = authority[..<at].firstIndex(of: UInt8(ascii: ":"))
        else { return (authority, []) }
        return (authority[..<colon] + authority[at...], authority[(colon + 1)..<at])
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
