// JSON as it is written: numbers keep all their digits, and everything its place in the text. Names may stand
// without quotes and texts in single ones, as people type them.

export class JsonError extends Error {
  constructor(message, at) { super(message); this.at = at; }
}

const WORDS = { true: "true", false: "false", null: "null" };
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const NAME = /[\p{L}_$][\p{L}\p{N}_$.-]*/uy;
const SPACE = /\s*/y;

/** Parses a text to nodes: { kind, from, to } with `members` of { name, from, value }, `items` or `raw`. */
export function parse(text) {
  let at = 0, depth = 0;

  const match = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const space = () => match(SPACE);
  const fail = (what) => {
    throw new JsonError(at < text.length ? `${what}, not ${JSON.stringify(text[at])}` : `${what}, but it ends here`, at);
  };

  function quoted() {
    const from = at, quote = text[at];
    at += 1;
    while (text[at] !== quote) {
      if (at >= text.length) throw new JsonError("This text does not end", from);
      if (text[at] === "\\") at += 1;
      at += 1;
    }
    at += 1;
    let inner = text.slice(from + 1, at - 1);
    if (quote === "'") inner = inner.replace(/\\[^]|"/g, (found) => ({ '"': '\\"', "\\'": "'" })[found] ?? found);
    inner = inner.replace(/[\u0000-\u001f]/g, (found) => JSON.stringify(found).slice(1, -1));
    try { return JSON.parse(`"${inner}"`); } catch { throw new JsonError("This text has an escape that there is not", from); }
  }

  function value() {
    space();
    const from = at, first = text[at];
    if (depth > 200) throw new JsonError("This is nested too deep", at);
    if (first === "{" || first === "[") {
      depth += 1;
      const node = first === "{" ? object(from) : array(from);
      depth -= 1;
      return node;
    }
    if (first === '"' || first === "'") {
      const string = quoted();
      return { kind: "text", value: string, raw: JSON.stringify(string), from, to: at };
    }
    const number = match(NUMBER);
    if (number !== undefined) return { kind: "number", raw: number, from, to: at };
    const word = match(NAME);
    if (word !== undefined && Object.hasOwn(WORDS, word)) return { kind: word === "null" ? "null" : "bool", raw: word, from, to: at };
    at = from;
    return fail("A value belongs here");
  }

  function object(from) {
    const members = [];
    at += 1;
    for (space(); text[at] !== "}"; space()) {
      const start = at;
      const name = text[at] === '"' || text[at] === "'" ? quoted() : match(NAME);
      if (name === undefined) fail("A name or } belongs here");
      const nameTo = at;
      space();
      if (text[at] !== ":") fail("A : belongs here");
      at += 1;
      members.push({ name, from: start, to: nameTo, value: value() });
      space();
      if (text[at] === ",") at += 1;
      else if (text[at] !== "}") fail("A , or } belongs here");
    }
    at += 1;
    return { kind: "object", members, from, to: at };
  }

  function array(from) {
    const items = [];
    at += 1;
    for (space(); text[at] !== "]"; space()) {
      items.push(value());
      space();
      if (text[at] === ",") at += 1;
      else if (text[at] !== "]") fail("A , or ] belongs here");
    }
    at += 1;
    return { kind: "array", items, from, to: at };
  }

  const node = value();
  space();
  if (at < text.length) fail("Nothing belongs behind the value");
  return node;
}

/** The node as strict JSON, and a function from a place in that, in bytes, to the place in what was typed. */
export function strict(node) {
  const pieces = [], places = [];
  const encoder = new TextEncoder();
  let length = 0;
  const put = (text, from) => {
    if (from !== undefined) places.push([length, from]);
    pieces.push(text);
    length += encoder.encode(text).length;
  };
  (function write(it) {
    if (it.kind === "object") {
      put("{", it.from);
      it.members.forEach((member, index) => {
        if (index) put(",");
        put(JSON.stringify(member.name), member.from);
        put(":");
        write(member.value);
      });
      put("}");
    } else if (it.kind === "array") {
      put("[", it.from);
      it.items.forEach((item, index) => { if (index) put(","); write(item); });
      put("]");
    } else put(it.raw, it.from);
  })(node);
  return { text: pieces.join(""), placeOf: (byte) => places.findLast(([place]) => place <= byte)?.[1] ?? 0 };
}

/** The node over several lines. */
export function pretty(node, indent = "") {
  const inner = `${indent}  `;
  if (node.kind === "object" && node.members.length) {
    const lines = node.members.map(({ name, value }) => `${inner}${JSON.stringify(name)}: ${pretty(value, inner)}`);
    return `{\n${lines.join(",\n")}\n${indent}}`;
  }
  if (node.kind === "array" && node.items.length) {
    return `[\n${node.items.map((item) => inner + pretty(item, inner)).join(",\n")}\n${indent}]`;
  }
  return node.kind === "object" ? "{}" : node.kind === "array" ? "[]" : node.raw;
}

const TOKEN = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[-+]?\d[\d.eE+-]*|[\p{L}_$][\p{L}\p{N}_$.-]*|\s+|[^]/guy;

/** The tokens of what may not be whole yet: { text, kind, from }. */
export function tokens(text) {
  const found = [];
  for (const { 0: token, index: from } of text.matchAll(TOKEN)) {
    const first = token[0];
    let kind = "mark";
    if (/\s/.test(first)) kind = "space";
    else if (first === '"' || first === "'") kind = "text";
    else if (/[-+\d]/.test(first) && /\d/.test(token)) kind = "number";
    else if (/[\p{L}_$]/u.test(first)) kind = Object.hasOwn(WORDS, token) ? "word" : "name";
    found.push({ text: token, kind, from });
  }
  // A text before a colon is a name.
  const solid = found.filter(({ kind }) => kind !== "space");
  solid.forEach((token, index) => { if (token.kind === "text" && solid[index + 1]?.text === ":") token.kind = "name"; });
  return found;
}

/** What a value is called beside a number, as in "3 members". */
export function summary(node) {
  if (node.kind === "object") return node.members.length === 1 ? "1 member" : `${node.members.length} members`;
  if (node.kind === "array") return node.items.length === 1 ? "1 element" : `${node.items.length} elements`;
  return "";
}
