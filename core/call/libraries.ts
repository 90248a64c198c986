import type { Principal } from "../kit/types.ts";

/**
 * The libraries that a principal may read, by its claim `libraries`; `undefined` for one without a set, who may read none.
 *
 * @example const isReadable = librariesOf(call.principal)?.includes(library) ?? false;
 */
export function librariesOf({ claims }: Principal): readonly string[] | undefined {
  const libraries: unknown = claims?.["libraries"];
  return Array.isArray(libraries) ? libraries.filter((uid) => typeof uid === "string") : undefined;
}
