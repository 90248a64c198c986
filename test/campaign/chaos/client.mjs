/** One client: an official SDK of either era, which checks that everything it gets is its own. */
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const TIMEOUT_MS = 60_000;
const CAPABILITIES = { sampling: {}, elicitation: { form: {} } };
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";

/** What the client did to its own call. */
const CANCELLED = "cancelled by the client";
const DISCONNECTED = "the client went away";

export class ChaosClient {
  #calls = 0;
  #cancelled = 0;
  #strays = 0;
  /** @type {Map<string, { kind: string, own?: string }>} Calls in flight, by nonce. */
  #open = new Map();

  constructor({ id, url, key, era, servers, random, ledger }) {
    Object.assign(this, { id, url, key, era, servers, random, ledger });
  }

  /** Does one thing after the other until `until()`. */
  async live(until) {
    while (!until()) {
      try {
        await this.#connect();
        const last = 5 + this.random.below(40);
        for (let turn = 0; turn < last && !until(); turn++) await this.#turn();
      } catch (error) {
        this.ledger.finding(`${this.id} (${this.era}) cannot connect: ${error.message}`);
      }
      await this.#leave();
    }
  }

  async #connect() {
    const options = { requestInit: { headers: { authorization: `Bearer ${this.key}` } } };
    if (this.era === "legacy") {
      this.client = new Client({ name: this.id, version: "1" }, { capabilities: CAPABILITIES });
      this.client.setRequestHandler(CreateMessageRequestSchema, ({ params }) =>
        this.#sample(params),
      );
      this.client.setRequestHandler(ElicitRequestSchema, ({ params }) => this.#fill(params));
      this.client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) =>
        this.#logged(params),
      );
      this.client.onerror = (error) => this.#stray(error);
      await this.client.connect(new StreamableHTTPClientTransport(this.url, options));
      await this.client.setLoggingLevel("info");
    } else {
      this.client = new ModernClient(
        { name: this.id, version: "1" },
        { capabilities: CAPABILITIES, versionNegotiation: { mode: { pin: "2026-07-28" } } },
      );
      this.client.setRequestHandler("sampling/createMessage", ({ params }) => this.#sample(params));
      this.client.setRequestHandler("elicitation/create", ({ params }) => this.#fill(params));
      this.client.setNotificationHandler("notifications/message", ({ params }) =>
        this.#logged(params),
      );
      this.client.onerror = (error) => this.#stray(error);
      await this.client.connect(new ModernTransport(this.url, options));
    }
    this.ledger.count("connections");
  }

  /** Half of them end their session; the others are gone with what they had open. */
  async #leave() {
    if (this.era === "legacy" && this.random.chance(0.5))
      await this.client?.transport?.terminateSession?.().catch(() => {});
    await this.client?.close().catch(() => {});
  }

  #turn() {
    const server = this.random.pick(this.servers);
    const nonce = this.#nonce(server);
    const work = this.random.next();
    if (server.kind === "hostile") return this.#call(server, "echo", { nonce }, nonce);
    if (server.kind === "plugin") return this.#call(server, "chaos_echo", { nonce }, nonce);
    if (work < 0.5) return this.#work(server, nonce, 1 + this.random.below(6));
    if (work < 0.75) return this.#ask(server, nonce);
    if (work < 0.9) return this.#cancel(server, nonce);
    if (work < 0.95) return this.#together(server);
    return this.#vanish(server, nonce);
  }

  #nonce({ name }) {
    return `${this.id}-${++this.#calls}@${name}`;
  }

  async #work(server, nonce, steps) {
    const seen = [];
    const onprogress = ({ progress, message }) => {
      if (message !== nonce)
        this.ledger.finding(`${this.id} got the progress of ${message} for ${nonce}`);
      seen.push(progress);
      this.ledger.count("progress reports");
    };
    const right = await this.#call(server, "relay_work", { nonce, steps }, nonce, { onprogress });
    const all = Array.from({ length: steps }, (_, step) => step + 1);
    if (right && seen.join() !== all.join())
      this.ledger.finding(`progress of ${nonce} at ${server.name}: ${seen.join()} of ${steps}`);
  }

  #ask(server, nonce) {
    const answer = `${this.id} sampled sample ${nonce} / ${this.id} filled fill ${nonce}`;
    return this.#call(server, "relay_ask_twice", { nonce }, nonce, {}, answer);
  }

  /** A call that never answers, given up once the server has it. */
  async #cancel(server, nonce) {
    const abort = new AbortController();
    const waiting = this.#call(server, "relay_wait", { nonce }, nonce, { signal: abort.signal });
    await this.#pause(50);
    this.#own(nonce, CANCELLED);
    this.#cancelled++;
    abort.abort();
    await waiting;
  }

  async #together(server) {
    const nonces = Array.from({ length: 4 }, () => this.#nonce(server));
    await Promise.all(nonces.map((nonce) => this.#work(server, nonce, 2)));
  }

  /** The connection goes away under a call that asks. */
  async #vanish(server, nonce) {
    const asking = this.#ask(server, nonce);
    await this.#pause(20);
    for (const open of this.#open.keys()) this.#own(open, DISCONNECTED);
    await this.client.close().catch(() => {});
    await asking;
    await this.#connect();
  }

  async #call(server, tool, args, nonce, options = {}, answer = nonce) {
    const from = performance.now();
    this.#open.set(nonce, { kind: server.kind });
    this.ledger.count("calls");
    const params = {
      name: `${server.name}__${tool}`,
      arguments: args,
      ...(this.era === "modern" && { _meta: { [LOG_LEVEL]: "info" } }),
    };
    const request = { timeout: TIMEOUT_MS, resetTimeoutOnProgress: true, ...options };
    try {
      const result = await (this.era === "legacy"
        ? this.client.callTool(params, undefined, request)
        : this.client.callTool(params, request));
      return this.#check(server, nonce, result, answer, from);
    } catch (error) {
      this.ledger.error({
        server: server.name,
        from,
        own: this.#open.get(nonce).own,
        words: String(error.message),
      });
      return false;
    } finally {
      this.#open.delete(nonce);
    }
  }

  #check(server, nonce, { content, isError }, answer, from) {
    const said = content?.map((part) => part.text ?? "").join("") ?? "";
    if (said === answer) {
      this.ledger.count("right answers");
      return true;
    }
    const { own } = this.#open.get(nonce);
    if (isError || own) this.ledger.error({ server: server.name, from, own, words: said });
    else if (server.kind !== "hostile" || said.includes("-"))
      this.ledger.finding(`${nonce} at ${server.name} got ${said.slice(0, 200)} for ${answer}`);
    return false;
  }

  #own(nonce, what) {
    const open = this.#open.get(nonce);
    if (open) open.own = what;
  }

  /** The hostile server may ask whoever has a call there, and nobody else. */
  #isMine(what, words) {
    this.ledger.count(what);
    const strange =
      words.includes("whose") && [...this.#open.values()].some(({ kind }) => kind === "hostile");
    if (!strange && !words.includes(`${this.id}-`))
      this.ledger.finding(`${this.id} got a ${what.slice(0, -1)} of another: ${words}`);
  }

  #sample({ messages }) {
    const { text } = messages[0].content;
    this.#isMine("questions", text);
    const content = { type: "text", text: `${this.id} sampled ${text}` };
    return { role: "assistant", model: "chaos", content };
  }

  #fill({ message }) {
    this.#isMine("questions", message);
    return { action: "accept", content: { answer: `${this.id} filled ${message}` } };
  }

  #logged({ data }) {
    this.#isMine("logs", JSON.stringify(data));
  }

  /** An answer to no request: a second one, unless a cancel and its answer met. */
  #stray({ message }) {
    if (!/unknown message ID/i.test(message)) return;
    if (++this.#strays > this.#cancelled)
      this.ledger.finding(`${this.id} got an answer twice: ${message.slice(0, 300)}`);
  }

  #pause(most) {
    return new Promise((resolve) => setTimeout(resolve, this.random.below(most)));
  }
}
