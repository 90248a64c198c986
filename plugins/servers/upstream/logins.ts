import { GatewayError, type Principal } from "propylon";
import type { HttpServerConfig } from "../entry.ts";
import type { UpstreamConfig } from "../connection/dial.ts";
import type { Assertions } from "../connection/identity.ts";
import type { McpServersService, ServerAccount, ServerLogins } from "../service.ts";
import type { Upstream } from "./upstream.ts";

/** Who logs in at servers, and the servers to tell of it. */
export class LoginSources {
  /** In the order in which they came: during a reload there are two. */
  readonly #all: ServerLogins[] = [];
  readonly #servers = new Map<string, Map<Upstream, HttpServerConfig>>();

  loginWith(logins: ServerLogins): () => void {
    this.#all.push(logins);
    return () => void this.#all.splice(this.#all.indexOf(logins), 1);
  }

  /** A server that is to hear of logins until it is closed. */
  add(upstream: Upstream, config: UpstreamConfig): void {
    if ("command" in config || config.auth === undefined) return;
    const named = this.#servers.get(upstream.name) ?? new Map<Upstream, HttpServerConfig>();
    this.#servers.set(upstream.name, named.set(upstream, config));
  }

  /** The entries of those that are not closed; of two with one name the newer. */
  get entries(): ReadonlyMap<string, HttpServerConfig> {
    const entries = new Map<string, HttpServerConfig>();
    for (const [name, named] of this.#servers) {
      for (const [upstream, config] of named)
        if (upstream.status.state === "closed") named.delete(upstream);
        else entries.set(name, config);
      if (named.size === 0) this.#servers.delete(name);
    }
    return entries;
  }

  renew(server: string, principal: Principal | undefined): void {
    for (const each of this.#servers.get(server)?.keys() ?? [])
      if (each.status.state !== "closed") each.renew(principal);
  }

  /** @throws {GatewayError} `invalid` where the entry has `auth` and nobody logs in */
  accountOf(
    server: string,
    config: UpstreamConfig,
    principal: Principal | undefined,
  ): ServerAccount | undefined {
    if ("command" in config || config.auth === undefined) return undefined;
    const logins = this.#all.at(-1);
    if (logins) return logins.accountOf(server, config, principal);
    throw new GatewayError("invalid", `Nobody logs in at the server "${server}".`, {
      hint: "Leave out plugins.oauth-client: false, or take auth out of the server.",
    });
  }
}

/** What other plugins get. */
export function serviceOf(
  assertions: Assertions,
  logins: LoginSources,
  create: McpServersService["create"],
): McpServersService {
  return {
    create,
    get isUsed() {
      return assertions.isUsed;
    },
    keySet: () => assertions.keySet(),
    publish: () => assertions.publish(),
    logins: () => logins.entries,
    loginWith: (each) => logins.loginWith(each),
    renew: (server, principal) => logins.renew(server, principal),
  };
}
