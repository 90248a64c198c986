import type { Era } from "../../../core/types.ts";
import { connectLegacy } from "./client-legacy.ts";
import { connectModern } from "./client-modern.ts";
import type { RelayClient } from "./person.ts";

/** Connects a client that answers every question with its own name. */
export function connect(era: Era, url: string, name: string): Promise<RelayClient> {
  return era === "legacy" ? connectLegacy(url, name) : connectModern(url, name);
}
