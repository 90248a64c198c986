import { Answer } from "../call/answer.ts";
import { type Call, amendCall } from "../call/call.ts";
import { toResult } from "../server/content.ts";
import type { LibraryRules } from "../config/server-schema.ts";
import { GatewayError } from "../kit/errors.ts";
import type { Json, Principal, Tool } from "../kit/types.ts";
import type { Logger } from "pino";
import { KeyedServer } from "../server/keyed-server.ts";
import { makeCatalogue } from "../call/catalogue.ts";
import type { Catalogue } from "../call/server.ts";
import type { ManagedServer } from "../call/server-type.ts";

/**
 * A server that reads what it is told to read: one argument of some of its tools is the caller's own set of libraries, whatever
 * the caller says. It stands before the server itself, so no face and no plugin gets around it.
 */
export class NarrowedServer extends KeyedServer {
  readonly #rules: LibraryRules;
  #narrowed: { readonly given: Catalogue; readonly catalogue: Catalogue } | undefined;

  constructor(server: ManagedServer, log: Logger, rules: LibraryRules, safeKeys?: boolean) {
    super(server, log, safeKeys);
    this.#rules = rules;
  }

  override get catalogue(): Catalogue {
    const given = super.catalogue;
    if (this.#narrowed?.given !== given)
      this.#narrowed = { given, catalogue: narrowCatalogue(given, this.#rules) };
    return this.#narrowed.catalogue;
  }

  override request(call: Call): Promise<Answer> {
    const rule = call.method === "tools/call" ? ruleOf(this.#rules, call.name) : undefined;
    if (!rule) return super.request(call);
    const { argument, empty } = rule;
    // A principal without a set may read nothing.
    const set = librariesOf(call.principal) ?? [];
    const libraries = intersect(set, call.args?.[argument], argument);
    // Never sent: many services read an empty list as everything.
    if (libraries.length === 0) return Promise.resolve(Answer.result(toResult(empty)));
    return super.request(amendCall(call, { args: { ...call.args, [argument]: libraries } }));
  }
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

function ruleOf(rules: LibraryRules, tool: string): LibraryRules[string] | undefined {
  return Object.hasOwn(rules, tool) ? rules[tool] : undefined;
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
