/// The sets of nodes that reach each other, of more than one node: every cycle lies in one of them. (Tarjan 1972,
/// with a stack of its own, so that a long history does not overflow the thread's.)
func stronglyConnectedComponents(count: Int, successors: (Int) -> [Int]) -> [[Int]] {
    var components: [[Int]] = []
    var order = Array(repeating: -1, count: count)
    var low = Array(repeating: 0, count: count)
    var isOnPath = Array(repeating: false, count: count)
    var path: [Int] = []
    var visited = 0
    var calls: [(node: Int, successors: ArraySlice<Int>)] = []

    func enter(_ node: Int) {
        order[node] = visited
        low[node] = visited
        visited += 1
        path.append(node)
        isOnPath[node] = true
        calls.append((node, successors(node)[...]))
    }

    for root in 0..<count where order[root] < 0 {
        enter(root)
        while let (node, _) = calls.last {
            if let next = calls[calls.count - 1].successors.popFirst() {
                if order[next] < 0 {
                    enter(next)
                } else if isOnPath[next] {
                    low[node] = min(low[node], order[next])
                }
                continue
            }
            calls.removeLast()
            if let parent = calls.last?.node { low[parent] = min(low[parent], low[node]) }
            guard low[node] == order[node] else { continue }
            let start = path.lastIndex(of: node)!
            let component = Array(path[start...])
            path.removeSubrange(start...)
            for member in component { isOnPath[member] = false }
            if component.count > 1 { components.append(component) }
        }
    }
    return components
}
