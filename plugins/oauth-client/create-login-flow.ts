import type { PluginContext, Service } from "propylon";
import { digestOf, type Metrics, perGeneration } from "propylon/kit";
import { ProviderHttp } from "propylon/internal";
import { type Store, storeKey } from "propylon/store";
import type { McpServersService } from "propylon/plugins/servers";
import { z } from "zod";
import { LoginAccounts } from "./login/accounts.ts";
import { Asking, ticketSchema } from "./login/asking.ts";
import { PendingLogins, PENDING_MS, pendingSchema, outcomeSchema } from "./login/pending-logins.ts";
import { providerFault } from "./provider/faults.ts";
import { FailedLogins } from "./login/failed-logins.ts";
import { LoginFlow, type LoginNews } from "./login/login-flow.ts";
import { registerMetrics } from "./metrics.ts";
import type { OauthClientOptions } from "./options.ts";
import { type Introduction, ClientRegistrations, redirectOf } from "./provider/registration.ts";
import { LOGIN_PAGES } from "./routes.ts";
import { clientSchema, tokensSchema } from "./provider/tokens.ts";
import { findSeal, Vault } from "./provider/vault.ts";

/** How long a gateway that refreshes tokens keeps the others waiting at most, in milliseconds. */
const LEASE_MS = 30_000;

/** The parts of the plugin. */
export interface OauthClientParts {
  readonly accounts: LoginAccounts;
  readonly flow: LoginFlow;
  readonly introduction: () => Introduction;
  /** Whether what is stored can be read after a restart. */
  readonly isSealLasting: boolean;
  /** Listens to the other replicas of the store. */
  listen(): Promise<() => void>;
  close(): Promise<void>;
}

/** Puts the parts together. */
export function createLoginFlow(
  gateway: PluginContext<
    OauthClientOptions,
    {
      readonly metrics: typeof Metrics;
      readonly servers: Service<McpServersService>;
      readonly store: typeof Store;
    }
  >,
): OauthClientParts {
  const { config, log } = gateway;
  const { metrics, servers, store } = gateway.services;
  const found = findSeal(config.secretKeys);
  const { fernet: seal } = found;
  const introduction = perGeneration(gateway, () => introductionOf(gateway));
  const urlOf = (path: string): string => `${introduction().base}/${path}`;
  const http = new ProviderHttp({
    allowedAddresses: config.allowedAddresses,
    option: "plugins.oauth-client.allowedAddresses",
    timeout: config.timeout,
    fault: providerFault,
  });
  const passing = { seal, ttl: PENDING_MS };
  const tickets = new Vault(store, "tickets", { ...passing, schema: ticketSchema });
  const asking = new Asking({ tickets, urlOf: (ticket) => urlOf(`connect/${ticket}`) });
  const clients = new Vault(store, "clients", { seal, schema: clientSchema });
  const issuers = new Vault(store, "issuers", { seal, schema: z.string() });
  const failed = new FailedLogins(log);
  const accounts = new LoginAccounts(() => servers.logins(), {
    http,
    vault: new Vault(store, "tokens", { seal, schema: tokensSchema }),
    registrations: new ClientRegistrations(clients, issuers),
    introduction,
    asking,
    failed,
    alone: (key, work) => alone(store, key, work),
  });
  const consents = new PendingLogins(
    new Vault(store, "consents", { ...passing, schema: pendingSchema }),
    (server, ref) => accounts.find(server, ref),
    (login) => redirectOf(introduction(), login),
    failed,
  );
  const topic = store.topic<LoginNews>("logins");
  const flow = new LoginFlow({
    accounts,
    consents,
    tickets,
    outcomes: new Vault(store, "outcomes", { ...passing, schema: outcomeSchema }),
    asking,
    urlOf: (ticket) => urlOf(`connect/${ticket}`),
    identify: config.identify,
    count: registerMetrics(metrics),
    publish: (news) => topic.publish(news),
    renew: (server, principal) => servers.renew(server, principal),
  });
  return {
    accounts,
    flow,
    introduction,
    isSealLasting: found.isLasting,
    listen: () => topic.subscribe((news, from) => flow.heard(news, from === store.replica)),
    close: () => http.close(),
  };
}

function introductionOf({ info, config }: PluginContext<OauthClientOptions>): Introduction {
  const { publicUrl } = info.effectiveConfig() as { readonly publicUrl?: string };
  const own = info.describe().listeners[0]?.url ?? "http://localhost";
  const base = (publicUrl ?? own).replace(/\/$/, "");
  return {
    name: config.clientName,
    base: `${base}${LOGIN_PAGES}`,
  };
}

/** Two replicas that refresh with the same token look like a thief to its provider (OAuth 2.1 section 4.3.1). */
async function alone(store: Store, key: string, work: () => Promise<void>): Promise<void> {
  if (!store.shared) return work();
  const name = `refresh-${digestOf(storeKey(key)).slice(0, 40)}`;
  const lease = await store.lease(name, { ttl: LEASE_MS });
  try {
    await work();
  } finally {
    await lease.release();
  }
}
