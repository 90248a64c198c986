import type { Config } from "../config/config.ts";
import { GatewayError, isGatewayError } from "../kit/errors.ts";
import type { Added, ComposedGateway, Point, PointRules } from "../plugin/point.ts";
import { onlyOne, type Scope } from "./scope.ts";
import { blameAdded } from "./setup.ts";

/** What plugins added, as the owners of the points read it. */
export class Points {
  readonly #added = new Map<string, Added[]>();
  /** What was read, by the rules by which it was: two copies of a package may have other rules for one id. */
  readonly #read = new Map<PointRules<never, unknown>, readonly unknown[]>();
  readonly #gateway: ComposedGateway;
  readonly #config: Config;

  /** @param route finds a route of the first listener */
  constructor(
    scopes: readonly Pick<Scope, "added">[],
    config: Config,
    route: ComposedGateway["route"],
  ) {
    this.#config = config;
    this.#gateway = { config: config.values, route };
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
  of<R>({ id, rules }: Point<never, R>): readonly R[] {
    let values = this.#read.get(rules);
    if (values === undefined) {
      values = Object.freeze(this.#readAdded(this.#added.get(id) ?? [], rules as Rules));
      this.#read.set(rules, values);
    }
    return values as readonly R[];
  }

  /** Reads what was not read yet, by the rules of everybody who added; throws as {@link of}. */
  readAll(): void {
    for (const added of this.#added.values()) for (const { point } of added) this.of(point);
  }

  #readAdded(added: readonly Added[], rules: Rules): unknown[] {
    if (rules.only)
      onlyOne(
        added,
        (one, other) => this.#attempt(added[1]!, () => rules.only!(one, other)),
        rules.hint,
      );
    const read = added.map((each) => ({
      each,
      value: rules.read ? this.#attempt(each, () => rules.read!(each, this.#gateway)) : each.value,
    }));
    const kept = read.filter(({ value }) => value !== undefined);
    if (rules.nameOf)
      checkNames(kept.map(({ each }) => [each, this.#attempt(each, () => rules.nameOf!(each))]));
    return kept.map(({ value }) => value);
  }

  /** The rules of a point say what is wrong in their own words; what breaks in them is told of the plugin whose value they met. */
  #attempt<R>(added: Added, work: () => R): R {
    try {
      return refusePromise(work());
    } catch (error) {
      if (isGatewayError(error)) throw error;
      throw blameAdded(added, error, this.#config);
    }
  }
}

type Rules = PointRules<unknown, unknown>;

/** A config is compiled at once, and a rejection that nobody waits for ends the process. */
function refusePromise<R>(value: R): R {
  if (!(value instanceof Promise)) return value;
  value.catch(() => {});
  throw new Error("the rules of the point answer with a promise, and must answer at once");
}

function checkNames(named: readonly (readonly [Added, string])[]): void {
  const owners = new Map<string, string>();
  for (const [{ plugin }, name] of named) {
    const owner = owners.get(name);
    if (owner !== undefined) throw addedTwice(name, owner, plugin);
    owners.set(name, plugin);
  }
}

function addedTwice(name: string, one: string, other: string): GatewayError {
  const message =
    one === other
      ? `Plugin "${one}" adds ${name} twice.`
      : `Plugins "${one}" and "${other}" both add ${name}.`;
  return new GatewayError("exists", message, { hint: "Give one of them another name." });
}
