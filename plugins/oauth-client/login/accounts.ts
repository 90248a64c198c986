import type { Principal } from "propylon";
import { Recent } from "propylon/kit";
import type { ServerLogins, HttpServerConfig } from "propylon/plugins/servers";
import { LoginAccount } from "./account.ts";
import { LoginServer } from "./login-server.ts";
import type { LoginParts } from "./parts.ts";

/** Most accounts of one server in memory; the others are read from the store again. */
const MAX_ACCOUNTS = 10_000;

/** A server that wants a login, and those who use it. */
interface Known {
  /** What of the entry decides about the login. */
  readonly words: string;
  readonly server: LoginServer;
  readonly gateway: LoginAccount;
  readonly accounts: Recent<LoginAccount>;
}

/** An account with its server. */
export interface FoundAccount {
  readonly server: LoginServer;
  readonly account: LoginAccount;
}

/** The accounts at servers that want a login. */
export class LoginAccounts implements ServerLogins {
  readonly #parts: LoginParts;
  readonly #entries: () => ReadonlyMap<string, HttpServerConfig>;
  /** As last asked for. */
  readonly #servers = new Map<string, Known>();
  readonly #known = new WeakMap<HttpServerConfig, Known>();

  /** @param entries the entries with `auth`, by name */
  constructor(entries: () => ReadonlyMap<string, HttpServerConfig>, parts: LoginParts) {
    this.#entries = entries;
    this.#parts = parts;
  }

  accountOf(
    name: string,
    config: HttpServerConfig,
    principal: Principal | undefined,
  ): LoginAccount {
    return accountIn(this.#server(name, config), principal?.ref);
  }

  /** The account of a principal by its `ref`, or with `undefined` of the gateway, at a server in use. */
  find(name: string, ref: string | undefined): FoundAccount | undefined {
    const config = this.#entries().get(name);
    if (!config) return undefined;
    const known = this.#server(name, config);
    return { server: known.server, account: accountIn(known, ref) };
  }

  /** The servers that want a login. */
  get servers(): readonly LoginServer[] {
    return [...this.#entries()].map(([name, config]) => this.#server(name, config).server);
  }

  /** An entry that a reload read again is the same entry. */
  #server(name: string, config: HttpServerConfig): Known {
    const known = this.#known.get(config);
    if (known) return known;
    const words = JSON.stringify([config.url, config.auth]);
    const former = this.#servers.get(name);
    const made = former?.words === words ? former : this.#create(name, config, words);
    this.#known.set(config, made);
    this.#servers.set(name, made);
    return made;
  }

  #create(name: string, config: HttpServerConfig, words: string): Known {
    const server = new LoginServer(name, config, this.#parts);
    return {
      words,
      server,
      gateway: new LoginAccount(server, undefined),
      accounts: new Recent<LoginAccount>(MAX_ACCOUNTS),
    };
  }
}

function accountIn({ server, gateway, accounts }: Known, ref: string | undefined): LoginAccount {
  if (ref === undefined || !server.isPersonal) return gateway;
  const known = accounts.get(ref);
  if (known) return known;
  const made = new LoginAccount(server, ref);
  accounts.set(ref, made);
  return made;
}
