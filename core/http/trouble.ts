import type { Principal } from "../kit/types.ts";
import { admits } from "./guard.ts";

/** What may quote the standard error of a child, the answer of another service, or a path of the machine. */
const TROUBLE = ["reason", "lastError", "stderr"] as const;
type Trouble = (typeof TROUBLE)[number];

/**
 * Facts about a server without what went wrong with it.
 *
 * @example type Shown = WithoutTrouble<ServerStatus>; // reason and lastError may be absent
 */
export type WithoutTrouble<T> = Omit<T, Trouble> & Partial<Pick<T, Trouble & keyof T>>;

/**
 * Facts about a server as somebody may see them: why it is not well is for operators and admins, its state for everybody. The one
 * rule of every route, event, file and error that tells of servers.
 *
 * @example const { state, reason = null } = troubleFor(event.context.principal, server.status);
 */
export function troubleFor<T extends object>(
  asker: Pick<Principal, "roles">,
  facts: T,
): WithoutTrouble<T> {
  return admits(asker, "operator") ? facts : withoutTrouble(facts);
}

/**
 * Facts about a server for those who do not run the gateway; see {@link troubleFor}.
 *
 * @example const data = { server: name, ...withoutTrouble(status) };
 */
export function withoutTrouble<T extends object>(facts: T): WithoutTrouble<T> {
  const shown = { ...facts } as Partial<Record<Trouble, unknown>>;
  for (const name of TROUBLE) delete shown[name];
  return shown as WithoutTrouble<T>;
}
