import { Authenticators } from "../plugin/kernel-points.ts";
import { randomBytes } from "node:crypto";
import { definePlugin } from "../plugin/define-plugin.ts";
import type { AnyPlugin } from "../plugin/plugin.ts";
import type { Identity } from "../kit/types.ts";

/**
 * A team, for {@link GatewaySetup.as}.
 *
 * @param libraries what it may read, in order; default: no set, as for a principal that has no notion of libraries
 *
 * @example const { client } = await setupGateway({ as: team("kottos", ["lib-a"]), config });
 */
export function team(id: string, libraries?: readonly string[]): Identity {
  return person("team", id, libraries);
}

/**
 * A user, for {@link GatewaySetup.as}.
 *
 * @param libraries what it may read, in order; default: no set
 *
 * @example const { headers } = await setupGateway({ as: user("ann"), config, client: false });
 */
export function user(id: string, libraries?: readonly string[]): Identity {
  return person("user", id, libraries);
}

function person(kind: "team" | "user", id: string, libraries?: readonly string[]): Identity {
  const roles = new Set(["caller"] as const);
  return { kind, id, roles, ...(libraries && { claims: { libraries: [...libraries] } }) };
}

/** Somebody with a token of their own, and the plugin that knows it. */
export interface Introduced {
  readonly plugin: AnyPlugin;
  readonly headers: Readonly<Record<string, string>>;
}

/** Lets a gateway know somebody, as a plugin that authenticates does. */
export function introduce(identity: Identity): Introduced {
  const authorization = `Bearer as_${randomBytes(24).toString("base64url")}`;
  const plugin = definePlugin({
    name: "as",
    setup: (gateway) =>
      gateway.add(Authenticators, {
        name: "as",
        authenticate: ({ headers }) =>
          headers["authorization"] === authorization ? identity : undefined,
      }),
  });
  return { plugin, headers: { authorization } };
}
