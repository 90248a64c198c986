import { Answer } from "../call/answer.ts";
import { amendCall, type Call } from "../call/call.ts";
import { makeCatalogue } from "../call/catalogue.ts";
import type { Catalogue } from "../call/server.ts";
import type { ManagedServer } from "../call/server-type.ts";
import { GatewayError } from "../kit/errors.ts";
import { SafeKeys } from "../kit/safe-keys.ts";
import type { Json, Principal, Tool } from "../kit/types.ts";
import type { Logger } from "pino";
import { toResult } from "./content.ts";
import { Successor } from "./successor.ts";

/** By tool, as its server names it: the argument that is the caller's set of libraries, and the answer where the set is empty. */
type LibraryRules = Readonly<
  Record<string, { readonly argument: string; readonly empty: string | Json }>
>;

/** Lists as clients see them, and what they were made of. */
interface Adapted {
  readonly given: Catalogue;
  readonly catalogue: Catalogue;
  /** Of the tools whose keys are not safe, by name. */
  readonly keys: ReadonlyMap<string, SafeKeys>;
}

/**
 * A server whose tools take other arguments than clients send, as its entry says: `libraries` makes one argument the caller's own set,
 * whatever the caller says, and `safeKeys` shows other keys where some models refuse those of the server, such as `filter[name]`, with
 * the whole request. It stands before the server itself, so no face and no plugin gets around it, and every interface shows the same.
 */
export class AdaptedServer extends Successor {
  readonly #rules: LibraryRules;
  readonly #hasSafeKeys: boolean;
  #adapted: Adapted | undefined;

  constructor(
    server: ManagedServer,
    log: Logger,
    {
      libraries = {},
      safeKeys,
    }: { readonly libraries: LibraryRules | undefined; readonly safeKeys: boolean },
  ) {
    super(server, log);
    this.#rules = libraries;
    this.#hasSafeKeys = safeKeys;
  }

  override get catalogue(): Catalogue {
    return this.#read().catalogue;
  }

  override request(call: Call): Promise<Answer> {
    if (call.method !== "tools/call") return super.request(call);
    const narrowed = narrowCall(call, ruleOf(this.#rules, call.name));
    if (narrowed instanceof Answer) return Promise.resolve(narrowed);
    return super.request(this.#hasSafeKeys ? this.#restoreKeys(narrowed) : narrowed);
  }

  #restoreKeys(call: Call): Call {
    const keys = this.#read().keys.get(call.name);
    return keys && call.args ? amendCall(call, { args: keys.restore(call.args) }) : call;
  }

  #read(): Adapted {
    const given = super.catalogue;
    if (this.#adapted?.given === given) return this.#adapted;
    const { catalogue, keys } = this.#hasSafeKeys
      ? withSafeKeys(given)
      : { catalogue: given, keys: new Map<string, SafeKeys>() };
    return (this.#adapted = { given, catalogue: narrowCatalogue(catalogue, this.#rules), keys });
  }
}

/** With the keys of its arguments as every model takes them; a call has the server's own again. */
function withSafeKeys(given: Catalogue): Pick<Adapted, "catalogue" | "keys"> {
  const keys = new Map<string, SafeKeys>();
  const tools = given.tools.map((tool) => {
    const safe = SafeKeys.of(tool.inputSchema);
    if (!safe) return tool;
    keys.set(tool.name, safe);
    return { ...tool, inputSchema: safe.schema };
  });
  return { catalogue: keys.size === 0 ? given : makeCatalogue({ ...given, tools }), keys };
}

function ruleOf(rules: LibraryRules, tool: string): LibraryRules[string] | undefined {
  return Object.hasOwn(rules, tool) ? rules[tool] : undefined;
}

/** The call with the set of its caller; an answer where the caller may read nothing. */
function narrowCall(call: Call, rule: LibraryRules[string] | undefined): Call | Answer {
  if (!rule) return call;
  const { argument, empty } = rule;
  // A principal without a set may read nothing.
  const set = librariesOf(call.principal) ?? [];
  const libraries = intersect(set, call.args?.[argument], argument);
  // Never sent: many services read an empty list as everything.
  if (libraries.length === 0) return Answer.result(toResult(empty));
  return amendCall(call, { args: { ...call.args, [argument]: libraries } });
}

/**
 * The libraries that a principal may read, by its claim `libraries`; `undefined` for one without a set, who may read none.
 *
 * @example const isReadable = librariesOf(call.principal)?.includes(library) ?? false;
 */
export function librariesOf({ claims }: Principal): readonly string[] | undefined {
  const libraries: unknown = claims?.["libraries"];
  return Array.isArray(libraries) ? libraries.filter((uid) => typeof uid === "string") : undefined;
}

/** What a caller asks for can only narrow the set; its order stays. */
function intersect(set: readonly string[], sent: unknown, argument: string): readonly string[] {
  if (sent === undefined || sent === null) return set;
  if (!Array.isArray(sent))
    throw new GatewayError("invalid", `The argument ${argument} is not a list of libraries.`, {
      hint: "Leave it out to use all that you may read.",
    });
  const wanted = new Set<unknown>(sent);
  return set.filter((uid) => wanted.has(uid));
}

function narrowCatalogue(given: Catalogue, rules: LibraryRules): Catalogue {
  const isConcerned = given.tools.some(({ name }) => ruleOf(rules, name) !== undefined);
  if (!isConcerned) return given;
  const tools = given.tools.map((tool) => {
    const rule = ruleOf(rules, tool.name);
    return rule ? withoutNeed(tool, rule.argument) : tool;
  });
  return makeCatalogue({ ...given, tools });
}

/** Clients need not send what the gateway sets. */
function withoutNeed(tool: Tool, argument: string): Tool {
  const { required, ...schema } = tool.inputSchema;
  if (!Array.isArray(required)) return tool;
  const kept = required.filter((name) => name !== argument);
  const inputSchema: Json = kept.length === 0 ? schema : { ...schema, required: kept };
  return { ...tool, inputSchema };
}
