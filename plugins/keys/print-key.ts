import { GatewayError, type Role } from "propylon";
import { digestOf } from "propylon/kit";
import { createKey } from "./key.ts";

/** What a key is made for. */
export interface KeyOptions {
  readonly role: Role;
  readonly name: string;
  readonly json?: boolean;
}

/**
 * Prints a new key, the only time it can be seen, and what to put into the config in its place.
 *
 * @throws {GatewayError} `invalid` for a name that cannot stand in the config
 */
export function printKey({ role, name, json }: KeyOptions): void {
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name))
    throw new GatewayError("invalid", "The name of a key has 1 to 64 of: letters, digits, _ . -", {
      hint: "For example --name ci.",
    });
  const key = createKey(role);
  const hash = `sha256:${digestOf(key)}`;
  if (json) {
    console.log(JSON.stringify({ name, role, key, hash }));
    return;
  }
  console.log(`${key}

This key is shown once. Give it to its holder, and put its hash into the config:

auth:
  keys:
    ${/^[A-Za-z]/.test(name) ? name : JSON.stringify(name)}: { role: ${role}, hash: "${hash}" }`);
}
