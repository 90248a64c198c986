import type { Answer, Call, GatewayError } from "propylon";
import type { ProviderHttp } from "propylon/internal";
import type { FailedLogins } from "./failed-logins.ts";
import type { Introduction, ClientRegistrations } from "../provider/registration.ts";
import type { AccountTokens } from "../provider/tokens.ts";
import type { Vault } from "../provider/vault.ts";

/** Asks people to log in. */
export interface LoginAsking {
  /**
   * As `login` of an account says.
   *
   * @param error why the caller has to log in
   */
  ask(call: Call, server: string, error: GatewayError): Promise<Answer | undefined>;
}

/** What logins are made with. */
export interface LoginParts {
  readonly http: ProviderHttp;
  readonly vault: Vault<AccountTokens>;
  readonly registrations: ClientRegistrations;
  readonly introduction: () => Introduction;
  readonly asking: LoginAsking;
  readonly failed: FailedLogins;
  /** Does something that of all replicas of a store one may do at a time. */
  alone(key: string, work: () => Promise<void>): Promise<void>;
}
