import { actorOf } from "../../kit/actor.ts";
import { maskText } from "../../kit/mask.ts";
import { isSecretName, MASK } from "../../kit/secret-text.ts";
import type { Managed } from "../gateway-options.ts";
import { recordMutation } from "../../http/audit.ts";
import { GatewayError } from "../../kit/errors.ts";
import { isObject } from "../../kit/json.ts";
import type { Json } from "../../kit/types.ts";
import { MAX_TARGETS, type Mutation, sealMutation } from "../../plugin/hooks.ts";
import type { Audit } from "../../plugin/kernel-services.ts";

/** So much of a text is searched for secrets before it is cut, in characters. */
const MAX_SEARCHED = 2_000;

const ACTION = /^[a-z][a-z0-9_.-]{0,63}$/;

/** What a plugin did; see the service `Audit`. */
interface PluginAction {
  readonly plugin: string;
  readonly action: string;
  readonly target: Readonly<Record<string, string>>;
  readonly details: Json | undefined;
  readonly on: object | undefined;
}

/** The audit as one plugin writes it. */
export function createPluginAudit(gateway: Managed, plugin: string): Audit {
  const { log, hooks } = gateway;
  const onMutation = (mutation: Mutation): void => hooks.emit("mutation", mutation);
  return (action, target, details, on) => {
    const secrets = [...(gateway.file?.secrets ?? [])];
    const mutation = toPluginMutation({ plugin, action, target, details, on }, secrets);
    recordMutation({ log, onMutation }, mutation);
  };
}

/**
 * What a plugin did, in the name of the principal whose request or call it was handed.
 *
 * @param secrets values taken from the environment, masked wherever they stand
 * @throws {GatewayError} `invalid` for an action that could be taken for another's
 */
function toPluginMutation(
  { plugin, action, target, details, on }: PluginAction,
  secrets: readonly string[],
): Mutation {
  if (!ACTION.test(action))
    throw new GatewayError(
      "invalid",
      `Plugin "${plugin}" names an action that is not a short name.`,
      {
        hint: "Write lower-case letters, digits and . _ -, as in agent.stop.",
      },
    );
  const actor = on && actorOf(on);
  return sealMutation({
    at: new Date().toISOString(),
    who: actor ? actor.name : `plugin:${plugin}`,
    action: `${plugin}:${action}`,
    target: maskTarget(target, secrets),
    outcome: "ok",
    status: null,
    error: null,
    request: actor?.request ?? null,
    ...(details && { details: boundDetails(details, secrets) }),
  });
}

/** Secrets go before the text is cut: half of one would not be found. */
function maskTarget(
  target: Readonly<Record<string, string>>,
  secrets: readonly string[],
): Mutation["target"] {
  if (secrets.length === 0) return target;
  const kept = Object.entries(target).slice(0, MAX_TARGETS);
  const shown = kept.map(([name, value]) => [
    name,
    maskText(value.slice(0, MAX_SEARCHED), secrets),
  ]);
  return Object.fromEntries(shown) as Mutation["target"];
}

const MAX_DEPTH = 4;
const MAX_MEMBERS = 32;
const MAX_TEXT = 200;
/** All texts and names together, in characters. */
const MAX_TOTAL = 4_096;

/** Stands for what is left out. */
const LEFT_OUT = "…";

/**
 * What a plugin says about a change, fit for the audit whatever it is: a copy of bounded depth and size, with secrets masked by
 * the names they stand under.
 *
 * @param secrets values taken from the environment, masked wherever they stand
 */
export function boundDetails(details: Json, secrets: readonly string[] = []): Json {
  return new Draft(secrets).object(details, 1);
}

/** The copy being made; the room it has is shared by all of it. */
class Draft {
  readonly #secrets: readonly string[];
  #left = MAX_TOTAL;

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  object(value: Json, depth: number): Json {
    const bounded: [string, unknown][] = [];
    for (const name of Object.keys(value).slice(0, MAX_MEMBERS)) {
      if (this.#left <= 0) break;
      const short = this.#text(name);
      bounded.push([short, isSecretName(name) ? MASK : this.#value(value[name], depth + 1)]);
    }
    return Object.fromEntries(bounded);
  }

  #value(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
    const isList = Array.isArray(value);
    if ((!isList && !isObject(value)) || depth > MAX_DEPTH || this.#left <= 0) return LEFT_OUT;
    return isList ? this.#list(value, depth) : this.object(value, depth);
  }

  #list(value: readonly unknown[], depth: number): unknown[] {
    const items: unknown[] = [];
    for (const item of value.slice(0, MAX_MEMBERS))
      if (this.#left-- > 0) items.push(this.#value(item, depth + 1));
    return items;
  }

  #text(text: string): string {
    const masked = maskText(text.slice(0, MAX_SEARCHED), this.#secrets);
    const kept = masked.slice(0, Math.min(MAX_TEXT, Math.max(this.#left, 0)));
    this.#left -= kept.length + 1;
    return kept.length < masked.length || text.length > MAX_SEARCHED ? `${kept}${LEFT_OUT}` : kept;
  }
}
