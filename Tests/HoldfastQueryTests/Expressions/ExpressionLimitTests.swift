import CHoldfastPlatform
import HoldfastEnvironment
import HoldfastQuery
import Testing

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

@Suite("Limits of expressions")
struct ExpressionLimitTests {
    @Test(
        "Values that grow without bound are refused by name, in memory, time and depth",
        arguments: [
            ("$range", #"{"$range":[0,9223372036854775807]}"#), ("$range", #"{"$range":[0,4200000]}"#),
            (
                "$concat",
                #"{"$reduce":{"input":{"$range":[0,60]},"initialValue":"x","in":{"$concat":["$$value","$$value"]}}}"#
            ),
            (
                "$concatArrays",
                #"{"$reduce":{"input":{"$range":[0,60]},"initialValue":[1],"in":{"$concatArrays":["$$value","$$value"]}}}"#
            ),
            ("$range", #"{"$map":{"input":{"$range":[0,1000]},"in":{"$range":[0,100000]}}}"#),
        ])
    func growth(operation: String, expression: String) throws {
        let error = try refusal(of: expression)
        #expect(
            error.message.contains("operator \"\(operation)\"")
                && error.message.contains("\(Expression.maxBytes) bytes"))
    }

    @Test("A value that nests deeper and deeper is refused before it can overflow a stack")
    func depthOfValues() throws {
        for next in [#"["$$value"]"#, #"{"a":"$$value"}"#, #"{"a":[["$$value"]]}"#] {
            let value = try JSONValue(
                text: #"{"$reduce":{"input":{"$range":[0,100000]},"initialValue":1,"in":\#(next)}}"#)
            let outcome = onSmallStack { () throws(HoldfastError) -> Bool in
                try Expression(value).evaluate(.null) != nil
            }
            let error = try #require(throws: HoldfastError.self) { try outcome.get() }
            #expect(error.message.contains("\(Expression.maxDepth) arrays"))
        }
        let shallow = #"{"$reduce":{"input":{"$range":[0,\#(Expression.maxDepth)]},"initialValue":1,"in":["$$value"]}}"#
        #expect(try evaluated(shallow).count == 2 * Expression.maxDepth + 1)
    }
}

/// What a call of the library may take. Code that is not optimised takes several times as much.
#if DEBUG
    private let smallStack = 512 << 10
#else
    private let smallStack = 96 << 10
#endif

/// What a body does on a thread with a small stack.
private func onSmallStack(
    _ body: @escaping @Sendable () throws(HoldfastError) -> Bool
) -> Result<Bool, HoldfastError> {
    final class Work: @unchecked Sendable {
        let body: @Sendable () throws(HoldfastError) -> Bool
        var outcome: Result<Bool, HoldfastError> = .success(false)
        init(_ body: @escaping @Sendable () throws(HoldfastError) -> Bool) { self.body = body }
    }
    let work = Work(body)
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setstacksize(&attributes, smallStack)
    var thread = pthread_t()
    let started = pthread_create(
        &thread, &attributes,
        { work in
            let work = Unmanaged<Work>.fromOpaque(work!).takeUnretainedValue()
            do throws(HoldfastError) { work.outcome = .success(try work.body()) } catch {
                work.outcome = .failure(error)
            }
            return nil
        }, Unmanaged.passUnretained(work).toOpaque())
    precondition(started == 0, "no thread")
    pthread_join(thread, nil)
    pthread_attr_destroy(&attributes)
    return withExtendedLifetime(work) { work.outcome }
}
