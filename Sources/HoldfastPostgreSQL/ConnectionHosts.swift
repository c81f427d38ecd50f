/// The hosts that a connection may be made to, as libpq knows them: by the URL, its environment, or a service file.
struct ConnectionHosts {
    /// What has a value for each host, in the same order.
    private let lists: [(name: String, values: [Substring])]
    let count: Int

    init(of connection: LibPQ.Connection, _ library: LibPQ) {
        var lists: [(String, [Substring])] = []
        if let settings = library.settings(connection) {
            defer { library.freeSettings(settings) }
            var setting = settings
            while let name = setting.load(as: UnsafePointer<CChar>?.self).map({ String(cString: $0) }) {
                if ["host", "hostaddr", "port"].contains(name), let value = Self.value(of: setting) {
                    lists.append((name, value.split(separator: ",", omittingEmptySubsequences: false)))
                }
                setting += Self.size
            }
        }
        let count = lists.map(\.1.count).max() ?? 1
        // One port may be that of all.
        self.lists = lists.filter { $0.1.count == count }
        self.count = count
    }

    /// The same hosts, first the one at this place; as settings that stand behind those of the URL.
    func settings(from first: Int) -> [(String, String)] {
        lists.map { ($0.name, ($0.values[first...] + $0.values[..<first]).joined(separator: ",")) }
    }

    /// `PQconninfoOption` of `libpq-fe.h`: seven members as wide as a pointer, of which the fourth is the value.
    private static let size = 7 * MemoryLayout<UnsafeRawPointer>.stride

    private static func value(of setting: UnsafeMutableRawPointer) -> String? {
        setting.load(fromByteOffset: 3 * MemoryLayout<UnsafeRawPointer>.stride, as: UnsafePointer<CChar>?.self)
            .map { String(cString: $0) }
    }
}
