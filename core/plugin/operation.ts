import { z } from "zod";
import type { Json } from "../kit/types.ts";
import { isDuration } from "../kit/units.ts";
import type { PluginContext } from "./plugin-context.ts";
import type { Access, RouteEvent, RouteMethod } from "./route.ts";

/** What the administration of a plugin does, as it is said once. */
export interface OperationDefinition<I extends z.ZodObject> {
  /** Its words on the command line, such as `team create`; default: it has no command. */
  readonly name?: string;
  readonly method: RouteMethod;
  readonly path: string;
  /** Default: `admin`. */
  readonly access?: Access;
  /** What it does, in a sentence. */
  readonly words: string;
  /**
   * What it takes: in the query of a `GET` or `DELETE`, else in the body; default: nothing. The `meta` of a member has the `title` and
   * `description` of its field, which is also that of its flag, unless `form` says another for the field. `flag` is how the help shows
   * it, such as `--expires <time>`. One that is `hidden` is for programs: it has neither.
   */
  readonly input?: I;
  /** Members of the input that say what it is about, for the audit; no secrets. */
  readonly target?: readonly (keyof z.output<I> & string)[];
  /** What the command and the form send besides. */
  readonly body?: Json;
  /** What a web interface asks before. */
  readonly confirm?: string;
  /** JSON pointer to the secret that its answer shows this once. */
  readonly secret?: string;
}

/**
 * An operation of the administration of a plugin, with its defaults filled in.
 *
 * @example const routes = operations.map(({ method, path }: Operation) => `${method} ${path}`);
 */
export interface Operation<I extends z.ZodObject = z.ZodObject> extends OperationDefinition<I> {
  readonly access: Access;
  readonly input: I;
  /**
   * Registers its route: with its access, as a part of the management, and changing something unless it is a `GET`.
   *
   * @param run answers; it reads the input, checked, by its second argument: what may be refused before goes before
   */
  serve(
    gateway: Pick<PluginContext, "route">,
    run: (event: RouteEvent, read: () => Promise<z.output<I>>) => unknown,
  ): void;
}

/** Whether an operation takes its input in the query. */
export function takesQuery(method: RouteMethod): boolean {
  return method === "GET" || method === "DELETE";
}

/**
 * JSON Schema of what a form asks for, without what is hidden and what the help of a command says. Several patterns of one text are
 * left out: the gateway checks them in any case.
 */
export function formSchema(input: z.ZodType): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      if (isDuration(zodSchema)) {
        delete jsonSchema.anyOf;
        jsonSchema.type = "string";
      }
      if (jsonSchema.allOf?.every((part) => Object.keys(part).join() === "pattern"))
        delete jsonSchema.allOf;
    },
  });
  const { properties } = schema;
  if (!properties) return schema;
  const shown = Object.entries(properties as Readonly<Record<string, Json>>)
    .filter(([, { hidden }]) => hidden !== true)
    .map(([name, { flag: _flag, form, ...member }]) => [
      name,
      form === undefined ? member : { ...member, description: form },
    ]);
  return { ...schema, properties: Object.fromEntries(shown) };
}
