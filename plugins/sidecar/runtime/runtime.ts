import { GatewayError } from "propylon";
import { FIRST_PROBLEM, HttpClient, type HttpClientReply, pause, writeJson } from "propylon/kit";
import { lowerCaseNames } from "propylon/internal";
import {
  agentCardSchema,
  CARD_PATH,
  CONTRACT_VERSIONS,
  MANIFEST_FILE,
  STATES,
  taskSchema,
  type AgentCard,
  type Manifest,
  type SendMessageRequest,
  type StreamEvent,
  type Task,
} from "propylon/contract";
import { Failure } from "../message/failure.ts";
import { Limit } from "../message/limit.ts";
import type { Settings } from "../settings.ts";
import { excess, parseAnswer } from "./answer.ts";
import { readManifest, servedManifest } from "./manifest.ts";
import { readStream } from "./stream.ts";

/** Longest wait for an answer about health, card and manifest, in milliseconds. */
const LOOK_MS = 5_000;
/** Pause between two looks at a runtime that is not healthy, in milliseconds. */
const POLL_MS = 250;

const PATHS = { healthPath: "/health", agentCardPath: CARD_PATH, taskPath: "/" } as const;

/** What a task is sent with. */
export interface SendContext {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly tell: (event: StreamEvent) => void;
}

/** The runtime as the contract shows it: health, card, manifest and tasks over HTTP, whatever is behind. */
export class RuntimeClient {
  readonly #settings: Settings["runtime"];
  /** Of every request; they say which versions of the contract we speak. */
  readonly #headers: Readonly<Record<string, string>>;
  readonly #warn: (message: string) => void;
  readonly #http: HttpClient;
  #manifest: Manifest | undefined;
  #isManifestKnown = false;
  #card: AgentCard | undefined;
  #isHealthy = false;
  #reason = "It was not asked yet.";

  constructor(settings: Settings["runtime"], agent: string, warn: (message: string) => void) {
    this.#settings = settings;
    this.#warn = warn;
    this.#http = new HttpClient({
      maxResult: settings.maxResult,
      network: unreachable,
      tooLarge: (limit) => excess("The answer", limit),
    });
    const versions = CONTRACT_VERSIONS.join(", ");
    this.#headers = {
      ...lowerCaseNames(settings.headers),
      "accept-encoding": "identity",
      "user-agent": `propylon-sidecar (${agent}; contract ${versions})`,
      "a2a-contract-versions": versions,
    };
  }

  get isHealthy(): boolean {
    return this.#isHealthy;
  }

  /** Why it is not healthy, as a sentence. */
  get reason(): string {
    return this.#reason;
  }

  get card(): AgentCard | undefined {
    return this.#card;
  }

  get manifest(): Manifest | undefined {
    return this.#manifest;
  }

  /** Where it is asked: where somebody said it is, else at the port that its manifest says. */
  get url(): string {
    const { url, isPlaced } = this.#settings;
    if (isPlaced || !this.#manifest) return url;
    return `http://localhost:${this.#manifest.server.port}`;
  }

  /**
   * Reads manifest and card, and waits until it is healthy.
   * @throws {GatewayError} `timeout` when it does not become healthy in time; `invalid` for another contract
   */
  async start(signal: AbortSignal): Promise<void> {
    const { manifest, startup } = this.#settings;
    if (manifest !== undefined) {
      this.#manifest = await readManifest(manifest);
      this.#isManifestKnown = true;
    }
    const limit = new Limit(signal, startup);
    await this.whenHealthy(limit.signal).finally(() => limit.clear());
    if (signal.aborted) return;
    if (!this.#isHealthy)
      throw new GatewayError(
        "timeout",
        `The runtime did not become healthy within ${startup / 1_000} s. ${this.#reason}`,
        { hint: "Read its log, or give it longer with STARTUP_TIMEOUT." },
      );
    await this.#readCard(signal);
  }

  /** Resolves once it is healthy, or when the signal aborts. */
  async whenHealthy(signal: AbortSignal): Promise<void> {
    while (!this.#isHealthy && !signal.aborted) {
      await this.look(signal);
      if (!this.#isHealthy) await pause(POLL_MS, signal);
    }
  }

  /** Nothing is sent to it before it was found healthy again. */
  lose(reason: string): void {
    this.#isHealthy = false;
    this.#reason = reason;
  }

  /**
   * Asks how it is, and for its manifest until that is known.
   * @throws {GatewayError} `invalid` for a manifest that rules it out
   */
  async look(signal: AbortSignal): Promise<void> {
    const response = await this.#get(this.#path("healthPath"), signal);
    if (response && !this.#isManifestKnown) await this.#askManifest(signal).catch(this.#rule);
    this.#isHealthy = response?.status === 200;
    if (response && !this.#isHealthy)
      this.#reason = `Its health is answered with ${response.status}.`;
  }

  /**
   * Runs a task.
   * @throws {Failure} saying whether another try may go better
   */
  async send(request: SendMessageRequest, context: SendContext): Promise<Task> {
    const reply = await this.#post(request, context);
    if (reply.status === 200) return check(await this.#read(reply, context), context.id);
    reply.drop();
    throw refusal(reply.status);
  }

  close(): Promise<void> {
    return this.#http.destroy();
  }

  #post(request: SendMessageRequest, { headers, signal }: SendContext): Promise<HttpClientReply> {
    const isStreaming = this.#card?.capabilities.streaming === true;
    return this.#http.send(new URL(`${this.url}${this.#path("taskPath")}`), {
      method: "POST",
      headers: {
        ...this.#headers,
        ...headers,
        "content-type": "application/json",
        accept: isStreaming ? "text/event-stream, application/json" : "application/json",
      },
      body: writeJson(request),
      signal,
    });
  }

  async #read(reply: HttpClientReply, { id, tell }: SendContext): Promise<unknown> {
    if (reply.isEvents) return readStream(reply.events(), id, this.#settings.maxResult, tell);
    const text = (await reply.bytes()).toString("utf8");
    try {
      return parseAnswer(text);
    } catch (cause) {
      if (cause instanceof Failure) throw cause;
      throw new Failure("invalid_answer", "The runtime's answer is not JSON.", cause);
    }
  }

  /** It may be as healthy as it likes. */
  readonly #rule = (error: unknown): never => {
    this.lose("Its manifest rules it out.");
    throw error;
  };

  async #askManifest(signal: AbortSignal): Promise<void> {
    const response = await this.#get(`/${MANIFEST_FILE}`, signal);
    // 503 says that it is not ready, not that it has none.
    if (!response || response.status === 503) return;
    if (response.status === 200) this.#manifest = servedManifest(response.text);
    this.#isManifestKnown = true;
  }

  async #readCard(signal: AbortSignal): Promise<void> {
    const response = await this.#get(this.#path("agentCardPath"), signal);
    try {
      this.#card = agentCardSchema.parse(parseAnswer(response?.text ?? ""), FIRST_PROBLEM);
    } catch {
      this.#warn("the runtime's card cannot be read; tasks are sent without streaming");
    }
  }

  async #get(
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly text: string } | undefined> {
    const limit = new Limit(signal, LOOK_MS);
    try {
      const reply = await this.#http.send(new URL(`${this.url}${path}`), {
        method: "GET",
        headers: this.#headers,
        signal: limit.signal,
      });
      return { status: reply.status, text: (await reply.bytes()).toString("utf8") };
    } catch (error) {
      this.#isHealthy = false;
      this.#reason =
        error instanceof Failure ? error.message : `It does not answer (${codeOf(error)}).`;
      return undefined;
    } finally {
      limit.clear();
    }
  }

  #path(name: keyof typeof PATHS): string {
    return this.#manifest?.server[name] ?? PATHS[name];
  }
}

function check(answer: unknown, id: string): Task {
  const checked = taskSchema.safeParse(answer, FIRST_PROBLEM);
  if (!checked.success)
    throw new Failure("invalid_answer", "The runtime's answer is not a task.", checked.error);
  const task = checked.data;
  const { isFinal, isInterrupted } = STATES[task.status.state];
  if (task.id !== id)
    throw new Failure("invalid_answer", "The runtime answered with the id of another task.");
  if (!isFinal && !isInterrupted)
    throw new Failure("invalid_answer", `The runtime left the task in state ${task.status.state}.`);
  return task;
}

function refusal(status: number): Failure {
  if (status === 503)
    return new Failure("unavailable", "The runtime is not ready or shuts down (503).");
  if (status === 429) return new Failure("rate_limited", "The runtime has no room (429).");
  if ([400, 413, 415, 422].includes(status))
    return new Failure("refused", `The runtime refuses the task (${status}).`);
  return new Failure("runtime_error", `The runtime answered with ${status}.`);
}

function unreachable(cause: unknown): Failure {
  return new Failure("unreachable", `The runtime cannot be reached (${codeOf(cause)}).`, cause);
}

/** The system's or undici's code of a failed request; their words may name addresses. */
function codeOf(error: unknown): string {
  const { code, cause, name } = error as {
    code?: unknown;
    cause?: { code?: unknown };
    name?: string;
  };
  const found = cause?.code ?? code;
  return typeof found === "string" ? found : (name ?? "unknown reason");
}
