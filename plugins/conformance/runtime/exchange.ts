import { request as requestHttp, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { demand } from "../check.ts";
import { timeoutSignal } from "propylon/kit";
import { readUpTo } from "propylon/internal";

/** What is sent to a runtime. */
export interface Outgoing {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Longest wait for the whole answer, in milliseconds. */
  readonly timeout: number;
}

/** What came back, as it was on the wire. */
export interface RuntimeReply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** There was no whole answer. The message is a sentence; `why` is its reason, for other sentences. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  readonly why: string;

  constructor(why: string) {
    super(`There was no answer: ${why}.`);
    this.why = why;
  }
}

/** Longest answer that is read, in bytes: what is looked at here is small. */
const MOST_BYTES = 16 * 1_048_576;

/**
 * Sends one request on a connection of its own, exactly as given: a client that adds headers, follows redirects or keeps
 * connections would hide what is to be seen.
 *
 * @throws {NoAnswer}
 */
export function exchange(
  url: URL,
  { method = "GET", headers, body, timeout }: Outgoing,
): Promise<RuntimeReply> {
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const signal = timeoutSignal(timeout);
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(
        new NoAnswer(signal.aborted ? `it took longer than ${timeout / 1_000} s` : error.message),
      );
    send(url, { method, headers, agent: false, signal }, (res) => {
      collect(res).then((text) => {
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text });
      }, fail);
    })
      .on("error", fail)
      .end(body);
  });
}

async function collect(res: IncomingMessage): Promise<string> {
  const whole = await readUpTo(res, MOST_BYTES);
  if (whole) return whole.toString("utf8");
  throw new Error(`it was longer than ${MOST_BYTES} bytes`);
}

/** The media type of an answer: lower case, without parameters. */
export function typeOf({ headers }: Pick<RuntimeReply, "headers">): string {
  return (headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
}

/** @throws {Deviation} for an answer that does not say it is JSON */
export function demandJson(reply: RuntimeReply): void {
  const type = typeOf(reply);
  const got = type === "" ? "no type" : type;
  demand(type === "application/json", `Expected application/json, got ${got}.`);
}

/** The JSON value in a text; `undefined` when it holds none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A member of a JSON object; `undefined` when the text is not one. */
export function memberOf(text: string, name: string): unknown {
  const value = parsed(text);
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}
