import type { Answer, Json } from "propylon";
import { parseExact, writeJson } from "propylon/kit";
import { copyJson } from "./copy.ts";
import { REDACTED, type Secrets } from "./secrets.ts";

/** The beginning of an answer: as text, or as that many bytes of a raw answer, which are copied to where they are kept and nowhere else. */
export interface KeptResult {
  /** The whole JSON-RPC message, or its beginning. */
  readonly text: string;
  readonly answer?: Answer;
  readonly answerBytes?: number;
  /** Size of the answer in bytes, where it is known without encoding it. */
  readonly size: number | null;
  readonly truncated: boolean;
}

/** What a reader is shown of a result: the result itself when it was kept whole, else how it begins. */
export interface ShownResult {
  readonly result?: unknown;
  readonly resultPreview?: string;
  readonly resultSize?: number;
}

/**
 * Keeps the beginning of an answer. An answer that is still bytes is not parsed for it, and no more of it is copied than is kept.
 *
 * @param secrets what must not stand in it: a tool may repeat what it was given
 */
export function keepResult(answer: Answer, limit: number, secrets: readonly string[]): KeptResult {
  if (!answer.isRaw) return withoutSecrets(keepValue(answer, limit), secrets);
  const size = answer.rawSize!;
  if (secrets.length > 0)
    return withoutSecrets(keepPieces(answer.encode(""), limit, size), secrets);
  return { text: "", answer, answerBytes: Math.min(size, limit), size, truncated: size > limit };
}

function keepValue(answer: Answer, limit: number): KeptResult {
  const { value, truncated } = copyJson(answer.result, { limit });
  const bytes = Buffer.from(writeJson({ result: value }));
  if (bytes.length <= limit) return { text: bytes.toString(), size: null, truncated };
  return { text: withoutHalf(bytes.toString("utf8", 0, limit)), size: null, truncated: true };
}

function withoutSecrets(kept: KeptResult, secrets: readonly string[]): KeptResult {
  return secrets.length === 0 ? kept : { ...kept, text: hideSecrets(kept.text, secrets) };
}

/** A text without secrets, also where they are quoted once or twice, and without the beginning of one at which it is cut off. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .flatMap(formsOf)
    .reduce((rest, secret) => hideBeginning(rest.replaceAll(secret, REDACTED), secret), text);
}

/** A text without the character at its end that was cut in half. */
export function withoutHalf(text: string): string {
  return text.endsWith("\uFFFD") ? text.slice(0, -1) : text;
}

/** Makes what was kept fit for showing. */
export function showResult(text: string, isTruncated: boolean, secrets: Secrets): ShownResult {
  const whole = isTruncated ? undefined : parse(text);
  if (whole === undefined)
    return { resultPreview: secrets.mask(text.replace(/^[^]{0,200}?"result"\s*:\s*/, "")) };
  const rules = { secrets, limit: Number.MAX_SAFE_INTEGER, insideTexts: true };
  return { result: copyJson(whole["result"], rules).value };
}

function keepPieces(pieces: readonly (string | Buffer)[], limit: number, size: number): KeptResult {
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
  return { text: truncated ? withoutHalf(text) : text, size, truncated };
}

function beginning(piece: string | Buffer, bytes: number): string {
  if (typeof piece !== "string") return piece.toString("utf8", 0, bytes);
  return piece.slice(0, bytes);
}

function hideBeginning(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= 4; length--) {
    const start = secret.slice(0, length);
    if (text.endsWith(start)) return `${text.slice(0, -length)}${REDACTED}`;
    if (text.includes(`${start}[cut off]`)) return text.replaceAll(`${start}[cut off]`, REDACTED);
  }
  return text;
}

/** A text as it stands in JSON inside JSON, in JSON, and on its own. */
function formsOf(text: string): readonly string[] {
  const once = JSON.stringify(text).slice(1, -1);
  const twice = JSON.stringify(once).slice(1, -1);
  return [...new Set([twice, once, text])];
}

function parse(text: string): Json | undefined {
  try {
    return parseExact(text) as Json;
  } catch {
    return undefined;
  }
}
