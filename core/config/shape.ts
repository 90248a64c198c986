import type { ConfigPath } from "./issue.ts";

/** The parts of a JSON Schema that telling a person about a config needs. */
export interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: Shape | boolean;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
  readonly oneOf?: readonly Shape[];
  readonly description?: string;
}

/** Keys allowed below a path; empty when any are, or none. */
export function keysAt(root: Shape, path: ConfigPath): string[] {
  return [...new Set(shapesAt(root, path).flatMap((shape) => Object.keys(shape.properties ?? {})))];
}

/** What the option at a path means, if it says. */
export function descriptionAt(root: Shape, path: ConfigPath): string | undefined {
  return shapesAt(root, path).find((shape) => shape.description !== undefined)?.description;
}

/** Paths at which a key is allowed, with `<name>` for the names a person gives, e.g. `listeners.<name>.port`. */
export function placesOf(root: Shape, key: string): string[] {
  const found: string[] = [];
  const walk = (shape: Shape, path: string): void => {
    for (const branch of branches(shape)) {
      for (const [name, inner] of Object.entries(branch.properties ?? {})) {
        if (name === key) found.push(`${path}${name}`);
        walk(inner, `${path}${name}.`);
      }
      if (typeof branch.additionalProperties === "object")
        walk(branch.additionalProperties, `${path}<name>.`);
    }
  };
  walk(root, "");
  return [...new Set(found)];
}

function shapesAt(root: Shape, path: ConfigPath): Shape[] {
  let shapes = branches(root);
  for (const part of path) shapes = shapes.flatMap((shape) => below(shape, part)).flatMap(branches);
  return shapes;
}

function below(shape: Shape, part: string | number): Shape[] {
  if (typeof part === "number") return shape.items ? [shape.items] : [];
  const named =
    shape.properties && Object.hasOwn(shape.properties, part) ? shape.properties[part] : undefined;
  if (named) return [named];
  return typeof shape.additionalProperties === "object" ? [shape.additionalProperties] : [];
}

function branches(shape: Shape): Shape[] {
  return [shape, ...[...(shape.anyOf ?? []), ...(shape.oneOf ?? [])].flatMap(branches)];
}
