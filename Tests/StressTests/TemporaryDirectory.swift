#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

final class TemporaryDirectory {
    let path: String

    init() {
        var template = Array("/tmp/holdfast-stress-XXXXXX\0".utf8CString)
        mkdtemp(&template)
        path = String(decoding: template.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        guard let directory = opendir(path) else { return }
        while let entry = readdir(directory) {
            withUnsafeBytes(of: &entry.pointee.d_name) { name in
                let name = String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
                _ = unlink("\(path)/\(name)")
            }
        }
        closedir(directory)
        rmdir(path)
    }
}
