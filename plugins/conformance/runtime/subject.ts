import { randomUUID } from "node:crypto";
import { CARD_PATH, MANIFEST_FILE, manifestSchema, type Part } from "propylon/contract";
import { describeExit, type Child } from "./child.ts";
import { exchange, NoAnswer, parsed, type Outgoing, type RuntimeReply } from "./exchange.ts";
import type { RuntimeKitOptions } from "./options.ts";
import { within } from "propylon/kit";

/** Health, card and manifest are simple to answer: longer than this is as good as never. Milliseconds. */
const LOOK_MS = 10_000;
/** The connections of a process break a moment before its end is known. Milliseconds. */
const END_MS = 200;

const BROKEN = /hang up|ECONNRESET|aborted/;

/** What a message is made of. */
export interface Words {
  readonly text?: string;
  /** In place of one part with the text. */
  readonly parts?: readonly Part[];
  readonly taskId?: string;
  readonly contextId?: string;
}

/** Which path is for what; those of the contract unless the runtime's manifest says otherwise. */
export interface Paths {
  readonly health: string;
  readonly card: string;
  readonly task: string;
}

const PATHS: Paths = { health: "/health", card: CARD_PATH, task: "/" };

/** A runtime as a client sees it. */
export class Subject {
  readonly #base: URL;
  readonly #options: Pick<RuntimeKitOptions, "headers" | "timeout">;
  readonly #child: Pick<Child, "exit" | "hasEnded"> | undefined;
  #paths = PATHS;
  /** Answer to the manifest's path, once {@link findPaths} has run. */
  manifest: RuntimeReply | undefined;

  /** @param child the process of the runtime, where the kit started it */
  constructor(
    url: string,
    options: Pick<RuntimeKitOptions, "headers" | "timeout">,
    child?: Pick<Child, "exit" | "hasEnded">,
  ) {
    this.#base = new URL(url.endsWith("/") ? url : `${url}/`);
    this.#options = options;
    this.#child = child;
  }

  health(): Promise<RuntimeReply> {
    return this.#look(this.#paths.health);
  }

  card(): Promise<RuntimeReply> {
    return this.#look(this.#paths.card);
  }

  /** Reads the manifest, where the runtime serves one, and follows its paths. */
  async findPaths(): Promise<void> {
    this.manifest = await this.#look(`/${MANIFEST_FILE}`);
    const { data } = manifestSchema.safeParse(parsed(this.manifest.text));
    if (this.manifest.status !== 200 || !data) return;
    const { healthPath, agentCardPath, taskPath } = data.server;
    this.#paths = { health: healthPath, card: agentCardPath, task: taskPath };
  }

  /** Sends a task as the sidecar would. */
  send(words: Words, headers: Readonly<Record<string, string>> = {}): Promise<RuntimeReply> {
    return this.post(JSON.stringify(requestOf(words)), headers);
  }

  /** Sends any body at all. */
  post(
    body: string,
    headers: Readonly<Record<string, string>> = {},
    timeout = this.#options.timeout,
  ): Promise<RuntimeReply> {
    const json = { "content-type": "application/json", accept: "application/json", ...headers };
    return this.#exchange(this.#paths.task, { method: "POST", headers: json, body, timeout });
  }

  #look(path: string): Promise<RuntimeReply> {
    return this.#exchange(path, { headers: { accept: "application/json" }, timeout: LOOK_MS });
  }

  async #exchange(path: string, outgoing: Outgoing): Promise<RuntimeReply> {
    const url = new URL(path.slice(1), this.#base);
    const length = Buffer.byteLength(outgoing.body ?? "");
    const headers = {
      ...this.#options.headers,
      ...outgoing.headers,
      ...(outgoing.method === "POST" && { "content-length": String(length) }),
    };
    try {
      return await exchange(url, { ...outgoing, headers });
    } catch (error) {
      throw (await this.#findEnd(error)) ?? error;
    }
  }

  /** That its process has ended says more than a connection that broke. */
  async #findEnd(error: unknown): Promise<NoAnswer | undefined> {
    if (!this.#child || !(error instanceof NoAnswer)) return undefined;
    const isBroken = this.#child.hasEnded() || BROKEN.test(error.why);
    const { exit } = this.#child;
    const hasEnded = await within(exit, isBroken ? END_MS : 0);
    return hasEnded ? new NoAnswer(describeExit(await exit)) : undefined;
  }
}

/** The body of `POST /` for some words, with a message id of its own. */
export function requestOf({ text = "", parts, ...ids }: Words): {
  readonly message: { readonly messageId: string; readonly [member: string]: unknown };
} {
  const messageId = `conformance-${randomUUID()}`;
  return { message: { messageId, role: "user", parts: parts ?? [{ text }], ...ids } };
}
