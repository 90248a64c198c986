import { z } from "zod";
import type { Json } from "../kit/types.ts";
import { type Operation, type OperationDefinition, takesQuery } from "../plugin/operation.ts";
import { checkInput, readJson } from "./request.ts";

/**
 * Defines what the administration of a plugin does. Its route, its command, its form and its line in the documentation are made of
 * this: a member that is added to the input is in all of them.
 *
 * @example
 * const create = operation({
 *   name: "book create",
 *   method: "POST",
 *   path: "/_meta/shelf/books",
 *   words: "Put a book on the shelf.",
 *   input: z.strictObject({ title: z.string(), author: z.string().optional().meta({ description: "who wrote it" }) }),
 * });
 * create.serve(gateway, async (_event, read) => shelf.add(await read()));
 */
export function operation<I extends z.ZodObject = z.ZodObject>(
  definition: OperationDefinition<I>,
): Operation<I> {
  const { method, path, access = "admin", target } = definition;
  const input = definition.input ?? (z.strictObject({}) as unknown as I);
  const schema = input as unknown as z.ZodType<z.output<I>>;
  return {
    ...definition,
    access,
    input,
    serve(gateway, run) {
      const options = { access, mutates: method !== "GET", management: true };
      gateway.route(method, path, options, (event) =>
        run(event, async () => {
          const value = takesQuery(method)
            ? checkInput(Object.fromEntries(event.url.searchParams), schema)
            : await readJson(event, schema);
          if (target) event.context.target = pick(value, target);
          return value;
        }),
      );
    },
  };
}

function pick(value: Json, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, String(value[name])]));
}
