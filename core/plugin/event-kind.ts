import { z } from "zod";
import { FIRST_PROBLEM } from "../kit/check-shape.ts";
import { GatewayError } from "../kit/errors.ts";
import { problemText } from "../kit/problem-text.ts";
import { PERSON_ROLES, type PersonRole } from "../kit/roles.ts";
import type { Json } from "../kit/types.ts";
import { isZodSchema } from "../kit/zod-schema.ts";
import type { GatewayHooks, PluginHook } from "./hooks.ts";
import type { DeclaredEventKind, PluginEvent } from "./plugin-event.ts";
import { type Contribution, definePoint, type Point } from "./point.ts";

/**
 * What a plugin says of a kind of events that it adds to {@link EventKinds}.
 *
 * @example
 * const shelf: EventKind<{ shelf: string; by: string }, "shelf_filled"> = {
 *   kind: "shelf_filled",
 *   description: "A shelf was filled.",
 *   access: "viewer",
 *   data: z.strictObject({ shelf: z.string().max(100), by: z.string() }),
 *   owner: "by",
 * };
 */
export interface EventKind<T = unknown, K extends string = string> {
  /** Name of the hook that tells them: lower-case words joined by `_`, at most 40 characters. The hook takes one argument: the data. */
  readonly kind: K;
  /** When it happens, as a sentence of at most 200 characters. */
  readonly description: string;
  /** Who may see it, as for a route. */
  readonly access: PersonRole;
  /** A zod object of the data: no secrets, and at most 16 KiB as JSON. Members that it does not have are not told. */
  readonly data: z.ZodType<T>;
  /**
   * The member that holds the `ref` of a principal: only that one, and operators, see the event. Default, and where the data does
   * not have the member: all with the role.
   */
  readonly owner?: keyof T & string;
  /**
   * The member that tells one event from another, for a kind that every replica of a store emits on its own: readers, who are told
   * what all replicas emit, are then told once. Default: each replica tells of something else.
   */
  readonly once?: keyof T & string;
}

/** A kind for each hook of a plugin. */
type AnyEventKind = {
  [K in PluginHook]: EventKind<Parameters<GatewayHooks[K]>[0], K>;
}[PluginHook];

/**
 * Kinds of events that people and programs may follow. What `gateway.emit` tells of one goes to the reader of an event stream who may
 * see it, checked by its schema; where nobody listens that costs two questions. Unique in a gateway.
 *
 * @example
 * declare module "propylon" { interface GatewayHooks { shelf_filled: (news: { shelf: string }) => void } }
 * const data = z.strictObject({ shelf: z.string().max(100) });
 * gateway.add(EventKinds, { kind: "shelf_filled", description: "A shelf was filled.", access: "viewer", data });
 */
export const EventKinds: Point<AnyEventKind, DeclaredEventKind> = definePoint("event-kinds", {
  nameOf: ({ value }) => `the kind of events "${value.kind}"`,
  read: (added) => declare(added),
});

/** Largest data of an event, as characters of JSON. */
const MAX_DATA = 16_384;

const kindSchema = z.strictObject({
  kind: z
    .string()
    .regex(/^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/, "must be lower-case words joined by _")
    .max(40),
  description: z.string().min(1).max(200),
  access: z.enum(PERSON_ROLES),
  data: z.custom<z.ZodObject>(isZodSchema, "must be a zod schema"),
  owner: z.string().min(1).optional(),
  once: z.string().min(1).optional(),
});

/**
 * Plugins in files are run without a look at their types.
 *
 * @throws {GatewayError} `invalid` for a declaration that says too little
 */
function declare({ plugin, value }: Contribution<unknown>): DeclaredEventKind {
  const { data: declared, error } = kindSchema.safeParse(value, FIRST_PROBLEM);
  if (error)
    throw new GatewayError(
      "invalid",
      `Kind of events "${kindOf(value)}" of plugin "${plugin}": ${problemText(error.issues[0]!)}.`,
      { hint: "The guide to writing a plugin shows how a kind is declared." },
    );
  const { kind, description, access, owner, data, once } = declared;
  const what = { kind, plugin, access };
  let schema: Json | undefined;
  return {
    ...what,
    description,
    owner: owner ?? null,
    get schema() {
      return (schema ??= schemaOf(data));
    },
    check: (given) => ({ ...what, ...checkData(data, given, owner, once) }),
  };
}

function kindOf(value: unknown): string {
  return String((value as { readonly kind?: unknown } | undefined)?.kind).slice(0, 40);
}

function schemaOf(data: z.ZodObject): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(data, { unrepresentable: "any" });
  return schema;
}

function checkData(
  schema: z.ZodObject,
  given: unknown,
  owner: string | undefined,
  once: string | undefined,
): Pick<PluginEvent, "data" | "owner" | "once"> {
  const { data, error } = schema.safeParse(given, FIRST_PROBLEM);
  if (error) throw new GatewayError("invalid", problemText(error.issues[0]!));
  const size = JSON.stringify(data).length;
  if (size > MAX_DATA) throw new GatewayError("invalid", `It has ${size} characters of JSON.`);
  const whose = owner === undefined ? undefined : (data[owner] ?? undefined);
  if (whose !== undefined && typeof whose !== "string")
    throw new GatewayError("invalid", `${owner}: must be the ref of a principal`);
  return {
    data,
    ...(whose !== undefined && { owner: whose }),
    ...(once !== undefined && { once: String(data[once]) }),
  };
}
