import type { Call } from "propylon";
import { matchesWildcard } from "propylon/kit";
import type { Selection } from "./options.ts";

/** What of a call decides about its limits. */
export type Limited = Pick<Call, "method" | "server" | "name" | "principal">;

/** Tells which calls a rule is about, and which of them share a bucket or a bound. */
export class Selector {
  readonly #selection: Selection;
  readonly #aboutTools: boolean;

  constructor(selection: Selection) {
    this.#selection = selection;
    this.#aboutTools = selection.tool !== undefined || selection.per.includes("tool");
  }

  /** Whether the rule is about calls of this name, by any caller. Slow: ask once per name. */
  covers({ method, server, name }: Limited): boolean {
    const { server: servers, tool } = this.#selection;
    if (this.#aboutTools && method !== "tools/call") return false;
    return (
      (servers === undefined || matchesWildcard(servers, server)) &&
      (tool === undefined || matchesWildcard(tool, name))
    );
  }

  /** Whether the rule is about calls of this principal. */
  admits({ roles }: Call["principal"]): boolean {
    return this.#selection.role === undefined || roles.has(this.#selection.role);
  }

  /** The key of all calls of this name; `undefined` when it depends on who calls. */
  commonKeyOf(call: Limited): string | undefined {
    return this.#selection.per.includes("principal") ? undefined : this.keyOf(call);
  }

  /** Calls with the same key share. */
  keyOf(call: Limited): string {
    const { per } = this.#selection;
    if (per.length === 1) return partOf(call, per[0]!);
    let key = "";
    for (const part of per) key += `${partOf(call, part)}\n`;
    return key;
  }
}

function partOf({ principal, server, name }: Limited, part: Selection["per"][number]): string {
  if (part === "principal") return principal.ref;
  return part === "server" ? server : `${server}\n${name}`;
}
