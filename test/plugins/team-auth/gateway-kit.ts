import { join } from "node:path";
import { SignJWT } from "jose";
import { decodeProtectedHeader } from "jose";
import { onTestFinished, vi } from "vitest";
import { definePlugin, type Gateway, type GatewayConfigInput } from "../../../core/index.ts";
import { setupGateway, type PluginEntry } from "../../../core/testing/index.ts";
import teamAuth, { Libraries } from "../../../plugins/team-auth/index.ts";
import { Issuer } from "../../../plugins/team-auth/bearer/issuer.ts";
import sqlite from "../../../plugins/sqlite/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { ADMIN, KOTTOS } from "./kit.ts";

export const SECRET_KEY = "a secret of the tests that is long enough";

/** Tells its caller what the caller may see, by HTTP and as a tool that can be made to wait. */
export const reader = definePlugin({
  name: "reader",
  inject: { libraries: Libraries },
  setup(gateway) {
    const { libraries } = gateway.services;
    gateway.route("GET", "/sees", { access: "caller", mutates: false }, (event) =>
      libraries.of(event.context.principal),
    );
    gateway.tool("sees", {
      description: "Lists what the caller sees.",
      run: (_args, call) => ({ libraries: libraries.of(call.principal) }),
    });
    gateway.tool("wait", {
      description: "Runs until it is cancelled.",
      run: (_args, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    });
  },
});

/** A gateway with team-auth, and how its issuer is reached. */
export interface StartedIssuer {
  readonly gateway: Gateway;
  readonly url: string;
  readonly issuer: Issuer;
  /** What a bearer sees, or the status and message of its refusal. */
  readonly sees: (bearer: string) => Promise<unknown>;
}

/** Starts a gateway whose tables are in a file of its own, or in a store that is given. */
export async function startIssuer(
  options: Record<string, unknown> = {},
  config: GatewayConfigInput = {},
  more: readonly PluginEntry[] = [],
): Promise<StartedIssuer> {
  const open = vi.spyOn(Issuer.prototype, "open");
  onTestFinished(() => open.mockRestore());
  const { gateway, url } = await setupGateway({
    plugins: [[teamAuth, { secretKeys: [SECRET_KEY], ...options }], reader, sqlite, ...more],
    // Tests try more wrong credentials in a second than a gateway takes in a minute.
    config: { store: fileStore(), ...config, auth: { maxFailures: 0, ...config.auth } },
    client: false,
  });
  const issuer = open.mock.contexts.at(-1) as Issuer;
  return { gateway, url, issuer, sees: (bearer) => ask(url, bearer) };
}

export function fileStore(): string {
  const folder = makeFolder();
  return `sqlite:${join(folder, "gateway.db")}`;
}

async function ask(url: string, bearer: string): Promise<unknown> {
  const reply = await fetch(`${url}/sees`, { headers: { authorization: `Bearer ${bearer}` } });
  const body = (await reply.json()) as { error?: { message: string } };
  if (reply.ok) return body;
  return `${reply.status} ${body.error?.message ?? JSON.stringify(body)}`;
}

/** Users, libraries and a team: ada owns lib-a and lib-b of ws-1, lib-c is of ws-2, and nobody's team sees lib-d. */
export async function populate({ directory }: Issuer): Promise<{ jwt: string; opaque: string }> {
  await directory.users.create(ADMIN, { id: "ada" });
  const libraries = { "lib-a": "ws-1", "lib-b": "ws-1", "lib-c": "ws-2", "lib-d": null };
  for (const [uid, workspaceId] of Object.entries(libraries))
    await directory.libraries.create(ADMIN, { uid, workspaceId, owner: "ada" });
  const { value: team } = await directory.teams.create(ADMIN, { id: KOTTOS, name: "Kottos" });
  await directory.teams.setWorkspaces(ADMIN, KOTTOS, ["ws-1"]);
  const input = { user: "ada", name: "laptop", libraries: ["lib-d", "lib-a"] };
  const { value: token } = await directory.tokens.create(ADMIN, input);
  return { jwt: team.jwt!, opaque: token.secret };
}

/** Signs whatever a test wants, with the key that signed a token. */
export async function createForge({ directory }: Issuer, jwt: string) {
  const { kid } = decodeProtectedHeader(jwt);
  const secret = new TextEncoder().encode(await directory.keys.reveal(ADMIN, kid!));
  return (claims: Record<string, unknown>, head: Record<string, unknown> = {}): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: kid!, ...head }).sign(secret);
}

/** Claims of a per-turn token. */
export function turnClaims(more: Record<string, unknown> = {}): Record<string, unknown> {
  const iat = Math.floor(Date.now() / 1_000);
  const jti = crypto.randomUUID();
  const libs = ["lib-b", "lib-a", "lib-b"];
  return {
    iss: "daedalus",
    sub: "daedalus-chat",
    iat,
    exp: iat + 600,
    jti,
    ws: "ws-1",
    libs,
    ...more,
  };
}
