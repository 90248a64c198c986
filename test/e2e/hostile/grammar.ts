import type { Saying, Transport } from "./scene.ts";

/** Random numbers of a seed (mulberry32), so that a run can be repeated. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0, below 1. */
  roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(limit: number): number {
    return Math.floor(this.roll() * limit);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  chance(share: number): boolean {
    return this.roll() < share;
  }
}

/** Ids as a server may write them: ours, echoed, guessed, nested, and what is no id at all. */
const IDS = ["%ID%", "%ID%", "%ID%", "%TOKEN%", "1", "2", "7", "40", '"1"', '"x"', "null", "1.5", "-1", "1e2", "true", "[]", "[%ID%]", '{"id":%ID%}', '""', '"%PAD:300%"', "12345678901234567890"] as const; // prettier-ignore
const TOKENS = ["%TOKEN%", "%TOKEN%", "%ID%", "1", '"1"', "null", '{"a":1}'] as const;
const SCALARS = ["0", "-0", "1e999", "9007199254740993", "null", "true", '"text"', '"\\ud800"', '"\\u0000"', '"__proto__"', '"%PAD:5000%"', '"%PAD:70000%"', '"\u2028"', '"\\"}"'] as const; // prettier-ignore
const KEYS = ["id", "jsonrpc", "result", "error", "method", "params", "_meta", "content", "isError", "structuredContent", "resultType", "\\u0069d", "__proto__", "constructor", "io.modelcontextprotocol/serverInfo", ""] as const; // prettier-ignore
const NOTICES = ["notifications/progress", "notifications/progress", "notifications/message", "notifications/cancelled", "notifications/resources/updated", "notifications/elicitation/complete", "notifications/subscriptions/gone", "notifications/strange", "", "tools/call"] as const; // prettier-ignore
const QUESTIONS = ["ping", "sampling/createMessage", "elicitation/create", "roots/list", "tools/list", "initialize", "server/discover", "strange"] as const; // prettier-ignore
const BITS = ["", "{", "}", "[", "]", ",", ":", '"', "\\", "0", "e", " ", "\u0000", "\u0085", "\ufeff", "é"] as const; // prettier-ignore

/** One value; `nonce` stands in every text that could reach somebody. */
function value(dice: Dice, nonce: string, depth = 0): string {
  const kind = depth > 4 ? 0 : dice.below(8);
  if (kind < 4) return dice.chance(0.4) ? `"${nonce}"` : dice.pick(SCALARS);
  if (kind === 4) return `%DEEP:${dice.pick([1, 10, 60, 62, 63, 64, 65, 500, 6_000])}%`;
  const count = dice.below(4);
  if (kind === 5)
    return `[${Array.from({ length: count }, () => value(dice, nonce, depth + 1)).join(",")}]`;
  const parts = Array.from(
    { length: count },
    () => `"${dice.pick(KEYS)}":${value(dice, nonce, depth + 1)}`,
  );
  return `{${parts.join(",")}}`;
}

function result(dice: Dice, nonce: string): string {
  if (dice.chance(0.3)) return value(dice, nonce);
  const text = dice.pick([nonce, `${nonce}%PAD:${dice.pick([10, 4_000, 9_000, 60_000])}%`]);
  const more = dice.chance(0.3) ? `,"${dice.pick(KEYS)}":${value(dice, nonce)}` : "";
  return `{"content":[{"type":"text","text":"${text}"}]${more}}`;
}

/** The members of one message, in any order and number. */
function members(dice: Dice, nonce: string): string[] {
  const kind = dice.below(10);
  const version = `"jsonrpc":${dice.pick(['"2.0"', '"2.0"', '"2.0"', '"1.0"', "2"])}`;
  const id = `"id":${dice.pick(IDS)}`;
  if (kind < 4) return [version, id, `"result":${result(dice, nonce)}`];
  if (kind === 4)
    return [version, id, `"error":{"code":${dice.pick(["-32000", "-32042", '"x"', "1e999"])},"message":"${nonce}","data":${value(dice, nonce)}}`]; // prettier-ignore
  if (kind < 7) return [version, `"method":"${dice.pick(NOTICES)}"`, `"params":${report(dice, nonce)}`]; // prettier-ignore
  if (kind === 7) return [version, id, `"method":"${dice.pick(QUESTIONS)}"`, `"params":${value(dice, nonce)}`]; // prettier-ignore
  return Array.from({ length: dice.below(6) }, () => `"${dice.pick(KEYS)}":${value(dice, nonce)}`);
}

function report(dice: Dice, nonce: string): string {
  if (dice.chance(0.3)) return value(dice, nonce);
  return `{"progressToken":${dice.pick(TOKENS)},"progress":${dice.pick(["1", "2", "-1", "1e999", '"1"'])},"message":"${nonce}","level":"error","data":${value(dice, nonce)},"requestId":${dice.pick(IDS)},"uri":"a:b"}`;
}

/** One message, whole or spoilt. */
function message(dice: Dice, nonce: string): string {
  const parts = members(dice, nonce);
  if (dice.chance(0.15)) parts.push(...members(dice, nonce));
  if (dice.chance(0.3)) parts.sort(() => dice.roll() - 0.5);
  const text = `{${parts.join(dice.pick([",", ",", ", "]))}}`;
  const spoilt = dice.below(12);
  if (spoilt === 0) return text.slice(0, dice.below(text.length));
  if (spoilt === 1) return `${text}${dice.pick(["", " ", ","])}{${members(dice, nonce).join(",")}}`;
  if (spoilt === 2) return `[${text},{${members(dice, nonce).join(",")}}]`;
  if (spoilt === 3) {
    const at = dice.below(text.length);
    return text.slice(0, at) + dice.pick(BITS) + text.slice(at + dice.below(3));
  }
  return text;
}

/** Lines of an event stream that are no event, or a strange one (WHATWG HTML, "Interpreting an event stream"). */
const LINES = [": comment\n", "retry: 1\n", "retry: 99999999999\n", "event: endpoint\ndata: http://127.0.0.1:1/\n\n", "event: ping\n\n", "id\n", "data\n\n", "data:\n\n", "data: {\n\ndata: }\n\n", "\r\n", "\r", "\n\n\n", "\ufeff", "event: \u0000\ndata: null\n\n", "dat", "data: [DONE]\n\n", "unknown: field\n"] as const; // prettier-ignore

/** What a hostile server says in one call; its last words are always a regular answer, so that the call ends. */
export function hostileSaying(
  dice: Dice,
  transport: Transport,
  nonce: string,
  count: number,
): Saying {
  if (transport === "http" && dice.chance(0.1))
    return { words: [message(dice, nonce)], body: true };
  const frame = (text: string): string =>
    transport === "stdio"
      ? `${text}\n`
      : `${dice.chance(0.3) ? dice.pick(LINES) : ""}data:${dice.pick(["", " "])}${text.replaceAll(/[\r\n]/g, " ")}${dice.pick(["\n\n", "\r\n\r\n", "\r\r"])}`;
  const words = Array.from({ length: count - 1 }, () => frame(message(dice, nonce)));
  const last = `{"jsonrpc":"2.0","id":%ID%,"result":{"content":[{"type":"text","text":"${nonce}"}]}}`;
  const end = transport === "stdio" ? `\n${last}\n` : `\n\ndata: ${last}\n\n`;
  return { words: [...words, end], raw: true };
}
