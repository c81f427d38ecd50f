internal import HoldfastCore
internal import HoldfastEnvironment

/// As `translatingErrors`, of options: the core refuses them by their names in C, and is heard here by those in Swift.
func translatingOptions<Value>(_ body: () throws(CoreError) -> Value) throws -> Value {
    try translatingErrors { () throws(CoreError) in
        do throws(CoreError) { return try body() } catch { throw error.namingOptions }
    }
}

extension CoreError {
    fileprivate var namingOptions: CoreError {
        guard status == .invalidOption, let place = detail.firstIndex(where: { $0.name == "option" }),
            case .text(let name) = detail[place].value
        else { return self }
        let isTime = name.hasSuffix("_ms")
        let words = (isTime ? String(name.dropLast(3)) : name).split(separator: "_")
        let capitalized = words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }
        let named = words.prefix(1).joined() + capitalized.joined()
        var error = self
        error.message = message.replacing("\"\(name)\"", with: "\"\(named)\"")
        // A Duration has no integer of its own.
        if isTime { error.message = error.message.replacing("an integer ", with: "an integer of milliseconds ") }
        error.detail[place].value = .text(named)
        return error
    }
}
