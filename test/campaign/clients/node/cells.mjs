/** What every Node client is asked to do, and how it tells what came of it: one line of JSON per cell on stdout. */
import { createInterface } from "node:readline";

const LIMIT_MS = 60_000;
export const url = new URL(process.env.GATEWAY_URL);
export const headers = { Authorization: `Bearer ${process.env.GATEWAY_KEY}` };
export const wrongHeaders = { Authorization: "Bearer wrong" };
export const modelUrl = process.env.MODEL_URL;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** The framework has no way to do it. */
export class NotOffered extends Error {}

export function tell(cell, result, detail = "") {
  console.log(JSON.stringify({ cell, result, detail: detail.slice(0, 300) }));
}

export function wordsOf(error) {
  const cause = error?.cause === undefined ? "" : ` <- ${wordsOf(error.cause)}`;
  return `${error?.name}: ${error?.message}${cause}`;
}

function limited(work) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}

async function attempt(cell, work, expected) {
  try {
    const seen = await limited(work());
    const ok = expected(seen);
    tell(cell, ok ? "yes" : "no", ok ? "" : `got ${JSON.stringify(seen)}`);
  } catch (error) {
    if (!(error instanceof NotOffered)) console.error(error);
    tell(cell, error instanceof NotOffered ? "not offered" : "no", wordsOf(error));
  }
}

/** Asks the campaign to restart the gateway, and waits until it has. */
async function restarted() {
  console.log(JSON.stringify({ restart: true }));
  await lines.next();
}

const hasTools = (names) =>
  ["add", "fail", "slow", "ask"].every((tool) =>
    names.some((name) => name.split(/[._]/).at(-1) === tool),
  );

/** `client`: list(), run(tool, args), wrongKey(), and where offered progress() with the count and question() with the text. */
export async function cells(client) {
  const notOffered = (what) => () => Promise.reject(new NotOffered(what));
  await attempt("list", () => client.list(), hasTools);
  await attempt(
    "call",
    () => client.run("add", { a: 2, b: 3 }),
    (text) => text.includes("5"),
  );
  await attempt(
    "error",
    () => client.run("fail", {}),
    (text) => text.includes("Atlantis"),
  );
  await attempt(
    "progress",
    client.progress ?? notOffered("no callback for progress"),
    (count) => count === 3,
  );
  await attempt("question", client.question ?? notOffered("no elicitation"), (text) =>
    text.includes("hello Ada"),
  );
  await restarted();
  await attempt(
    "restart",
    () => client.run("add", { a: 20, b: 30 }),
    (text) => text.includes("50"),
  );
  try {
    tell("key", "no", `no error: ${JSON.stringify(await limited(client.wrongKey()))}`);
  } catch (error) {
    const clear = /401|unauthorized|API key|bearer/i.test(wordsOf(error));
    tell("key", clear ? "yes" : "no", clear ? "" : wordsOf(error));
  }
  process.exit(0);
}

/** The texts of a tool's result. */
export const textOf = ({ content }) =>
  content.map((part) => (part.type === "text" ? part.text : "")).join(" ");

/** How a scripted model is told to call a tool. */
export const order = (tool, args) => `use ${tool} ${JSON.stringify(args)}`;
