import { shapeOf } from "../http/route-table.ts";
import { GatewayError, isGatewayError } from "../kit/errors.ts";
import type { Added, ComposedGateway, Point } from "../plugin/point.ts";
import type { RegisteredRoute } from "../plugin/route.ts";
import type { Scope } from "./scope.ts";
import { blame } from "./setup.ts";

/** What plugins added, as the owners of the points read it. */
export class Points {
  readonly #added = new Map<string, Added[]>();
  readonly #read = new Map<string, readonly unknown[]>();
  readonly #gateway: ComposedGateway;

  constructor(scopes: readonly Pick<Scope, "added">[], gateway: ComposedGateway) {
    this.#gateway = gateway;
    for (const each of scopes.flatMap(({ added }) => added)) {
      const others = this.#added.get(each.point.id);
      if (others) others.push(each);
      else this.#added.set(each.point.id, [each]);
    }
  }

  /**
   * The values of a point, in the order of the plugins.
   *
   * @throws {GatewayError} the first time: `exists` for what may be there once and is there twice, naming both plugins; and what the
   * point refuses
   */
  of<R>({ id }: Point<never, R>): readonly R[] {
    let values = this.#read.get(id);
    if (values === undefined) {
      values = readAdded(this.#added.get(id) ?? [], this.#gateway);
      this.#read.set(id, values);
    }
    return values as readonly R[];
  }

  /** Reads what was not read yet; throws as {@link of}. */
  readAll(): void {
    for (const [first] of this.#added.values()) this.of(first!.point);
  }
}

function readAdded(added: readonly Added[], gateway: ComposedGateway): readonly unknown[] {
  const [first, second] = added;
  if (!first) return [];
  const { rules } = first.point;
  if (rules.only && second)
    throw new GatewayError("exists", rules.only(first.plugin, second.plugin), {
      hint: "Take one of them out of plugins.",
    });
  if (rules.nameOf) checkNames(added, (each) => attempt(each, () => rules.nameOf!(each)));
  if (!rules.read) return added.map(({ value }) => value);
  return added
    .map((each) => attempt(each, () => rules.read!(each, gateway)))
    .filter((value) => value !== undefined);
}

/** The rules of a point say what is wrong in their own words; what breaks in them is told of the plugin whose value they met. */
function attempt<R>({ plugin, point }: Added, work: () => R): R {
  try {
    return work();
  } catch (error) {
    if (isGatewayError(error)) throw error;
    throw blame(plugin, `adds to ${point.id} what cannot be used`, error);
  }
}

function checkNames(added: readonly Added[], nameOf: (each: Added) => string): void {
  const owners = new Map<string, string>();
  for (const each of added) {
    const name = nameOf(each);
    const owner = owners.get(name);
    if (owner !== undefined) throw addedTwice(name, owner, each.plugin);
    owners.set(name, each.plugin);
  }
}

function addedTwice(name: string, one: string, other: string): GatewayError {
  const message =
    one === other
      ? `Plugin "${one}" adds ${name} twice.`
      : `Plugins "${one}" and "${other}" both add ${name}.`;
  return new GatewayError("exists", message, { hint: "Give one of them another name." });
}

/** The route of a method and a path, whatever its parameters are called. */
export function findRoute(
  routes: readonly RegisteredRoute[] = [],
  method: RegisteredRoute["method"],
  path: string,
): RegisteredRoute | undefined {
  const shape = shapeOf(path);
  return routes.find((route) => route.method === method && shapeOf(route.path) === shape);
}
