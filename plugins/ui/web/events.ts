import { RequestFailure, send, type Params, type Route } from "./request.ts";

/** One server-sent event. */
export interface SentEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** Cuts a body into server-sent events (HTML, section 9.2.6), until the signal ends that. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<SentEvent> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>;
  const stop = (): void => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
        const event = parseEvent(rest.slice(0, end));
        rest = rest.slice(end + 2);
        if (event) yield event;
      }
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    await reader.cancel().catch(() => {});
  }
}

/** The gateway ends lines with a line feed; a comment has no data. */
function parseEvent(text: string): SentEvent | undefined {
  const fields = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    fields.set(name, [...(fields.get(name) ?? []), value]);
  }
  const data = fields.get("data");
  if (!data) return undefined;
  return {
    id: fields.get("id")?.at(-1),
    event: fields.get("event")?.at(-1) ?? "message",
    data: data.join("\n"),
  };
}

/** How the page learns of changes. */
export type LiveState =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** Tries again at this time, in milliseconds since 1970. */
  | { readonly kind: "reconnecting"; readonly at: number; readonly since: number }
  /** The gateway has no events, or refuses them: what is on the screen is asked for every 8 s. */
  | { readonly kind: "polling"; readonly since: number };

/** How often a page without events asks. */
export const POLL_MS = 8_000;

/** Before each new attempt; after the last of them the page says that it polls, and goes on trying. */
const WAITS_MS = [1_000, 2_000, 4_000, 8_000] as const;

/** The gateway has no events, or not for this visitor. */
const REFUSED_MS = 60_000;

/** A hidden page keeps its stream for this long: browsers open six connections to a host, and tabs are many. */
const HIDDEN_MS = 30_000;

/** What comes in on the stream. */
export type EventListener = (kind: string, data: Readonly<Record<string, unknown>>) => void;

const EVENTS: Route = "GET /_meta/events";

/** A kind of events that only some pages need, and the least severity of log lines. */
export interface EventSelection {
  readonly kinds: "progress" | "call_end" | "log";
  readonly level?: string;
}

/** Keeps one stream of events open, for everything on the page that wants some. */
export class LiveStream {
  #state: LiveState = { kind: "connecting" };
  #lastId: string | undefined;
  #instance: string | undefined;
  #attempts = 0;
  #abort: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hidden: ReturnType<typeof setTimeout> | undefined;
  #stopped = true;
  readonly #watchers = new Set<() => void>();
  readonly #listeners = new Set<EventListener>();
  readonly #selections = new Map<object, EventSelection>();

  get state(): LiveState {
    return this.#state;
  }

  /** Tells of changes of the {@link state}. */
  watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  /** Hears every event. */
  listen(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Asks for kinds besides those that every stream has, such as `log`, for as long as somebody looks. */
  want(selection: EventSelection): () => void {
    const key = {};
    this.#selections.set(key, selection);
    this.#restart();
    return () => {
      this.#selections.delete(key);
      this.#restart();
    };
  }

  start(): void {
    this.#stopped = false;
    document.addEventListener("visibilitychange", this.#onVisibility);
    this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    document.removeEventListener("visibilitychange", this.#onVisibility);
    this.#close();
    this.#attempts = 0;
    this.#set({ kind: "connecting" });
  }

  /** Tries at once, for somebody who does not want to wait. */
  retry(): void {
    this.#attempts = 0;
    this.#restart();
  }

  #onVisibility = (): void => {
    clearTimeout(this.#hidden);
    if (document.hidden) this.#hidden = setTimeout(() => this.#close(), HIDDEN_MS);
    else if (!this.#abort) this.#restart();
  };

  #restart(): void {
    if (this.#stopped) return;
    this.#close();
    // Several parts of a page that come and go at once are one new stream.
    this.#timer = setTimeout(() => this.#connect());
  }

  #close(): void {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    this.#abort = undefined;
  }

  #connect(): void {
    clearTimeout(this.#timer);
    const abort = (this.#abort = new AbortController());
    void this.#read(abort.signal).then((failure) => {
      if (!abort.signal.aborted) this.#lost(failure);
    });
  }

  /** Reads until the end; resolves to why the stream could not be had. */
  async #read(signal: AbortSignal): Promise<RequestFailure | undefined> {
    try {
      const answer = await send(EVENTS, {
        params: this.#params(),
        signal,
        headers: {
          accept: "text/event-stream",
          ...(this.#lastId !== undefined && { "last-event-id": this.#lastId }),
        },
      });
      for await (const event of readEvents(answer.body!)) this.#take(event);
    } catch (thrown) {
      if (thrown instanceof RequestFailure) return thrown;
      // The connection broke.
    }
    return undefined;
  }

  #params(): Params {
    const selections = [...this.#selections.values()];
    if (selections.length === 0) return {};
    const also = new Set(selections.map(({ kinds }) => kinds));
    return { also: [...also].join(","), level: selections.find(({ level }) => level)?.level };
  }

  #take({ id, event, data }: SentEvent): void {
    const content = JSON.parse(data) as Readonly<Record<string, unknown>>;
    if (event === "hello") this.#greet(content);
    if (id !== undefined) this.#lastId = id;
    for (const listener of this.#listeners) listener(event, content);
  }

  #greet({ instance }: Readonly<Record<string, unknown>>): void {
    const isFirst = this.#instance === undefined;
    const wasLost = this.#state.kind !== "live";
    this.#attempts = 0;
    this.#set({ kind: "live" });
    const restarted = !isFirst && this.#instance !== instance;
    this.#instance = String(instance);
    if (!isFirst && (restarted || wasLost))
      for (const listener of this.#listeners) listener("returned", { restarted });
  }

  #lost(failure: RequestFailure | undefined): void {
    this.#abort = undefined;
    this.#attempts++;
    const since = "since" in this.#state ? this.#state.since : Date.now();
    const isRefused = failure !== undefined && failure.status >= 400 && failure.status < 500;
    const wait = isRefused ? REFUSED_MS : WAITS_MS[Math.min(this.#attempts, WAITS_MS.length) - 1]!;
    if (isRefused || this.#attempts > WAITS_MS.length) this.#set({ kind: "polling", since });
    else this.#set({ kind: "reconnecting", at: Date.now() + wait, since });
    this.#timer = setTimeout(() => this.#connect(), Math.min(wait, REFUSED_MS));
  }

  #set(state: LiveState): void {
    this.#state = state;
    for (const watcher of this.#watchers) watcher();
  }
}
