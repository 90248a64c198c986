import type { Access, Principal } from "propylon";
import { resourceOf, type Resources } from "./resources.ts";
import type { ScopeRoles } from "./scopes.ts";

/** Writes the `WWW-Authenticate` of refusals (RFC 6750 section 3, RFC 9728 section 5.1). */
export class Challenges {
  readonly #resources: () => Resources;
  readonly #scopes: ScopeRoles;

  constructor(resources: () => Resources, scopes: ScopeRoles) {
    this.#resources = resources;
    this.#scopes = scopes;
  }

  /** Of a 401; `undefined` where nobody logs in. */
  unauthorized(path: string, isRefused: boolean): string | undefined {
    const metadata = this.#metadataOf(path);
    if (metadata === undefined) return undefined;
    return write({
      error: isRefused ? "invalid_token" : undefined,
      resource_metadata: metadata,
      scope: this.#scopes.enoughFor("caller"),
    });
  }

  /** Of a 403: a client that reads it logs in once more, for more (step-up). */
  forbidden(path: string, granted: readonly string[], access: Access): string {
    return write({
      error: "insufficient_scope",
      resource_metadata: this.#metadataOf(path),
      scope: this.#scopes.wanted(granted, access),
    });
  }

  /** {@link forbidden} for somebody who is known. */
  stepUp(path: string, { claims }: Principal, access: Access): string {
    return this.forbidden(path, (claims?.["scopes"] ?? []) as readonly string[], access);
  }

  #metadataOf(path: string): string | undefined {
    return resourceOf(this.#resources(), path)?.metadata;
  }
}

/** No value holds a quote: they are URLs and scopes of the config. */
function write(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return `Bearer ${given.map(([name, value]) => `${name}="${value}"`).join(", ")}`;
}
