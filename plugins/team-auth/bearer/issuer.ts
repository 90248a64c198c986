import {
  type Call,
  GatewayError,
  type Identity,
  isGatewayError,
  type PluginContext,
  type Service,
} from "propylon";
import type { AccountsService } from "propylon/plugins/access";
import {
  type Credentials,
  type Management,
  asProven,
  createSealer,
  type Fernet,
} from "propylon/kit";
import type { OpenDatabase, Store } from "propylon/store";
import { type Bearer, bearerOf, type PluginWarning } from "propylon/internal";
import { randomUUID } from "node:crypto";
import { appendAudit } from "../audit/audit.ts";
import { AuditFeed } from "../audit/audit-feed.ts";
import { Directory } from "../directory/directory.ts";
import { explainAccount } from "./explain-account.ts";
import { Housekeeping } from "./housekeeping.ts";
import type { JwtRules } from "./jwt.ts";
import { Lease } from "./lease.ts";
import { Loader } from "./loader.ts";
import { MIGRATIONS } from "../tables/migrations.ts";
import type { TeamAuthOptions } from "../options.ts";
import { away, isGuess, refusalMessage, RefusedBearer, type RefusalReason } from "../refusals.ts";
import { ReplayGuard } from "./replay.ts";
import { Replica } from "./replica.ts";
import { credentialOf, Resolver } from "./resolver.ts";
import type { LibrariesService } from "../service.ts";
import type { Database, Tables } from "../tables/tables.ts";

const REVOKED = "The credential was revoked.";

/** What it works with. */
type TeamAuthContext = PluginContext<
  TeamAuthOptions,
  {
    readonly management: Service<Management>;
    readonly openDatabase: Service<OpenDatabase>;
    readonly store: typeof Store;
  }
>;

/** Who is let in, and the tables that say so; opened with the gateway. */
export class Issuer {
  readonly #gateway: TeamAuthContext;
  readonly #failed: (reason: RefusalReason) => void;
  readonly #seal: Fernet;
  #resolver: Resolver | undefined;
  #directory: Directory | undefined;
  #replica: Replica | undefined;
  #lease: Lease | undefined;

  /** @param failed told of every refusal */
  constructor(gateway: TeamAuthContext, failed: (reason: RefusalReason) => void) {
    this.#gateway = gateway;
    this.#failed = failed;
    this.#seal = createSealer("team-auth", gateway.config.secretKeys);
  }

  /** @throws {GatewayError} `unavailable` before it is open */
  get directory(): Directory {
    return opened(this.#directory);
  }

  /** @throws {GatewayError} `unavailable` before it is open */
  get replica(): Replica {
    return opened(this.#replica);
  }

  /** @returns what closes it @throws {GatewayError} where the store holds no tables, or is away */
  async open(): Promise<() => Promise<void>> {
    const { services, log } = this.#gateway;
    const db = await services.openDatabase<Tables>(MIGRATIONS);
    const { retention } = this.#gateway.config.audit;
    const id = randomUUID();
    const lease = (this.#lease = new Lease(db, id, services.store.shared));
    const replay = new ReplayGuard(db, lease);
    const housekeeping = new Housekeeping({ db, replay, lease, log, retention });
    const feed = new AuditFeed(db, this.#gateway);
    const replica = (this.#replica = this.#createReplica(db, id, lease, () => feed.look()));
    this.#resolver = new Resolver({
      replica,
      replay,
      rules: rulesOf(this.#gateway.config),
      used: housekeeping.used,
    });
    const endFeed = await feed.start();
    const leave = await replica.start();
    this.#directory = this.#createDirectory(db, replica);
    const stop = housekeeping.start();
    return async () => {
      await leave();
      await endFeed();
      await stop();
    };
  }

  /**
   * @returns `undefined` for what may be somebody else's
   * @throws {GatewayError} `unauthorized`; `unavailable` while nobody knows who may see what
   */
  authenticate(credentials: Credentials): Identity | undefined | Promise<Identity | undefined> {
    const bearer = ownBearerOf(credentials);
    if (bearer === undefined) return undefined;
    return this.#judge((resolver) => resolver.resolve(bearer.token, bearer.digest));
  }

  /**
   * Who a bearer is that another service holds, by the same rules. It counts as a use of a token that may be used once.
   *
   * @returns `undefined` for one that does not count, and for one that is somebody else's
   * @throws {GatewayError} `unavailable` while nobody knows who may see what
   */
  async introspect(token: string): Promise<Identity | undefined> {
    try {
      return await this.#judge((resolver) => resolver.resolve(token));
    } catch (error) {
      if (isGatewayError(error) && error.code === "unauthorized") return undefined;
      throw error;
    }
  }

  /** What is said to a bearer that nobody knows. */
  refusal(credentials: Credentials): string | undefined {
    if (ownBearerOf(credentials) === undefined) return undefined;
    this.#failed("unknown_token");
    return refusalMessage("unknown_token");
  }

  /** What the plugin provides. */
  readonly service: LibrariesService & AccountsService = {
    of: (principal) => opened(this.#resolver).librariesOf(principal),
    within: (set, uid) => set?.includes(uid) ?? false,
    explain: (ref) => explainAccount(ref, this),
    admit: (identity) => this.#judge((resolver) => resolver.adopt(identity)),
  };

  /**
   * Refuses a call of somebody whose credential was revoked since: an agent may go on for longer than any request.
   *
   * @throws {GatewayError} `unauthorized`
   */
  permit({ principal }: Pick<Call, "principal">): void {
    if (this.#isDead(principal)) throw new GatewayError("unauthorized", REVOKED);
  }

  /** A sentence while this gateway cannot answer for its principals. */
  check(): string | PluginWarning | undefined {
    if (!this.#replica?.isCurrent) return "It cannot be read who may see what.";
    const { ms, isLarge, isTooLarge } = opened(this.#lease).skew;
    const words = `The clocks of the gateway and its database are ${Math.round(ms / 1_000)} s apart.`;
    if (isTooLarge) return words;
    return isLarge
      ? {
          message: words,
          path: ["plugins", "team-auth"],
          hint: "Let both hosts set their clocks by NTP.",
        }
      : undefined;
  }

  #judge<T extends Identity | undefined>(
    find: (resolver: Resolver) => T | Promise<T>,
  ): T | Promise<T> {
    try {
      const known = find(opened(this.#resolver));
      if (!(known instanceof Promise)) return this.#tell(known);
      return known.then(
        (identity) => this.#tell(identity),
        (error: unknown) => this.#refuse(error),
      );
    } catch (error) {
      return this.#refuse(error);
    }
  }

  #tell<T extends Identity | undefined>(identity: T): T {
    if (!identity || !credentialOf(identity)) return identity;
    const libraries = identity.claims!["libraries"] as readonly string[];
    const { log, config } = this.#gateway;
    log[config.resolutionLog](
      { principal: identity.kind, libraries: libraries.length },
      "resolved",
    );
    return identity;
  }

  #refuse(error: unknown): never {
    if (error instanceof RefusedBearer) {
      this.#failed(error.reason);
      const refusal = new GatewayError("unauthorized", error.message, { cause: error });
      throw isGuess(error.reason) ? refusal : asProven(refusal);
    }
    throw isGatewayError(error) ? error : away(error);
  }

  #createReplica(db: Database, id: string, lease: Lease, applied: () => void): Replica {
    const { services, log, config } = this.#gateway;
    const { inFlight } = config.revocation;
    return new Replica({
      id,
      loader: new Loader(db, this.#seal),
      lease,
      topic: services.store.topic("changes"),
      log,
      applied,
      evict: (all) =>
        services.management.evict(all ? isOurs : this.#isDead, REVOKED, {
          inFlight,
          withdraw: true,
        }),
    });
  }

  readonly #isDead: Parameters<Management["evict"]>[0] = (principal) =>
    this.#resolver?.isDead(principal) ?? false;

  #createDirectory(db: Database, replica: Replica): Directory {
    const { issuer, audience, signing } = this.#gateway.config;
    return new Directory({
      db,
      audit: appendAudit,
      spread: (epoch) => replica.spread(epoch),
      seal: this.#seal,
      issuers: { team: issuer, audience },
      algorithm: signing.algorithm,
    });
  }
}

const isOurs: Parameters<Management["evict"]>[0] = (principal) =>
  credentialOf(principal) !== undefined;

function rulesOf({ issuer, audience, enforceAudience, perTurn }: TeamAuthOptions): JwtRules {
  return {
    teamIssuer: issuer,
    perTurnIssuer: perTurn.enabled ? perTurn.issuer : undefined,
    perTurnMaxAge: perTurn.maxAge,
    audience: enforceAudience ? audience : undefined,
  };
}

/** A token as `Bearer`: passwords come as Basic, and have a check of their own. */
function ownBearerOf(credentials: Credentials): Bearer | undefined {
  const bearer = bearerOf(credentials);
  return bearer?.basic === false ? bearer : undefined;
}

function opened<T>(part: T | undefined): T {
  if (part === undefined) throw away();
  return part;
}
