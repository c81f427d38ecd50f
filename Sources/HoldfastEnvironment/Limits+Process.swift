internal import CHoldfastPayload
internal import CHoldfastPlatform

extension Limits {
    /// Those of this process: what `HOLDFAST_LIMITS` says, as `init(_:)` takes it, read once. It is for tests alone, which
    /// drive the library as it is shipped beyond its limits. Where it is wrong no store can be opened; a program that has
    /// more rights than whoever started it does not listen to it.
    package static let ofProcess: Result<Limits, HoldfastError> = {
        guard let text = hfplatform_environment("HOLDFAST_LIMITS") else { return .success(Limits()) }
        return Result { () throws(HoldfastError) in
            let limits = try Limits(String(cString: text))
            hfpayload_limit_plain(limits.plainDepth, limits.plainNames)
            return limits
        }.mapError { HoldfastError($0.status, "HOLDFAST_LIMITS: \($0.message): unset it") }
    }()

    /// The same for who knows no `Environment`; as they are shipped, where what is said is wrong.
    public static let inForce = (try? ofProcess.get()) ?? Limits()
}
