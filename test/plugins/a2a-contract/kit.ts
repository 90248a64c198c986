import { request, type IncomingMessage } from "node:http";
import { fileURLToPath } from "node:url";
import { startRuntime, type RuntimeSetup, type TestRuntime } from "../a2a/kit.ts";
import {
  streamEventSchema,
  type StreamEvent,
  type Task,
} from "../../../plugins/a2a/contract/index.ts";

/** A skill whose message says how it behaves. */
export const SCRIPTED = fileURLToPath(
  new URL("../../fixtures/skills/scripted.mjs", import.meta.url),
);

/** Starts a runtime whose first skill does what the message says. */
export async function startScripted(setup: Partial<RuntimeSetup> = {}): Promise<TestRuntime> {
  const skills = [{ id: "scripted", function: SCRIPTED }, ...(setup.skills ?? [])];
  return startRuntime({ ...setup, skills });
}

/** What a request is made of. */
export interface PostOptions {
  /** `content-type`; several are several headers. Default: JSON. */
  readonly type?: string | readonly string[] | undefined;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends the body without saying how long it is. */
  readonly isChunked?: boolean;
  readonly signal?: AbortSignal;
}

/** An answer as it came. */
export interface PostAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** Sends bytes to `POST /`, whatever they are. */
export function post(
  url: string,
  body: string | Uint8Array,
  options: PostOptions = {},
): Promise<PostAnswer> {
  const { accept, headers, isChunked = false, signal } = options;
  const type = "type" in options ? options.type : "application/json";
  return new Promise((resolve, reject) => {
    const req = request(new URL("/", url), {
      method: "POST",
      agent: false,
      headers: {
        ...headers,
        ...(type !== undefined && { "content-type": type as string }),
        ...(accept !== undefined && { accept }),
        ...(!isChunked && { "content-length": Buffer.byteLength(body) }),
      },
      ...(signal && { signal }),
    });
    req.on("error", reject);
    req.on("response", (res) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => chunks.push(chunk));
      res.on("error", reject);
      res.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: res.statusCode!, headers: res.headers, text });
      });
    });
    if (isChunked) req.flushHeaders();
    req.end(body);
  });
}

/** A message as JSON. */
export function messageOf(text: string, rest: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    message: { messageId: "m-1", role: "user", parts: [{ text }], ...rest },
  });
}

/** Sends a message, and reads the task that answers it. */
export async function send(
  url: string,
  text: string,
  rest: Readonly<Record<string, unknown>> = {},
  options: PostOptions = {},
): Promise<Task> {
  const answer = await post(url, messageOf(text, rest), options);
  return JSON.parse(answer.text) as Task;
}

/** The events of a stream, each checked by the schema of the contract. */
export function eventsIn(text: string): StreamEvent[] {
  return text
    .split("\n\n")
    .filter((frame) => frame.startsWith("data: "))
    .map((frame) => streamEventSchema.parse(JSON.parse(frame.slice("data: ".length))));
}
