import type { Logger } from "pino";
import { Answer } from "../call/answer.ts";
import { amendCall, type Call } from "../call/call.ts";
import { makeCatalogue } from "../call/catalogue.ts";
import type { EntryKind, LeftOut } from "../call/left-out-entry.ts";
import type { Catalogue, Server } from "../call/server.ts";
import { GatewayError, isGatewayError } from "../kit/errors.ts";
import { isObject, isPlainObject } from "../kit/json.ts";
import { abortError } from "../kit/cancellation.ts";
import { setTimer } from "../kit/timers.ts";
import { PluginServer } from "./plugin-server.ts";
import { matchesWildcard } from "../kit/wildcard.ts";
import type { Json, Tool } from "../kit/types.ts";
import type { RegisteredReshape, Reshaped } from "../plugin/reshapes.ts";
import { usableEntries } from "./entries.ts";
import { GuardedServer } from "./guarded-server.ts";

/** A step from one form of an entry to the next. */
type Step = Pick<Reshaped<unknown>, "args" | "result"> & { readonly plugin: string };

/** An entry as it is shown, and the way back to the server's own. */
interface Form {
  readonly shown: Json;
  readonly own: Json;
  /** The first was made of the server's own form. */
  readonly steps: readonly Step[];
}

/** The lists in their new form; the forms of tools and prompts by the names that they have now. */
interface Shaped {
  readonly given: Catalogue;
  readonly catalogue: Catalogue;
  readonly tools: ReadonlyMap<string, Form>;
  readonly prompts: ReadonlyMap<string, Form>;
  readonly leftOut: readonly LeftOut[];
}

/** Entries that are told to be left out, and those that one warning names; characters of a name. */
const MOST_TOLD = 1_000;
const MOST_NAMED = 10;
const MAX_NAME = 200;
/** How long a call waits for the lists of a server that is coming, in milliseconds. */
const LISTS_MS = 10_000;

/** The lists, what changes their entries, and what an entry is known by. */
const KINDS = [
  { kind: "tools", change: "tool", key: "name" },
  { kind: "prompts", change: "prompt", key: "name" },
  { kind: "resources", change: "resource", key: "uri" },
  { kind: "resourceTemplates", change: "resourceTemplate", key: "uriTemplate" },
] as const;
type Kind = (typeof KINDS)[number];

/**
 * A server whose entries plugins have changed. It stands before the server, so every interface, rule and log sees one form of an entry, and
 * a name that an entry no longer has leads nowhere: a tool that was changed to hold something back cannot be called as it was.
 */
export class ReshapedServer extends GuardedServer {
  readonly reshapes: readonly RegisteredReshape[];
  readonly #log: Logger;
  #shaped: Shaped | undefined;
  #warned = "";

  constructor(server: Server, reshapes: readonly RegisteredReshape[], log: Logger) {
    super(server, log);
    this.reshapes = reshapes;
    this.#log = log;
    if (server.timeoutOf) this.timeoutOf = (tool) => server.timeoutOf!(this.ownName(tool) ?? tool);
    if (server.resume) this.resume = (call, task) => this.#resume(call, task);
  }

  override get catalogue(): Catalogue {
    return this.#read().catalogue;
  }

  override get leftOut(): readonly LeftOut[] {
    return [...(this.server.leftOut ?? []), ...this.#read().leftOut];
  }

  override request(call: Call): Promise<Answer> {
    return this.#pass(call);
  }

  /** What the server calls one of its tools; an unknown name stays as it is, and is `undefined` before its tools are known. */
  ownName(tool: string): string | undefined {
    const { given, tools } = this.#read();
    if (this.#isUnknown(given)) return this.changes("tool") ? undefined : tool;
    const own = tools.get(tool)?.own["name"];
    return typeof own === "string" ? own : tool;
  }

  /** Whether a reshape changes entries of a list. */
  changes(change: Kind["change"]): boolean {
    return this.reshapes.some(({ reshape }) => reshape[change] !== undefined);
  }

  async #pass(call: Call): Promise<Answer> {
    const kind = KIND_OF.get(call.method);
    if (kind === undefined || !this.changes(kind)) return this.server.request(call);
    await this.#listed(call);
    if (call.method === "completion/complete") return this.#complete(call);
    const form = this.#read()[`${kind}s`].get(call.name);
    if (!form) return unknown(kind, call);
    return this.#mapResult(call, form, await this.#send(this.#ownCall(call, form)));
  }

  /** A server needs a task's id alone, so it is asked at once; what comes is led back when its lists are known. */
  async #resume(call: Call, task: string): Promise<Answer> {
    const name = this.ownName(call.name) ?? call.name;
    const answer = await this.server.resume!(
      name === call.name ? call : amendCall(call, { name }),
      task,
    );
    if (!this.changes("tool")) return answer;
    await this.#listed(call);
    const form = this.#read().tools.get(call.name);
    return form ? this.#mapResult(call, form, answer) : unknown("tool", call);
  }

  #isUnknown({ hash, tools, prompts }: Catalogue): boolean {
    return !hash && tools.length + prompts.length === 0 && this.server.status.state !== "ready";
  }

  /** Waits for the lists of a server that is coming: without them nobody knows what a name stands for. */
  async #listed(call: Call): Promise<void> {
    if (!this.#isUnknown(this.server.catalogue)) return;
    const isComing = (): boolean =>
      this.#isUnknown(this.server.catalogue) && COMING.has(this.server.status.state);
    const { signal } = call;
    if (isComing())
      await new Promise<void>((resolve) => {
        const timer = setTimer(() => done(), LISTS_MS);
        const done = (): void => {
          clearTimeout(timer);
          stop();
          signal.removeEventListener("abort", done);
          resolve();
        };
        const stop = this.server.on(() => isComing() || done());
        signal.addEventListener("abort", done);
        if (signal.aborted) done();
      });
    if (signal.aborted) throw abortError(signal);
    if (this.#isUnknown(this.server.catalogue))
      throw new GatewayError("unavailable", `Server "${this.name}" has not told its lists yet.`);
  }

  /** The call that the server gets. */
  #ownCall(call: Call, { own, steps }: Form): Call {
    const name = own["name"] as string;
    if (steps.length === 0) return call;
    const tool = call.tool && (own as unknown as Tool);
    const maps = steps.filter((step) => step.args !== undefined).toReversed();
    // A copy, since the history keeps the arguments that the caller sent.
    let args = maps.length === 0 ? call.args : copyJson(call.args ?? {});
    for (const step of maps) args = this.#map(step, "arguments", call, () => step.args!(args!));
    return amendCall(call, { name, tool, args });
  }

  #mapResult(call: Call, { steps }: Form, answer: Answer): Answer {
    const maps = steps.filter((step) => step.result !== undefined);
    if (maps.length === 0 || !isEnd(answer)) return answer;
    let result = copyJson(answer.result!);
    for (const step of maps) result = this.#map(step, "result", call, () => step.result!(result));
    return Answer.result(result);
  }

  /** The arguments of a plugin's own tool are checked as its `run` gets them, which the stage `validate` cannot. */
  async #send(call: Call): Promise<Answer> {
    const { server } = this;
    if (!(server instanceof PluginServer) || call.method !== "tools/call")
      return server.request(call);
    const args = server.tool(call.name)?.check(call.args);
    if (args === undefined) return server.request(call);
    return args instanceof Answer ? args : server.request(amendCall(call, { args }));
  }

  /** The text of an exception may quote what a server said, so it stays in the log. */
  #map({ plugin }: Step, what: "arguments" | "result", call: Call, work: () => Json): Json {
    try {
      const made = objectOf(work());
      // What JSON cannot write would fail in a face, which does not know the plugin.
      JSON.stringify(made);
      return made;
    } catch (err) {
      if (isGatewayError(err)) throw err;
      this.#log.error({ err, plugin, server: this.name, name: call.name }, "a reshape failed");
      throw new GatewayError("internal", `Plugin "${plugin}" could not read the ${what}.`);
    }
  }

  /** Completes what is shown: an argument that a plugin took away has no values. */
  #complete(call: Call): Promise<Answer> | Answer {
    const ref = call.params?.["ref"];
    if (!isObject(ref) || ref["type"] !== "ref/prompt") return this.server.request(call);
    const form = this.#read().prompts.get(call.name);
    if (!form) return unknown("prompt", call);
    const argument = call.params?.["argument"];
    const isShown = isObject(argument) && argumentsOf(form.shown).has(argument["name"]);
    if (!isShown) return Answer.result({ completion: { values: [] } });
    const name = form.own["name"] as string;
    const params = { ...call.params, ref: { ...ref, name } };
    return this.server.request(amendCall(call, { name, params }));
  }

  #read(): Shaped {
    const given = this.server.catalogue;
    const known = this.#shaped;
    if (known?.given === given) return known;
    // A server may put its catalogue together each time that it is asked, and its hash is that of the lists alone.
    const hasSameLists =
      known !== undefined && Boolean(given.hash) && known.given.hash === given.hash;
    const { capabilities, instructions, serverInfo } = given;
    return (this.#shaped = hasSameLists
      ? {
          ...known,
          given,
          catalogue: { ...known.catalogue, capabilities, instructions, serverInfo },
        }
      : this.#shape(given));
  }

  #shape(given: Catalogue): Shaped {
    const leftOut: LeftOut[] = [];
    const forms = Object.fromEntries(
      KINDS.map((each) => [each.kind, this.#formsOf(each, given, leftOut)]),
    ) as Record<EntryKind, ReadonlyMap<string, Form>>;
    const lists = Object.fromEntries(
      KINDS.map(({ kind }) => [kind, [...forms[kind].values()].map(({ shown }) => shown)]),
    );
    const catalogue = this.#isUnknown(given) ? given : makeCatalogue({ ...given, ...lists });
    this.#warn(leftOut);
    const { tools, prompts } = forms;
    return { given, catalogue, tools, prompts, leftOut: leftOut.slice(0, MOST_TOLD) };
  }

  /** Again only when that changes: a server decides how often its lists are read. */
  #warn(leftOut: readonly LeftOut[]): void {
    const entries = leftOut
      .slice(0, MOST_NAMED)
      .map(({ kind, name, why }) => `${kind} ${JSON.stringify(name)}: ${why}`);
    const told = JSON.stringify([entries, leftOut.length]);
    if (told === this.#warned) return;
    this.#warned = told;
    if (leftOut.length > 0)
      this.#log.warn(
        { server: this.name, entries, count: leftOut.length },
        "entries that plugins change are left out",
      );
  }

  /** The forms of a list by the names they have now, in its order. */
  #formsOf(each: Kind, given: Catalogue, leftOut: LeftOut[]): ReadonlyMap<string, Form> {
    const { kind, change, key } = each;
    const entries = given[kind] as readonly unknown[] as readonly Json[];
    const names = new Set(entries.map((entry) => entry[key]));
    const seen = new Set<string>();
    const forms = new Map<string, Form>();
    const isChanged = this.changes(change);
    for (const own of entries) {
      const name = String(own[key]);
      // A second entry of one name has no way to what the first one was changed to hold back.
      if (seen.has(name)) continue;
      seen.add(name);
      const leaveOut = (why: string): void =>
        void leftOut.push({ kind, name: name.slice(0, MAX_NAME), why });
      const form = isChanged ? this.#formOf(own, each, leaveOut) : { shown: own, own, steps: [] };
      if (!form) continue;
      const shown = String(form.shown[key]);
      // Nobody takes the name of another: a rule about that one would be a rule about this one.
      if (shown !== name && (key !== "name" || names.has(shown) || forms.has(shown)))
        leaveOut(
          key === "name"
            ? `its new name ${JSON.stringify(shown.slice(0, MAX_NAME))} belongs to another entry`
            : `its ${key} cannot be changed`,
        );
      else forms.set(shown, form);
    }
    return forms;
  }

  #formOf(own: Json, { kind, change }: Kind, leaveOut: (why: string) => void): Form | undefined {
    const steps: Step[] = [];
    let shown = own;
    for (const { plugin, reshape } of this.reshapes) {
      if (!reshape[change]) continue;
      try {
        // Copies: what is changed in place would change the server's own, and stay when the plugin leaves.
        const made: unknown = reshape[change](copyJson(shown) as never, this.name);
        if (made === undefined) continue;
        const step = change === "tool" || change === "prompt" ? made : { entry: made };
        const { entry, args, result } = objectOf(step) as unknown as Reshaped<unknown>;
        for (const map of [args, result])
          if (map !== undefined && typeof map !== "function")
            throw new Error("args or result is not a function");
        shown = usableEntry(kind, objectOf(entry));
        steps.push({ plugin, ...(args && { args }), ...(result && { result }) });
      } catch (err) {
        this.#log.debug({ err, plugin, server: this.name, kind }, "an entry cannot be reshaped");
        leaveOut(`plugin ${plugin} could not change it`);
        return undefined;
      }
    }
    return { shown, own, steps };
  }
}

/** What calls by what is changed there. */
const KIND_OF: ReadonlyMap<string, "tool" | "prompt"> = new Map([
  ["tools/call", "tool"],
  ["prompts/get", "prompt"],
  ["completion/complete", "prompt"],
]);

/** States of a server whose lists may come. */
const COMING: ReadonlySet<string> = new Set(["idle", "connecting", "backoff", "degraded"]);

function unknown(what: "tool" | "prompt", { name }: Call): Answer {
  return Answer.error({ code: -32602, message: `Unknown ${what}: ${name}` });
}

/** The entry as clients get it, plain: what JSON cannot write would be found when it is too late. */
function usableEntry(kind: EntryKind, entry: Json): Json {
  const refused: LeftOut[] = [];
  JSON.stringify(entry);
  const [usable] = usableEntries(kind, [copyJson(entry)], refused);
  if (!usable) throw new Error(refused[0]?.why ?? "it is not an entry");
  return usable;
}

/** A promise is refused, and one that rejects ends no process. */
function objectOf(made: unknown): Json {
  if (isObject(made) && typeof made["then"] !== "function") return made;
  if (made instanceof Promise) made.catch(() => {});
  throw new Error("it made something else than an object");
}

/** A copy of a JSON value; numbers with every digit are shared. */
function copyJson<T>(value: T): T {
  if (Array.isArray(value)) return value.map((each: unknown) => copyJson(each)) as T;
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copyJson(each)])) as T;
}

function argumentsOf({ arguments: all }: Json): ReadonlySet<unknown> {
  return new Set(Array.isArray(all) ? all.map((each: Json) => each["name"]) : []);
}

/** Whether a call has come to its end, and well: not to a task, a question or an error. */
function isEnd(answer: Answer): boolean {
  if (answer.isRpcError || answer.isError || answer.isTask) return false;
  const type = answer.result?.["resultType"];
  return type === undefined || type === "complete";
}

function isSame(before: readonly RegisteredReshape[], now: readonly RegisteredReshape[]): boolean {
  return (
    before.length === now.length &&
    before.every(({ reshape }, index) => reshape === now[index]!.reshape)
  );
}

const shaped = new WeakMap<Server, ReshapedServer>();

/**
 * The servers as plugins want them seen. Those that no reshape names are the very same objects, and one that the same reshapes name
 * as before keeps its lists through a reload.
 */
export function reshapeServers(
  servers: ReadonlyMap<string, Server>,
  reshapes: readonly RegisteredReshape[],
  log: Logger,
): ReadonlyMap<string, Server> {
  const reshape = (server: Server): Server => {
    const own = reshapes.filter((each) => matchesWildcard(each.reshape.server, server.name));
    if (own.length === 0) return server;
    const before = shaped.get(server);
    if (before && isSame(before.reshapes, own)) return before;
    const made = new ReshapedServer(server, own, log);
    shaped.set(server, made);
    return made;
  };
  return new Map([...servers].map(([name, server]) => [name, reshape(server)]));
}
