import { defineService, type Json } from "propylon";

/** Keys that servers check the gateway's assertions with. */
export interface AssertionKeysService {
  /** Whether any server is told who calls. */
  readonly isUsed: boolean;
  /** A JSON Web Key Set (RFC 7517). @throws {GatewayError} `unavailable` while the store is away and the key is not known */
  keySet(): Promise<{ readonly keys: readonly Json[] }>;
  /** Somebody publishes the keys. Until then no call goes to a server that is told who calls: it could not check it. */
  publish(): void;
}

/** Service token of the servers plugin, for a plugin that publishes the keys. */
export const AssertionKeys = defineService<AssertionKeysService>("assertion-keys");
