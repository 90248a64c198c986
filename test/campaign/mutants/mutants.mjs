/** One-token mutants of a source: which there are, and the source with the chosen ones woven in behind a switch. */
import { createHash } from "node:crypto";
import { parseSync } from "rolldown/utils";

const OPERATORS = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "&&": "||",
  "||": "&&",
  "??": "&&",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
};
/** What TypeScript puts around an expression; its other nodes are types. */
const AROUND = new Set(["TSAsExpression", "TSNonNullExpression", "TSSatisfiesExpression"]);
/** From here a number is a size or a time, of which nobody sees one more. */
const LARGE = 1_000;
const LOG = /\blog(?:ger)?\.(?:trace|debug|info|warn|error)$/;

/**
 * All mutants of a source, each with the name that it keeps while its line does.
 * @param file its path, by which it is named
 */
export function mutantsOf(file, text) {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0].message}`);
  const found = [];
  visit(program, [], text, found);
  return named(file, text, found);
}

function visit(node, parents, text, found) {
  if (isLeftOut(node, text)) return;
  const mutant = mutantOf(node, parents, text);
  if (mutant) found.push(mutant);
  for (const child of childrenOf(node)) visit(child, [node, ...parents], text, found);
}

/** Types, and what goes into the log. */
function isLeftOut(node, text) {
  if (node.type.startsWith("TS")) return !AROUND.has(node.type);
  return node.type === "CallExpression" && LOG.test(textOf(node.callee, text));
}

function childrenOf(node) {
  return Object.values(node)
    .flat()
    .filter((value) => typeof value?.type === "string");
}

const textOf = ({ start, end }, text) => text.slice(start, end);

/** `at`: the token, `whole`: what the switch stands around, `mutated`: its text with the other token; without one it is left out. */
function mutantOf(node, parents, text) {
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression":
      return operatorOf(node, text);
    case "UnaryExpression":
      return node.operator === "!" ? replaced(node, node, node.start, "!", "", text) : undefined;
    case "Literal":
      return literalOf(node, parents, text);
    case "MemberExpression":
    case "CallExpression":
      return node.optional ? chainOf(node, parents, text) : undefined;
    case "ReturnStatement":
    case "ThrowStatement":
      return exitOf(node, parents);
    default:
      return undefined;
  }
}

function operatorOf({ start, end, left, operator, right }, text) {
  const other = OPERATORS[operator];
  if (other === undefined) return undefined;
  return {
    at: text.indexOf(operator, left.end),
    token: operator,
    change: other,
    whole: { start, end },
    mutated: `(${textOf(left, text)}) ${other} (${textOf(right, text)})`,
  };
}

function replaced(node, { start, end }, at, token, change, text) {
  const mutated = text.slice(start, at) + change + text.slice(at + token.length, end);
  return { at, token, change: change || "nothing", whole: { start, end }, mutated };
}

function literalOf(node, [parent], text) {
  const isKey = parent.key === node && !parent.computed;
  if (isKey || parent.type === "ImportAttribute") return undefined;
  const change = otherValue(node.value, parent);
  if (change === undefined) return undefined;
  return replaced(node, node, node.start, node.raw, change, text);
}

function otherValue(value, parent) {
  if (typeof value === "boolean") return `${!value}`;
  if (typeof value !== "number") return undefined;
  // 60 * 60 * 1000: how long an hour is, no test asks.
  if (parent.type === "BinaryExpression" && parent.operator === "*") return undefined;
  // The bounds of a histogram.
  if (!Number.isInteger(value)) return undefined;
  return value >= LARGE ? "0" : `${value + 1}`;
}

/** The whole chain goes behind the switch: a part of it would lose what it is a member of. */
function chainOf(node, parents, text) {
  const place = parents.findIndex(({ type }) => type === "ChainExpression");
  const [chain, parent] = parents.slice(place);
  const isCallee = parent.callee === chain || parent.callee?.expression === chain;
  if (isCallee || parent.operator === "delete" || parent.type === "TSNonNullExpression")
    return undefined;
  const at = text.indexOf("?.", (node.object ?? node.callee).end);
  const isNamed = node.type === "MemberExpression" && !node.computed;
  return replaced(node, chain, at, "?.", isNamed ? "." : "", text);
}

/** Any `throw`, and the `return` with which an `if` ends: without it the function goes on. */
function exitOf(node, [parent, above]) {
  const isEarly =
    parent.consequent === node ||
    (parent.type === "BlockStatement" &&
      above?.consequent === parent &&
      parent.body.at(-1) === node);
  if (node.type === "ReturnStatement" && !isEarly) return undefined;
  const token = node.type === "ReturnStatement" ? "return" : "throw";
  return { at: node.start, token, change: "nothing", whole: { start: node.start, end: node.end } };
}

function named(file, text, found) {
  const times = new Map();
  return found.map((mutant) => {
    const name = `${file}: ${markedLine(mutant, text)} → ${mutant.change}`;
    const nth = (times.get(name) ?? 0) + 1;
    times.set(name, nth);
    return { ...mutant, file, name: nth === 1 ? name : `${name} (${nth})` };
  });
}

function markedLine({ at, token }, text) {
  const from = text.lastIndexOf("\n", at) + 1;
  const end = text.indexOf("\n", at + token.length);
  const behind = text.slice(at + token.length, end === -1 ? undefined : end);
  return `${text.slice(from, at)}⟦${token}⟧${behind}`.trim();
}

/** The first of them in an order that a seed shuffles: an edit of one file changes what is taken of the others little. */
export function sample(mutants, count, seed) {
  const rank = ({ name }) => createHash("sha256").update(`${seed} ${name}`).digest("hex");
  return mutants
    .map((mutant) => ({ mutant, rank: rank(mutant) }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }) => mutant);
}

/** The source with each mutant behind `__on(id)`; `door`: where that comes from. Lines keep their numbers. */
export function weave(text, mutants, door) {
  const inOrder = mutants.toSorted(
    (a, b) => a.whole.start - b.whole.start || b.whole.end - a.whole.end,
  );
  return `import { on as __on } from "${door}"; ${render(0, text.length, inOrder, text)}`;
}

function render(start, end, mutants, text) {
  let out = "";
  let at = start;
  for (let next = 0; next < mutants.length;) {
    const { whole } = mutants[next];
    const within = mutants.slice(next).filter((mutant) => mutant.whole.start < whole.end);
    const same = within.filter(
      (mutant) => mutant.whole.end === whole.end && mutant.whole.start === whole.start,
    );
    const inner = render(whole.start, whole.end, within.slice(same.length), text);
    out += text.slice(at, whole.start) + same.reduce(switched, inner);
    at = whole.end;
    next += within.length;
  }
  return out + text.slice(at, end);
}

function switched(body, { id, mutated }) {
  if (mutated === undefined) return `{ if (!__on(${id})) ${body} }`;
  return `(__on(${id}) ? (${mutated}) : (${body}))`;
}
