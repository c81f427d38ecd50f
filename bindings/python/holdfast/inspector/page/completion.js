// Completion: what could stand where the cursor is in a filter, an order or a pipeline.

import { tokens } from "./json.js";

const OPERATORS = {
  $eq: "equals", $ne: "is not", $gt: "greater", $gte: "at least", $lt: "less", $lte: "at most", $in: "one of",
  $nin: "none of", $exists: "is there", $type: "of a type", $regex: "matches a pattern", $options: "of a pattern",
  $all: "has all", $elemMatch: "an element matches", $size: "so many elements", $mod: "leaves a rest", $not: "not so",
};
const LOGIC = { $and: "all of these", $or: "one of these", $nor: "none of these", $text: "words of a text index" };
const STAGES = {
  $match: "a filter", $group: "groups by _id", $sort: "an order", $limit: "the first", $skip: "all but the first",
  $project: "these members", $set: "sets members", $unset: "removes members", $unwind: "one for each element",
  $count: "how many", $sortByCount: "groups by how many", $bucket: "groups by ranges", $lookup: "from a repository",
  $replaceRoot: "another document",
};
const SUMS = { $sum: "sum", $avg: "average", $min: "least", $max: "greatest", $first: "first", $last: "last", $push: "all", $addToSet: "all, once", $count: "how many" };

/** Where the cursor is: the names around it, what is begun there, and whether a name or a value belongs there. */
export function place(text, cursor) {
  const stack = [];
  let name = null, expectsValue = false, begun = null;
  for (const token of tokens(text)) {
    if (token.from >= cursor) break;
    begun = null;
    if (token.kind === "space") continue;
    if (token.text === "{" || token.text === "[") {
      stack.push({ kind: token.text, name });
      name = null;
      expectsValue = token.text === "[";
    } else if (token.text === "}" || token.text === "]") {
      stack.pop();
      name = null;
      expectsValue = false;
    } else if (token.text === ":") expectsValue = true;
    else if (token.text === ",") {
      name = null;
      expectsValue = stack.at(-1)?.kind === "[";
    } else {
      if (token.from + token.text.length >= cursor) begun = token;
      if (!expectsValue) name = token.text.replace(/^["']|["']$/g, "");
    }
  }
  const from = begun ? begun.from : cursor;
  const typed = text.slice(from, cursor).replace(/^["']/, "");
  const to = begun ? begun.from + begun.text.length : cursor;
  const names = stack.map((it) => it.name).filter((it) => it !== null);
  return { names, inside: stack.at(-1)?.kind, depth: stack.length, name, isValue: expectsValue, typed, from, to };
}

const made = (words, kind, quote = true) =>
  Object.entries(words).map(([text, hint]) => ({ text, hint, kind, insert: quote ? JSON.stringify(text) : text }));

function paths(fields, indexes, isValue) {
  const indexed = new Map(indexes.flatMap((it) => Object.keys(it.fields).map((path) => [path, it.name])));
  return fields.map(({ path, types }) => ({
    text: isValue ? `$${path}` : path, kind: "field", insert: JSON.stringify(isValue ? `$${path}` : path),
    hint: Object.keys(types).join(" ") + (indexed.has(path) ? `, index ${indexed.get(path)}` : ""),
  }));
}

function values(fields, path) {
  const field = fields.find((it) => it.path === path);
  if (!field) return [];
  const words = field.types.bool ? ["true", "false"] : field.values.few ? field.values.common : [];
  return words.map((text) => ({ text: text.replace(/^"|"$/g, ""), insert: text, hint: "value", kind: "value" }));
}

/** Proposals in a filter. */
export function inFilter(at, { fields, indexes }, around = at.names) {
  if (at.inside !== "{" && !(at.isValue && at.inside === "[")) return at.depth === 0 ? [] : [];
  const path = at.isValue && !at.name?.startsWith("$") && at.name ? at.name : around.findLast((name) => !name.startsWith("$"));
  if (at.isValue) return values(fields, path);
  const inPath = around.length > 0 && !["$and", "$or", "$nor", "$elemMatch", "$match"].includes(around.at(-1));
  return inPath ? made(OPERATORS, "operator") : [...paths(fields, indexes, false), ...made(LOGIC, "operator")];
}

/** Proposals in an order. */
export function inSort(at, { fields, indexes }) {
  if (at.isValue) return [{ text: "1", insert: "1", hint: "ascending" }, { text: "-1", insert: "-1", hint: "descending" }];
  return at.inside === "{" ? paths(fields, indexes, false) : [];
}

/** Proposals in a pipeline. */
export function inPipeline(at, shape) {
  const [stage, ...inner] = at.names;
  if (stage === undefined) return at.inside === "{" && !at.isValue ? made(STAGES, "stage") : at.isValue && at.name ? paths(shape.fields, [], true) : [];
  if (stage === "$match") return inFilter(at, shape, inner);
  if (stage === "$sort") return inSort(at, shape);
  if (at.isValue) return paths(shape.fields, [], true);
  if (stage === "$group" && inner.length) return made(SUMS, "operator");
  if (stage === "$group") return made({ _id: "what is grouped by" }, "field");
  return paths(shape.fields, shape.indexes, false);
}

/** Those that what was typed begins, and then those that it is within, the best first. */
export function fitting(proposals, typed) {
  const wanted = typed.toLowerCase();
  const begins = proposals.filter(({ text }) => text.toLowerCase().startsWith(wanted));
  const within = proposals.filter((it) => !begins.includes(it) && it.text.toLowerCase().includes(wanted));
  return [...begins, ...(wanted ? within : [])].slice(0, 60);
}
