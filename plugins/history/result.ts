import type { Answer, Json } from "propylon";
import { copyJson } from "./copy.ts";
import { REDACTED, type Secrets } from "./secrets.ts";

/** The beginning of an answer, as text. */
export interface KeptResult {
  /** The whole JSON-RPC message, or its beginning. */
  readonly text: string;
  /** Size of the answer in bytes, where it is known without encoding it. */
  readonly size: number | undefined;
  readonly truncated: boolean;
}

/** What a reader is shown of a result: the result itself when it was kept whole, else how it begins. */
export interface ShownResult {
  readonly result?: unknown;
  readonly resultPreview?: string;
  readonly resultSize?: number;
}

/** Keeps the beginning of an answer. An answer that is still bytes is not parsed for it, and no more of it is copied than is kept. */
export function keepResult(answer: Answer, limit: number): KeptResult {
  if (answer.isRaw) return keepPieces(answer.encode(""), limit, answer.rawSize);
  const { value, truncated } = copyJson(answer.result, { limit });
  const text = JSON.stringify({ result: value });
  if (text.length <= limit) return { text, size: undefined, truncated };
  return { text: flat(text.slice(0, limit)), size: undefined, truncated: true };
}

/** Takes secrets out of what was kept: a tool may repeat what it was given. */
export function withoutSecrets(kept: KeptResult, secrets: readonly string[]): KeptResult {
  return { ...kept, text: hideSecrets(kept.text, secrets) };
}

/** A text without secrets, also where they are quoted once or twice, and without the beginning of one at which it is cut off. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .flatMap(formsOf)
    .reduce((rest, secret) => hideBeginning(rest.replaceAll(secret, REDACTED), secret), text);
}

/** Makes what was kept fit for showing. */
export function showResult({ text, size, truncated }: KeptResult, secrets: Secrets): ShownResult {
  const resultSize = size === undefined ? {} : { resultSize: size };
  const whole = truncated ? undefined : parse(text);
  if (whole === undefined) {
    const preview = text.replace(/^[^]{0,200}?"result"\s*:\s*/, "");
    return { resultPreview: secrets.mask(preview), ...resultSize };
  }
  const rules = { secrets, limit: Number.MAX_SAFE_INTEGER, insideTexts: true };
  return { result: copyJson(whole["result"], rules).value, ...resultSize };
}

function keepPieces(
  pieces: readonly (string | Buffer)[],
  limit: number,
  size: number | undefined,
): KeptResult {
  let text = "";
  let left = limit;
  let truncated = false;
  for (const piece of pieces) {
    const bytes = typeof piece === "string" ? Buffer.byteLength(piece) : piece.length;
    truncated = bytes > left;
    text += beginning(piece, left);
    left -= bytes;
    if (truncated || left <= 0) break;
  }
  // A character that was cut in half.
  return { text: truncated ? text.replace(/\uFFFD$/, "") : text, size, truncated };
}

function beginning(piece: string | Buffer, bytes: number): string {
  if (typeof piece !== "string") return piece.toString("utf8", 0, bytes);
  return piece.length <= bytes ? piece : flat(piece.slice(0, bytes));
}

/** A text of its own: a slice would keep the whole alive. */
function flat(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}

function hideBeginning(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= 4; length--) {
    const start = secret.slice(0, length);
    if (text.endsWith(start)) return `${text.slice(0, -length)}${REDACTED}`;
    if (text.includes(`${start}[cut off]`)) return text.replaceAll(`${start}[cut off]`, REDACTED);
  }
  return text;
}

/** A text as it stands in JSON inside JSON, in JSON, and by itself. */
function formsOf(text: string): readonly string[] {
  const once = JSON.stringify(text).slice(1, -1);
  const twice = JSON.stringify(once).slice(1, -1);
  return [...new Set([twice, once, text])];
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
