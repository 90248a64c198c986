import { randomUUID } from "node:crypto";
import type { Principal } from "./types.ts";
import { originOf } from "./principal.ts";

/** Who makes a request or call, as the core knows it, whatever a plugin has written on the object since. */
export class Actor {
  /** `undefined` for a caller who did not say. */
  readonly principal: Principal | undefined;
  readonly remoteAddress: string | undefined;
  #request: string | undefined;

  constructor(principal: Principal | undefined, remoteAddress?: string, request?: string) {
    this.principal = principal;
    this.remoteAddress = remoteAddress;
    this.#request = request;
  }

  /** Id of the request or call; made when it is first asked for. */
  get request(): string {
    return (this.#request ??= randomUUID());
  }

  /** As the audit names them. Callers who did not say who they are are told apart by where they are. */
  get name(): string {
    const { principal, remoteAddress = "unknown" } = this;
    if (!principal || principal.kind === "anonymous")
      return `anonymous@${remoteAddress.replace(/^::ffff:/, "")}`;
    // A plugin may make calls in any name: that does not prove that somebody of that name wanted it.
    return originOf(principal) === undefined ? `unverified ${principal.ref}` : principal.ref;
  }
}

/** By the very object that a plugin was handed: a copy, or one that the plugin made, names nobody. */
const actors = new WeakMap<object, Actor>();

/** Remembers who is behind a request or call that a plugin is handed. */
export function noteActor(of: object, actor: Actor): void {
  actors.set(of, actor);
}

/** Who is behind a request or call; `undefined` for an object that the gateway did not hand out. */
export function actorOf(of: object): Actor | undefined {
  return actors.get(of);
}
