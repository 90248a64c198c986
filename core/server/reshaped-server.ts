import type { Logger } from "pino";
import { Answer } from "../call/answer.ts";
import { amendCall, type Call } from "../call/call.ts";
import { makeCatalogue } from "../call/catalogue.ts";
import type { EntryKind, LeftOut } from "../call/left-out-entry.ts";
import type { Catalogue, Server } from "../call/server.ts";
import { GatewayError, isGatewayError } from "../kit/errors.ts";
import { isObject } from "../kit/json.ts";
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

/** Entries that are told to be left out, and those that one warning names. */
const MOST_TOLD = 1_000;
const MOST_NAMED = 10;
/** Characters of why one could not be changed. */
const MAX_REASON = 200;

/** The lists, what changes their entries, and what an entry is known by. */
const KINDS = [
  { kind: "tools", change: "tool", key: "name" },
  { kind: "prompts", change: "prompt", key: "name" },
  { kind: "resources", change: "resource", key: "uri" },
  { kind: "resourceTemplates", change: "resourceTemplate", key: "uriTemplate" },
] as const;

/**
 * A server whose entries plugins have changed. It stands before the server, so every face, rule and log sees one form of an entry, and
 * a name that an entry no longer has leads nowhere: a tool that was changed to hold something back cannot be called as it was.
 */
export class ReshapedServer extends GuardedServer {
  readonly reshapes: readonly RegisteredReshape[];
  readonly #log: Logger;
  #shaped: Shaped | undefined;

  constructor(server: Server, reshapes: readonly RegisteredReshape[], log: Logger) {
    super(server, log);
    this.reshapes = reshapes;
    this.#log = log;
    if (server.timeoutOf) this.timeoutOf = (tool) => server.timeoutOf!(this.ownName(tool));
    if (server.resume)
      // Of a call that became a task, the arguments are not known any more.
      this.resume = (call, task) =>
        this.#pass(call, (own) => server.resume!({ ...own, args: call.args }, task));
  }

  override get catalogue(): Catalogue {
    return this.#read().catalogue;
  }

  override get leftOut(): readonly LeftOut[] {
    return [...(this.server.leftOut ?? []), ...this.#read().leftOut];
  }

  override request(call: Call): Promise<Answer> {
    return this.#pass(call, (own) => super.request(own));
  }

  /** What the server calls one of its tools; the name itself for what is no tool. */
  ownName(tool: string): string {
    const own = this.#read().tools.get(tool)?.own["name"];
    return typeof own === "string" ? own : tool;
  }

  /** @param send passes on what the server understands */
  #pass(call: Call, send: (call: Call) => Promise<Answer>): Promise<Answer> {
    const { method, name } = call;
    if (method === "completion/complete") return send(this.#ownCompletion(call));
    if (method !== "tools/call" && method !== "prompts/get") return send(call);
    const what = method === "tools/call" ? "tool" : "prompt";
    const { given, ...shaped } = this.#read();
    if (given.hash === "")
      return Promise.reject(
        new GatewayError("unavailable", `Server "${this.name}" has not told its lists yet.`),
      );
    const form = shaped[`${what}s`].get(name);
    if (!form)
      return Promise.resolve(Answer.error({ code: -32602, message: `Unknown ${what}: ${name}` }));
    return form.steps.length === 0 ? send(call) : this.#passForm(call, form, send);
  }

  async #passForm(
    call: Call,
    { own, steps }: Form,
    send: (call: Call) => Promise<Answer>,
  ): Promise<Answer> {
    let args = call.args;
    for (const step of steps.toReversed())
      if (step.args) args = this.#map(step, "arguments", call, () => step.args!(args ?? {}));
    const tool = call.tool && (own as unknown as Tool);
    const answer = await send(amendCall(call, { name: own["name"] as string, tool, args }));
    const maps = steps.filter((step) => step.result !== undefined);
    if (maps.length === 0 || !isEnd(answer)) return answer;
    let result = answer.result!;
    for (const step of maps) result = this.#map(step, "result", call, () => step.result!(result));
    return Answer.result(result);
  }

  /** The text of an exception may quote what a server said, so it stays in the log. */
  #map({ plugin }: Step, what: "arguments" | "result", call: Call, work: () => Json): Json {
    try {
      const made = work();
      if (isObject(made) && !(made instanceof Promise)) return made;
      throw new Error(`it made something else than an object of the ${what}`);
    } catch (err) {
      if (isGatewayError(err)) throw err;
      this.#log.error({ err, plugin, server: this.name, name: call.name }, "a reshape failed");
      throw new GatewayError("internal", `Plugin "${plugin}" could not read the ${what}.`);
    }
  }

  #ownCompletion(call: Call): Call {
    const ref = call.params?.["ref"];
    if (!isObject(ref) || ref["type"] !== "ref/prompt") return call;
    const own = this.#read().prompts.get(call.name)?.own["name"];
    if (typeof own !== "string" || own === call.name) return call;
    return amendCall(call, {
      name: own,
      params: { ...call.params, ref: { ...ref, name: own } },
    });
  }

  #read(): Shaped {
    const given = this.server.catalogue;
    if (this.#shaped?.given === given) return this.#shaped;
    const leftOut: LeftOut[] = [];
    const forms = Object.fromEntries(
      KINDS.map((each) => [each.kind, this.#formsOf(each, given, leftOut)]),
    ) as Record<EntryKind, ReadonlyMap<string, Form>>;
    const lists = Object.fromEntries(
      KINDS.map(({ kind }) => [kind, [...forms[kind].values()].map(({ shown }) => shown)]),
    );
    const catalogue = given.hash === "" ? given : makeCatalogue({ ...given, ...lists });
    if (leftOut.length > 0) {
      const entries = leftOut
        .slice(0, MOST_NAMED)
        .map(({ kind, name, why }) => `${kind} ${JSON.stringify(name)}: ${why}`);
      this.#log.warn(
        { server: this.name, entries, count: leftOut.length },
        "entries that plugins change are left out",
      );
    }
    const { tools, prompts } = forms;
    return (this.#shaped = {
      given,
      catalogue,
      tools,
      prompts,
      leftOut: leftOut.slice(0, MOST_TOLD),
    });
  }

  /** The forms of a list by the names they have now, in its order. */
  #formsOf(
    { kind, change, key }: (typeof KINDS)[number],
    given: Catalogue,
    leftOut: LeftOut[],
  ): ReadonlyMap<string, Form> {
    const entries = given[kind] as readonly unknown[] as readonly Json[];
    const names = new Set(entries.map((entry) => entry[key]));
    const forms = new Map<string, Form>();
    for (const own of entries) {
      const name = String(own[key]);
      const leaveOut = (why: string): void => void leftOut.push({ kind, name, why });
      const form = this.#formOf(own, kind, change, leaveOut);
      if (!form) continue;
      const shown = String(form.shown[key]);
      // Nobody takes the name of another: a rule about that one would be a rule about this one.
      if (shown !== name && (key !== "name" || names.has(shown) || forms.has(shown)))
        leaveOut(
          key === "name"
            ? `its new name ${JSON.stringify(shown)} belongs to another entry`
            : `its ${key} cannot be changed`,
        );
      else if (!forms.has(shown)) forms.set(shown, form);
    }
    return forms;
  }

  #formOf(
    own: Json,
    kind: EntryKind,
    change: (typeof KINDS)[number]["change"],
    leaveOut: (why: string) => void,
  ): Form | undefined {
    const steps: Step[] = [];
    let shown = own;
    for (const { plugin, reshape } of this.reshapes) {
      try {
        const made = reshape[change]?.(shown as never, this.name);
        if (made === undefined) continue;
        const step = change === "tool" || change === "prompt" ? made : { entry: made };
        const { entry, args, result } = step as unknown as Reshaped<unknown>;
        const refused: LeftOut[] = [];
        const [usable] = usableEntries(kind, [entry], refused);
        if (!usable) throw new Error(refused[0]?.why ?? "it is not an entry");
        shown = usable;
        steps.push({ plugin, ...(args && { args }), ...(result && { result }) });
      } catch (error) {
        leaveOut(`plugin ${plugin} could not change it: ${String(error).slice(0, MAX_REASON)}`);
        return undefined;
      }
    }
    return { shown, own, steps };
  }
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
