import { createPrincipal } from "../../../../core/index.ts";
import { describe, expect, it } from "vitest";
import { createAuthenticator } from "../../../../core/http/auth/authenticator.ts";
import { createKey, digestOf } from "../../../../core/http/auth/key.ts";
import {
  admits,
  configSchema,
  GatewayError,
  type Access,
  type Authenticator,
  type Principal,
  type Role,
} from "../../../../core/index.ts";

const KEY = createKey("operator");
const AUTH = configSchema.parse({
  auth: { keys: { ci: { role: "operator", hash: `sha256:${digestOf(KEY)}` } } },
}).auth;
const ADA = createPrincipal({ id: "ada", kind: "user", roles: new Set() });

/** Knows `Bearer ada`; what it does with all else is the test's. */
const plugin = (otherwise: () => Principal | undefined, later: boolean): Authenticator => {
  const decide = (authorization: unknown): Principal | undefined =>
    authorization === "Bearer ada" ? ADA : otherwise();
  return {
    authenticate: ({ headers }) =>
      later
        ? Promise.resolve().then(() => decide(headers["authorization"]))
        : decide(headers["authorization"]),
    challenge: () => "Plugin",
    admits: (_principal, access) => access === "principal",
  };
};
const ask = async (authenticator: Authenticator, authorization?: string): Promise<unknown> => {
  const headers = authorization === undefined ? {} : { authorization };
  try {
    return await authenticator.authenticate({
      method: "GET",
      path: "/",
      headers,
      remoteAddress: undefined,
    });
  } catch (error) {
    return (error as Error).message;
  }
};
type Otherwise = () => Principal | undefined;
const isSilent: Otherwise = () => undefined;
const refuses: Otherwise = () => {
  throw new GatewayError("unauthorized", "The plugin knows nobody of that name.");
};

describe.each([false, true])("a plugin's authenticator (answers later: %s)", (later) => {
  it.each([
    ["says nothing", isSilent],
    ["refuses", refuses],
  ] as const)("is asked first; when it %s the config's keys are", async (_how, otherwise) => {
    const both = createAuthenticator(AUTH, plugin(otherwise, later))!;
    expect(await ask(both, "Bearer ada")).toBe(ADA);
    expect(await ask(both, `Bearer ${KEY}`)).toMatchObject({ id: "ci" });
    expect(await ask(both, `Basic ${Buffer.from(`x:${KEY}`).toString("base64")}`)).toMatchObject({
      id: "ci",
    });
    const words = otherwise === refuses ? "The plugin knows nobody of that name." : undefined;
    expect(await ask(both, "Bearer wrong")).toBe(words ?? "The API key or token is wrong.");
    expect(await ask(both, `Bearer ${KEY.slice(0, -1)}`)).toBe(
      words ?? "The API key is incomplete or mistyped.",
    );
    expect(await ask(both)).toBe(words);
    expect(both.challenge("/")).toBe("Plugin");
  });

  it("that cannot decide is not passed over", async () => {
    const broken = (): never => {
      throw new GatewayError("upstream_error", "The directory is down.");
    };
    const both = createAuthenticator(AUTH, plugin(broken, later))!;
    expect(await ask(both, `Bearer ${KEY}`)).toBe("The directory is down.");
  });

  it("decides about its own principals, except that one without a role calls; ours go by role", async () => {
    const both = createAuthenticator(AUTH, plugin(isSilent, later))!;
    const ci = (await ask(both, `Bearer ${KEY}`)) as Principal;
    expect(["caller", "operator", "admin"].map((a) => both.admits(ci, a as Access))).toEqual([
      true,
      true,
      false,
    ]);
    expect(["principal", "caller", "viewer"].map((a) => both.admits(ADA, a as Access))).toEqual([
      true,
      true,
      false,
    ]);
    const viewer: Principal = { ...ADA, roles: new Set(["viewer"]) };
    expect(both.admits(viewer, "caller")).toBe(false);
  });
});

it("without credentials in the config and without a plugin there is no authenticator", () => {
  expect(createAuthenticator(configSchema.parse({}).auth, undefined)).toBeUndefined();
});

it("M122: each role has the rights of those before it; service stands aside", () => {
  const rights: Record<Role, string> = {
    viewer: "public principal viewer",
    caller: "public principal viewer caller",
    operator: "public principal viewer caller operator",
    admin: "public principal viewer caller operator service admin",
    service: "public principal service",
  };
  const all: Access[] = ["public", "principal", "viewer", "caller", "operator", "service", "admin"];
  for (const [role, may] of Object.entries(rights)) {
    const roles = new Set([role as Role]);
    expect(all.filter((access) => admits({ roles }, access)).join(" "), `as ${role}`).toBe(may);
  }
  expect(all.filter((access) => admits({ roles: new Set() }, access))).toEqual([
    "public",
    "principal",
  ]);
});
