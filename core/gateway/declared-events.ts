import { FIRST_PROBLEM } from "../kit/check-shape.ts";
import { z } from "zod";
import { GatewayError } from "../kit/errors.ts";
import { problemText } from "../kit/problem-text.ts";
import type { Json } from "../kit/types.ts";
import type { EventKind } from "../plugin/event-kind.ts";
import { PERSON_ROLES } from "../kit/roles.ts";
import { isZodSchema } from "../kit/zod-schema.ts";
import type { DeclaredEventKind, PluginEvent } from "../plugin/plugin-event.ts";
import type { Scope } from "./scope.ts";

/** Largest data of an event, as characters of JSON. */
const MAX_DATA = 16_384;

const declarationSchema = z.strictObject({
  description: z.string().min(1).max(200),
  access: z.enum(PERSON_ROLES),
  data: z.custom<z.ZodObject>(isZodSchema, "must be a zod schema"),
  owner: z.string().min(1).optional(),
  once: z.string().min(1).optional(),
});
const nameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/, "must be lower-case words joined by _")
  .max(40);

/** A declaration with where it comes from. */
type Declaration = EventKind<Json> & Pick<DeclaredEventKind, "kind" | "plugin">;

/** The kinds of events that the plugins of one config declare. */
export class DeclaredEvents {
  readonly #kinds = new Map<string, Declaration>();
  /** Kinds of which something was not as declared. */
  readonly #faulty = new Set<string>();
  #list: readonly DeclaredEventKind[] | undefined;

  /** @throws {GatewayError} `invalid` for a declaration that says too little, `exists` for a kind of two plugins */
  constructor(scopes: readonly Pick<Scope, "name" | "plugin">[]) {
    for (const { name, plugin } of scopes)
      for (const [kind, declared] of Object.entries(plugin.events ?? {}))
        this.#add(checkDeclaration(name, kind, declared));
  }

  /** All of them, as data; made when it is first asked for. */
  get list(): readonly DeclaredEventKind[] {
    return (this.#list ??= [...this.#kinds.values()].map(toData));
  }

  /** Whether a plugin declares a kind. */
  has(plugin: string, kind: string): boolean {
    return this.#kinds.get(kind)?.plugin === plugin;
  }

  /** Whether it was not said yet that events of a kind are not as declared: a plugin may emit one with every call. */
  isFirstFault(kind: string): boolean {
    const { size } = this.#faulty;
    return this.#faulty.add(kind).size > size;
  }

  /**
   * What is told of an event of a kind that is declared.
   *
   * @throws {GatewayError} `invalid` for data that is not as declared, or too large
   */
  check(kind: string, given: unknown): PluginEvent {
    const { plugin, access, data: schema, owner, once } = this.#kinds.get(kind)!;
    const { data, error } = schema.safeParse(given, FIRST_PROBLEM);
    if (error) throw new GatewayError("invalid", problemText(error.issues[0]!));
    const size = JSON.stringify(data).length;
    if (size > MAX_DATA) throw new GatewayError("invalid", `It has ${size} characters of JSON.`);
    const whose = owner === undefined ? undefined : (data[owner] ?? undefined);
    if (whose !== undefined && typeof whose !== "string")
      throw new GatewayError("invalid", `${owner}: must be the ref of a principal`);
    return {
      kind,
      plugin,
      access,
      data,
      ...(whose !== undefined && { owner: whose }),
      ...(once !== undefined && { once: String(data[once]) }),
    };
  }

  #add(declared: Declaration): void {
    const { kind, plugin } = declared;
    const other = this.#kinds.get(kind);
    if (other)
      throw new GatewayError(
        "exists",
        `Plugins "${other.plugin}" and "${plugin}" both declare the kind of events "${kind}".`,
        { hint: "Put the name of the plugin in front of one of them." },
      );
    this.#kinds.set(kind, declared);
  }
}

/** Plugins in files are run without a look at their types. */
function checkDeclaration(plugin: string, kind: string, given: unknown): Declaration {
  const name = nameSchema.safeParse(kind, FIRST_PROBLEM);
  const declared = declarationSchema.safeParse(given, FIRST_PROBLEM);
  const error = name.error ?? declared.error;
  if (error || !declared.data)
    throw new GatewayError(
      "invalid",
      `Kind of events "${kind.slice(0, 40)}" of plugin "${plugin}": ${problemText(error!.issues[0]!)}.`,
      { hint: "The guide to writing a plugin shows how a kind is declared." },
    );
  return { ...declared.data, kind, plugin } as Declaration;
}

function toData({
  kind,
  plugin,
  description,
  access,
  owner,
  data,
}: Declaration): DeclaredEventKind {
  const { $schema: _, ...schema } = z.toJSONSchema(data, { unrepresentable: "any" });
  return { kind, plugin, description, access, owner: owner ?? null, schema };
}
