internal import HoldfastEnvironment

/// How an operator takes its operands, and what it does with them.
enum ExpressionForm: Sendable {
    case unary(UnaryFunction)
    case binary(BinaryFunction)
    case list(ClosedRange<Int>, ListFunction)
    /// An object with these members.
    case named([String], optional: [String], ListFunction)
    /// Evaluates its operands by rules of its own.
    case special(Compile)

    typealias Compile =
        @Sendable (inout ExpressionCompiler, JSONValue, ExpressionPlace) throws(HoldfastError) -> any ExpressionNode

    static let all: [String: ExpressionForm] = {
        var all: [String: ExpressionForm] = [:]
        for group in [numbers, logic, text, arrays, objects, types, dates] {
            all.merge(group) { first, _ in first }
        }
        return all
    }()

    private static let anyNumber = 0...Int.max

    private static let numbers: [String: ExpressionForm] = [
        "$add": .special(Sum.compile), "$multiply": .special(Product.compile),
        "$subtract": .binary(Arithmetic.subtract), "$divide": .binary(Arithmetic.divide),
        "$mod": .binary(Arithmetic.remainder), "$abs": .unary(Arithmetic.absolute),
        "$ceil": .unary(Rounding.ceiling), "$floor": .unary(Rounding.floor), "$round": .list(1...2, Rounding.round),
        "$trunc": .list(1...2, Rounding.truncate), "$sqrt": .unary(Arithmetic.squareRoot),
        "$pow": .binary(Arithmetic.power), "$exp": .unary(Arithmetic.exponential),
        "$ln": .unary(Arithmetic.naturalLogarithm), "$log10": .unary(Arithmetic.decimalLogarithm),
        "$log": .binary(Arithmetic.logarithm), "$sum": .list(anyNumber, Summary.sum),
        "$avg": .list(anyNumber, Summary.average), "$min": .list(anyNumber, Summary.least),
        "$max": .list(anyNumber, Summary.greatest), "$stdDevPop": .list(anyNumber, Summary.deviationOfPopulation),
        "$stdDevSamp": .list(anyNumber, Summary.deviationOfSample),
    ]

    private static let logic: [String: ExpressionForm] = [
        "$eq": .binary(Comparison.equal), "$ne": .binary(Comparison.notEqual), "$gt": .binary(Comparison.greater),
        "$gte": .binary(Comparison.greaterOrEqual), "$lt": .binary(Comparison.less),
        "$lte": .binary(Comparison.lessOrEqual), "$cmp": .binary(Comparison.compare),
        "$and": .special(Junction.compileAnd), "$or": .special(Junction.compileOr), "$not": .unary(Comparison.not),
        "$cond": .special(Choice.compileCondition), "$switch": .special(Choice.compileSwitch),
        "$ifNull": .special(IfNull.compile), "$let": .special(Let.compile),
    ]

    private static let text: [String: ExpressionForm] = [
        "$concat": .list(anyNumber, Text.concatenate), "$toLower": .unary(Text.lowercase),
        "$toUpper": .unary(Text.uppercase), "$substrCP": .list(3...3, Text.substring),
        "$strLenCP": .unary(Text.length), "$split": .binary(Text.split),
        "$trim": .named(["input"], optional: ["chars"], TextTrim.both),
        "$ltrim": .named(["input"], optional: ["chars"], TextTrim.left),
        "$rtrim": .named(["input"], optional: ["chars"], TextTrim.right),
        "$indexOfCP": .list(2...4, Text.index), "$regexMatch": .special(RegularExpressionMatch.compile),
        "$replaceAll": .named(["input", "find", "replacement"], optional: [], Text.replaceAll),
        "$replaceOne": .named(["input", "find", "replacement"], optional: [], Text.replaceOne),
    ]

    private static let arrays: [String: ExpressionForm] = [
        "$size": .unary(Arrays.size), "$arrayElemAt": .binary(Arrays.element), "$first": .unary(Arrays.first),
        "$last": .unary(Arrays.last), "$slice": .list(2...3, Arrays.slice), "$in": .binary(Arrays.contains),
        "$concatArrays": .list(anyNumber, Arrays.concatenate), "$reverseArray": .unary(Arrays.reverse),
        "$indexOfArray": .list(2...4, Arrays.index), "$range": .list(2...3, Arrays.range),
        "$isArray": .unary(Arrays.isArray), "$sortArray": .special(ArraySort.compile),
        "$setUnion": .list(anyNumber, Sets.union), "$setIntersection": .list(anyNumber, Sets.intersection),
        "$setDifference": .binary(Sets.difference), "$setIsSubset": .binary(Sets.isSubset),
        "$setEquals": .list(2...Int.max, Sets.areEqual), "$filter": .special(ArrayFilter.compile),
        "$map": .special(ArrayMap.compile), "$reduce": .special(ArrayReduction.compile),
    ]

    private static let objects: [String: ExpressionForm] = [
        "$mergeObjects": .list(anyNumber, Objects.merge), "$objectToArray": .unary(Objects.toArray),
        "$arrayToObject": .unary(Objects.fromArray), "$getField": .special(Objects.compileGet),
        "$setField": .special(Objects.compileSet), "$unsetField": .special(Objects.compileUnset),
    ]

    private static let types: [String: ExpressionForm] = [
        "$type": .unary(Conversion.typeName), "$isNumber": .unary(Conversion.isNumber),
        "$toString": .unary(Conversion.function(to: .string)), "$toInt": .unary(Conversion.function(to: .int)),
        "$toLong": .unary(Conversion.function(to: .long)), "$toDouble": .unary(Conversion.function(to: .double)),
        "$toBool": .unary(Conversion.function(to: .boolean)), "$convert": .special(ConversionWithDefaults.compile),
    ]

    private static let dates: [String: ExpressionForm] = {
        var dates: [String: ExpressionForm] = [
            "$dateTrunc": .named(
                ["date", "unit"], optional: ["binSize", "timezone", "startOfWeek"], DateArithmetic.truncate),
            "$dateToString": .named(["date"], optional: ["format", "timezone", "onNull"], DateFormat.write),
            "$dateDiff": .named(
                ["startDate", "endDate", "unit"], optional: ["timezone", "startOfWeek"], DateArithmetic.difference),
            "$dateAdd": .named(["startDate", "unit", "amount"], optional: ["timezone"], DateArithmetic.add),
            "$dateSubtract": .named(["startDate", "unit", "amount"], optional: ["timezone"], DateArithmetic.subtract),
        ]
        for part in DatePart.allCases { dates["$\(part.rawValue)"] = .special(part.compile) }
        return dates
    }()
}
