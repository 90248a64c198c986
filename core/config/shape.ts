import type { ConfigPath } from "./issue.ts";

/** The parts of a JSON Schema that are needed to tell a person about a config. */
export interface Shape {
  readonly type?: string | readonly string[];
  /** Of a number that may have a unit: `duration` or `size`. */
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: Shape | boolean;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
  readonly oneOf?: readonly Shape[];
  readonly required?: readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly default?: unknown;
}

/** Keys allowed below a path; empty when any are, or none. */
export function keysAt(root: Shape, path: ConfigPath): string[] {
  return [...new Set(shapesAt(root, path).flatMap((shape) => Object.keys(shape.properties ?? {})))];
}

/** What must stand beside a key that only some forms of what is at a path have. */
export function companionsOf(root: Shape, path: ConfigPath, key: string): readonly string[] {
  const form = shapesAt(root, path).find(({ properties }) => properties && key in properties);
  return form?.required ?? [];
}

/** What the option at a path means, if it says. */
export function descriptionAt(root: Shape, path: ConfigPath): string | undefined {
  return shapesAt(root, path).find((shape) => shape.description !== undefined)?.description;
}

/** The literal values that may stand at a path. */
export function literalsAt(root: Shape, path: ConfigPath): unknown[] {
  const found = shapesAt(root, path).flatMap((shape) =>
    "const" in shape ? [shape.const] : (shape.enum ?? []),
  );
  return [...new Set(found)];
}

/** The key that each branch of a union at a path is known by: one with a literal value, else the first that it requires. */
export function marksAt(root: Shape, path: ConfigPath): string[] {
  const union = shapesAt(root, path).find(({ anyOf, oneOf }) => anyOf ?? oneOf);
  const marks = (union?.anyOf ?? union?.oneOf ?? []).flatMap(
    ({ required = [], properties = {} }) =>
      required.find((key) => "const" in (properties[key] ?? {})) ?? required[0] ?? [],
  );
  return [...new Set(marks)];
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
