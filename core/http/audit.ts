import type { Logger } from "pino";
import { actorOf, type Actor } from "../kit/actor.ts";
import { originOf } from "../kit/principal.ts";
import { maskText } from "../kit/mask.ts";
import { GatewayError } from "../kit/errors.ts";
import type { Mutation } from "../plugin/hooks.ts";
import type { Json } from "../kit/types.ts";
import { isSecretName, MASK } from "../kit/secret-text.ts";
import { isObject } from "../kit/json.ts";

/** Longest value that is kept of what a change is about, in characters: it is the caller's text. */
const MAX_TARGET = 200;
/** Most values that are kept of it. */
const MAX_TARGETS = 32;
/** So much of a text is searched for secrets before it is cut, in characters. */
const MAX_SEARCHED = 2_000;

const ACTION = /^[a-z][a-z0-9_.-]{0,63}$/;

/** A request to a route that changes something, at its end. */
export interface Attempt {
  readonly route: { readonly method: string; readonly path: string };
  readonly actor: Actor;
  readonly params: Readonly<Record<string, string>> | undefined;
  /** What the handler says it is about. */
  readonly target: Readonly<Record<string, string>> | undefined;
  readonly status: number;
  readonly error?: GatewayError;
}

/** What a plugin did; see the service `Audit`. */
export interface PluginAction {
  readonly plugin: string;
  readonly action: string;
  readonly target: Readonly<Record<string, string>>;
  readonly details: Json | undefined;
  /** The request or call that it is done for. */
  readonly on: object | undefined;
}

/** Writes the audit: one log line and the hook `mutation` each. */
export function createAudit(
  log: Logger,
  emit: (mutation: Mutation) => void,
): (mutation: Mutation) => void {
  return (mutation) => {
    const { at: _at, error, ...fields } = mutation;
    log.info({ ...fields, error_code: error }, "mutation");
    emit(mutation);
  };
}

/** An attempt to change something, refused ones included: who, what, which, how it ended; never the body. */
export function toMutation({ route, actor, params, target, status, error }: Attempt): Mutation {
  return seal({
    at: new Date().toISOString(),
    who: nameOf(actor),
    action: `${route.method} ${route.path}`,
    target: boundTarget({ ...params, ...target }),
    outcome: status < 400 ? "ok" : status < 500 ? "refused" : "failed",
    status,
    error: error?.code ?? null,
    request: actor.request,
  });
}

/**
 * What a plugin did, in the name of the principal whose request or call it was handed.
 *
 * @param secrets values taken from the environment, masked wherever they stand
 * @throws {GatewayError} `invalid` for an action that could be taken for another's
 */
export function toPluginMutation(
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
  return seal({
    at: new Date().toISOString(),
    who: actor ? nameOf(actor) : `plugin:${plugin}`,
    action: `${plugin}:${action}`,
    target: boundTarget(target, secrets),
    outcome: "ok",
    status: null,
    error: null,
    request: actor?.request ?? null,
    ...(details && { details: boundDetails(details, secrets) }),
  });
}

/** One listener must not change what the next one is told. */
function seal(mutation: Mutation): Mutation {
  Object.freeze(mutation.target);
  return Object.freeze(mutation);
}

function boundTarget(
  target: Readonly<Record<string, string>>,
  secrets: readonly string[] = [],
): Mutation["target"] {
  const kept = Object.entries(target).slice(0, MAX_TARGETS);
  const shown = kept.map(([name, value]) => [name, hide(value, secrets)]);
  return Object.fromEntries(shown) as Mutation["target"];
}

/** Secrets go before the text is cut: half of one would not be found. */
function hide(value: string, secrets: readonly string[]): string {
  const whole = secrets.length === 0 ? value : maskText(value.slice(0, MAX_SEARCHED), secrets);
  return whole.slice(0, MAX_TARGET);
}

/** Callers who did not say who they are: they are told apart by where they are. */
function nameOf({ principal, remoteAddress = "unknown" }: Actor): string {
  if (!principal || principal.kind === "anonymous")
    return `anonymous@${remoteAddress.replace(/^::ffff:/, "")}`;
  // A plugin may make calls in any name: that does not prove that somebody of that name wanted it.
  return originOf(principal) === undefined ? `unverified ${principal.ref}` : principal.ref;
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
