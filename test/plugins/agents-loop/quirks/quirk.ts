/** One HTTP answer of a provider; a list is written piece by piece. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Buffer | readonly (string | Buffer)[];
  /** The connection stays open behind the last byte. */
  readonly open?: boolean;
}

/** What a run comes to, whoever listens and however the provider sends its answer. */
export interface Outcome {
  /** Tool calls that were made, as `name {arguments}`. */
  readonly calls?: readonly string[];
  /** What the model is told of calls that were not made. */
  readonly told?: readonly string[];
  /** The answer; default: `Done.` behind calls. */
  readonly text?: string;
  readonly end?: string;
  /** Part of the failure's message. */
  readonly fails?: string;
  /** Tokens of the answer, where the row is about them. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  /** Requests that were made. */
  readonly requests?: number;
}

/** Something that a provider does unlike the others. */
export interface Quirk {
  readonly what: string;
  readonly whole: Reply;
  readonly streamed: Reply;
  /** What comes before the answer, e.g. a refusal with `Retry-After`. */
  readonly first?: Reply;
  readonly comes: Outcome;
}

const JSON_TYPE = { "content-type": "application/json" };
const SSE_TYPE = { "content-type": "text/event-stream" };

/** An answer of one JSON document. */
export function whole(body: unknown): Reply {
  return { headers: JSON_TYPE, body: typeof body === "string" ? body : JSON.stringify(body) };
}

/** An event stream; texts are frames as they are. */
export function stream(...events: readonly unknown[]): Reply {
  return { headers: SSE_TYPE, body: events.map(frame).join("") };
}

function frame(event: unknown): string {
  if (typeof event === "string") return event;
  const { type } = event as { type?: unknown };
  const name = typeof type === "string" ? `event: ${type}\n` : "";
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

/** The last frame of a stream of chat completions. */
export const DONE = "data: [DONE]\n\n";

type Fields = Readonly<Record<string, unknown>>;

/** What a chat completion says beside its message. */
export interface ChatFields {
  readonly finish?: unknown;
  /** Members of the answer. */
  readonly top?: Fields;
  /** Members of the choice. */
  readonly choice?: Fields;
}

const HEAD = { id: "c", object: "chat.completion", created: 1, model: "m" };

/** A chat completion as one document. */
export function completion(message: unknown, { finish = "stop", top, choice }: ChatFields = {}) {
  const first = { index: 0, message, finish_reason: finish, ...choice };
  return { ...HEAD, choices: [first], ...top };
}

/** One chunk of a chat completion. */
export function chunk(delta: unknown, { finish = null, top, choice }: ChatFields = {}) {
  const first = { index: 0, delta, finish_reason: finish, ...choice };
  return { ...HEAD, object: "chat.completion.chunk", choices: [first], ...top };
}

/** A quirk of a message, which a stream sends in one chunk before that of its end. */
export function said(
  what: string,
  message: Fields,
  comes: Outcome,
  fields: ChatFields = {},
): Quirk {
  const { finish = "stop", ...others } = fields;
  return {
    what,
    whole: whole(completion(message, fields)),
    streamed: stream(chunk(message, others), chunk({}, { ...others, finish }), DONE),
    comes,
  };
}

/** A quirk of the pieces of a stream; `whole` is the message that they make. */
export function pieces(
  what: string,
  message: Fields,
  deltas: readonly unknown[],
  comes: Outcome,
  fields: ChatFields = {},
): Quirk {
  const { finish = "stop", ...others } = fields;
  const chunks = deltas.map((delta) => chunk(delta, others));
  return {
    what,
    whole: whole(completion(message, fields)),
    streamed: stream(...chunks, chunk({}, { ...others, finish }), DONE),
    comes,
  };
}

/** A quirk of how bytes are sent. */
export function sent(what: string, change: (reply: Reply) => Reply, comes: Outcome = HELLO): Quirk {
  const message = { role: "assistant", content: "Héllo." };
  const plain = said(what, message, comes);
  return { ...plain, whole: change(plain.whole), streamed: change(plain.streamed) };
}

/** What comes of the message of {@link sent}. */
export const HELLO: Outcome = { text: "Héllo.", end: "finished" };

/** A call of the tool `files/read`, as chat completions have it. */
export function call(args: unknown, more: Fields = {}, name: unknown = "files__read") {
  return { id: "c1", type: "function", function: { name, arguments: args }, ...more };
}

/** What comes of calls. */
export function calls(...made: readonly string[]): Outcome {
  return { calls: made, text: "Done.", end: "finished" };
}

/** What comes of a call whose arguments are wrong. */
export function told(words: string, ...made: readonly string[]): Outcome {
  return { ...calls(...made), told: [`${words} Call again with one JSON object.`] };
}

/** A call whose arguments come last. */
export function cut(head: object, ...args: readonly unknown[]) {
  const rest = args.map((each) => ({ tool_calls: [{ index: 0, function: { arguments: each } }] }));
  return [{ tool_calls: [{ index: 0, ...head }] }, ...rest];
}
