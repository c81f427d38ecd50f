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
    /// An expression with so many operators in each other.
    private func nested(_ depth: Int, _ around: (String) -> String, _ innermost: String = "1") -> String {
        (0..<depth).reduce(innermost) { expression, _ in around(expression) }
    }

    private func parsed(_ text: String) throws -> JSONValue {
        try text.withBytes { try JSONValue.parse($0, what: "expression", limits: .widest) }
    }

    private static let shapes: [@Sendable (String) -> String] = [
        { "{\"$not\":\($0)}" }, { "{\"$add\":[1,\($0)]}" }, { "[\($0)]" }, { "{\"a\":\($0)}" },
        { "{\"$cond\":[true,\($0),0]}" }, { "{\"$map\":{\"input\":[1],\"in\":\($0)}}" },
        { "{\"$filter\":{\"input\":[1],\"cond\":\($0)}}" },
        { "{\"$reduce\":{\"input\":[1],\"initialValue\":0,\"in\":\($0)}}" },
        { "{\"$let\":{\"vars\":{\"x\":\($0)},\"in\":\"$$x\"}}" }, { "{\"$ifNull\":[null,\($0)]}" },
        { "{\"$switch\":{\"branches\":[{\"case\":true,\"then\":\($0)}]}}" }, { "{\"$concatArrays\":[[\($0)]]}" },
        { "{\"$mergeObjects\":{\"a\":\($0)}}" }, { "{\"$convert\":{\"input\":\($0),\"to\":\"bool\"}}" },
        { "{\"$regexMatch\":{\"input\":\"a\",\"regex\":{\"$toString\":\($0)}}}" },
        { "{\"$sortArray\":{\"input\":[\($0)],\"sortBy\":1}}" },
        { "{\"$setField\":{\"field\":\"a\",\"input\":{},\"value\":\($0)}}" },
    ]

    @Test(
        "The deepest expression of each operator is compiled and evaluated on a small stack, and one deeper is refused")
    func depthOnASmallStack() throws {
        for shape in Self.shapes {
            let deepest = nested(deepestAllowed(shape), shape)
            let value = try parsed(deepest)
            let outcome = onSmallStack { () throws(HoldfastError) -> Bool in
                _ = try Expression(value).evaluate(.object([]))
                return true
            }
            #expect(throws: Never.self, "\(deepest)") { try outcome.get() }
            let deeper = try parsed(nested(Expression.maxNesting + 1, shape))
            let error = try #require(throws: HoldfastError.self) { try Expression(deeper) }
            #expect(error.message.contains("\(Expression.maxNesting) deep"))
        }
    }

    /// How often a shape can stand in itself: some are made of several operators.
    private func deepestAllowed(_ shape: (String) -> String) -> Int {
        (1...Expression.maxNesting).last { depth in
            do {
                _ = try Expression(parsed(nested(depth, shape)))
                return true
            } catch { return false }
        } ?? 0
    }

    @Test("A document with arrays and objects as deep as a store allows is read on a small stack")
    func deepDocumentOnASmallStack() throws {
        let limits = PayloadLimits.widest
        let path = (0..<60).map { _ in "a" }.joined(separator: ".")
        var text = "1"
        for _ in 0..<limits.maxDepth / 2 { text = "[{\"a\":\(text)}]" }
        let document = try parsed(text)
        let root = JSONValue.object([.init(name: [UInt8(ascii: "a")], value: document)])
        let inner = "\"$\(path)\""
        let value = try JSONValue(text: nested(Expression.maxNesting - 1, { "{\"$ifNull\":[null,\($0)]}" }, inner))
        let outcome = onSmallStack { () throws(HoldfastError) -> Bool in
            try Expression(value).evaluate(root) != nil
        }
        #expect(try outcome.get())
    }

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
