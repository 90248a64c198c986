import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { SignJWT } from "jose";
import { admits, createPrincipal, digestOf } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { createChain } from "./kit.ts";
import { AuthenticatorChain } from "../../../core/http/chain.ts";
import { createKey } from "../../../plugins/keys/key.ts";
import { makePrincipal, originOf } from "../../../core/kit/principal.ts";
import type { Authenticator } from "../../../core/plugin/authentication.ts";
import {
  configSchema,
  GatewayError,
  type Access,
  type Identity,
  type Principal,
  type Role,
} from "../../../core/index.ts";

const KEY = createKey("operator");
const AUTH = configSchema.parse({
  auth: { keys: { ci: { role: "operator", hash: `sha256:${digestOf(KEY)}` } } },
}).auth;
const ADA: Identity = { id: "ada", kind: "user", roles: new Set() };

/** Knows `Bearer ada`; what it does with all else is the test's. */
const plugin = (otherwise: () => Identity | undefined, later: boolean): Authenticator => {
  const decide = (authorization: unknown): Identity | undefined =>
    authorization === "Bearer ada" ? ADA : otherwise();
  return {
    name: "people",
    plugin: "directory",
    authenticate: ({ headers }) =>
      later
        ? Promise.resolve().then(() => decide(headers["authorization"]))
        : decide(headers["authorization"]),
    challenge: () => "Plugin",
    admits: (_principal, access) => access === "principal",
  };
};
const credentials = (authorization?: string) => ({
  method: "GET",
  path: "/",
  headers: authorization === undefined ? {} : { authorization },
  remoteAddress: undefined,
});
const ask = async (chain: AuthenticatorChain, authorization?: string): Promise<unknown> => {
  try {
    return await chain.authenticate(credentials(authorization));
  } catch (error) {
    return (error as Error).message;
  }
};
type Otherwise = () => Identity | undefined;
const isSilent: Otherwise = () => undefined;
const refuses: Otherwise = () => {
  throw new GatewayError("unauthorized", "The directory knows nobody of that name.");
};
const WRONG = "The API key or token is wrong.";

describe.each([false, true])("a plugin's authenticator (answers later: %s)", (later) => {
  it.each([
    ["says nothing", isSilent, WRONG],
    ["refuses", refuses, "The directory knows nobody of that name."],
  ] as const)("is asked after the config's; when it %s", async (_how, otherwise, words) => {
    const chain = createChain(AUTH, [plugin(otherwise, later)])!;
    expect(await ask(chain, "Bearer ada")).toMatchObject({ ref: "user:ada" });
    expect(await ask(chain, `Bearer ${KEY}`)).toMatchObject({ id: "ci" });
    expect(await ask(chain, `Basic ${Buffer.from(`x:${KEY}`).toString("base64")}`)).toMatchObject({
      id: "ci",
    });
    expect(await ask(chain, "Bearer wrong")).toBe(words);
    // Of the keys' form, so the keys' own: the plugin is not asked.
    expect(await ask(chain, `Bearer ${KEY.slice(0, -1)}`)).toBe(
      "The API key is incomplete or mistyped.",
    );
    expect(await ask(chain)).toBe(otherwise === refuses ? words : undefined);
    expect(chain.challenge("/", false)).toBe("Plugin");
  });

  it("that cannot decide is not passed over", async () => {
    const broken = (): never => {
      throw new GatewayError("upstream_error", "The directory is down.");
    };
    const never: Authenticator = { ...plugin(isSilent, false), name: "never" };
    const chain = createChain(AUTH, [plugin(broken, later), never])!;
    expect(await ask(chain, "Bearer x")).toBe("The directory is down.");
    expect(await ask(chain, `Bearer ${KEY}`)).toMatchObject({ id: "ci" });
  });

  it("decides about its own principals, except that one without a role calls; ours go by role", async () => {
    const chain = createChain(AUTH, [plugin(isSilent, later)])!;
    const ci = (await ask(chain, `Bearer ${KEY}`)) as Principal;
    const ada = (await ask(chain, "Bearer ada")) as Principal;
    expect(["caller", "operator", "admin"].map((a) => chain.admits(ci, a as Access))).toEqual([
      true,
      true,
      false,
    ]);
    expect(["principal", "caller", "viewer"].map((a) => chain.admits(ada, a as Access))).toEqual([
      true,
      true,
      false,
    ]);
    const viewer = makePrincipal({ ...ADA, roles: new Set(["viewer"]) }, "people");
    expect(chain.admits(viewer, "caller")).toBe(false);
  });

  it("vouches itself for whoever it names, also for a principal that it was handed", async () => {
    const stolen = (await ask(createChain(AUTH, [])!, `Bearer ${KEY}`)) as Principal;
    const own = createPrincipal(ADA);
    for (const principal of [stolen, own]) {
      const chain = createChain(AUTH, [plugin(() => principal, later)])!;
      const known = (await ask(chain, "Bearer x")) as Principal;
      expect([known.ref, originOf(known)]).toEqual([principal.ref, "people"]);
      expect(chain.admits(known, "operator")).toBe(false);
    }
  });
});

describe("a challenge", () => {
  const quiet: Authenticator = {
    ...plugin(isSilent, false),
    name: "quiet",
    challenge: (path, isRefused) => (path === "/closed" ? undefined : `Quiet ${isRefused}`),
    stepUp: (path, { id }, access) => `More for ${id} on ${path}: ${access}`,
  };
  const loud: Authenticator = { ...quiet, name: "loud", challenge: () => "Loud" };

  it("is that of the first who has one, and knows whether something was refused", () => {
    const chain = createChain(AUTH, [quiet, loud])!;
    expect([chain.challenge("/", false), chain.challenge("/", true)]).toEqual([
      "Quiet false",
      "Quiet true",
    ]);
    expect(chain.challenge("/closed", true)).toBe("Loud");
    expect(createChain(AUTH, [quiet])!.challenge("/closed", true)).toBe('Bearer realm="propylon"');
  });

  it("of a 403 is that of whoever vouches", async () => {
    const chain = createChain(AUTH, [quiet])!;
    const [ada, ci] = [await ask(chain, "Bearer ada"), await ask(chain, `Bearer ${KEY}`)];
    expect(chain.stepUp("/x", ada as Principal, "admin")).toBe("More for ada on /x: admin");
    expect(chain.stepUp("/x", ci as Principal, "admin")).toBeUndefined();
  });
});

describe("a chain of many", () => {
  const ANSWERS = ["none", "refuses", "fails", "knows"] as const;
  const link = fc.record({ answer: fc.constantFrom(...ANSWERS), later: fc.boolean() });
  const toLink = (
    { answer, later }: { answer: (typeof ANSWERS)[number]; later: boolean },
    index: number,
    asked: number[],
  ): Authenticator => {
    const answers = {
      none: () => undefined,
      refuses: () => {
        throw new GatewayError("unauthorized", `${index} refuses`);
      },
      fails: () => {
        throw new GatewayError("upstream_error", `${index} fails`);
      },
      knows: () => ({ id: String(index), kind: "user" as const, roles: new Set<Role>() }),
    };
    return {
      name: `link-${index}`,
      plugin: "p",
      authenticate: () => {
        asked.push(index);
        return later ? Promise.resolve().then(answers[answer]) : answers[answer]();
      },
      challenge: () => `C${index}`,
    };
  };

  it("the first that does not pass on decides, and nobody behind it is asked", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(link, { minLength: 1, maxLength: 6 }), async (links) => {
        const asked: number[] = [];
        const chain = new AuthenticatorChain(
          links.map((each, index) => toLink(each, index, asked)),
          () => "nobody",
        );
        const decides = links.findIndex(({ answer }) => answer !== "none");
        const got = await ask(chain, "Bearer x");
        const { answer } = links[decides] ?? { answer: "none" };
        expect(asked).toEqual([...links.keys()].slice(0, decides < 0 ? undefined : decides + 1));
        const told = typeof got === "string" ? got : `${(got as Principal).id} knows`;
        expect(told).toBe(answer === "none" ? "nobody" : `${decides} ${answer}`);
      }),
    );
  });

  it("whoever refuses says how to authenticate with it", async () => {
    const asked: number[] = [];
    const none = toLink({ answer: "none", later: false }, 0, asked);
    const refusing = toLink({ answer: "refuses", later: true }, 1, asked);
    const chain = new AuthenticatorChain([none, refusing], () => "nobody");
    const refusal = await Promise.resolve(chain.authenticate(credentials("Bearer x"))).catch(
      (error: unknown) => error,
    );
    expect((refusal as GatewayError).headers).toEqual({ "www-authenticate": "C1" });
  });

  it.each([
    ["keys", "a name that cannot be used"],
    ["gateway", "a name that cannot be used"],
    ["Upper", "a name that cannot be used"],
    ["people", 'which plugin "directory" has already'],
  ])("none is called %s", (name, words) => {
    const first = plugin(isSilent, false);
    expect(() => createChain(AUTH, [first, { ...first, name }])).toThrow(words);
  });
});

describe("the config's tokens, beside those of another issuer", () => {
  const SECRET = "a secret of at least 32 characters";
  const OTHER = "another secret of at least 32 chars";
  const sign = (secret: string, claims: object, exp = "1m") =>
    new SignJWT({ sub: "grace", ...claims })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime(exp)
      .sign(new TextEncoder().encode(secret));
  const chainOf = (jwt: object, asked: string[] = []) =>
    createChain(configSchema.parse({ auth: { jwt } }).auth, [
      {
        name: "other",
        plugin: "other",
        authenticate: ({ headers }) => {
          asked.push(String(headers["authorization"]));
          return undefined;
        },
      },
    ])!;

  it("a token of another issuer or key is passed on, one of ours that is over is not", async () => {
    const asked: string[] = [];
    const chain = chainOf({ secret: SECRET, issuer: "us" }, asked);
    expect(await ask(chain, `Bearer ${await sign(SECRET, { iss: "us" })}`)).toMatchObject({
      id: "jwt:grace",
    });
    expect(await ask(chain, `Bearer ${await sign(SECRET, { iss: "us" }, "1s ago")}`)).toMatchObject(
      {
        id: "jwt:grace",
      },
    );
    expect(await ask(chain, `Bearer ${await sign(SECRET, { iss: "us" }, "5m ago")}`)).toBe(
      "The token has expired.",
    );
    expect(asked).toEqual([]);
    for (const foreign of [
      await sign(OTHER, { iss: "them" }),
      await sign(OTHER, { iss: "us" }),
      await sign(SECRET, { iss: "them" }),
      "a.b.c",
    ])
      expect(await ask(chain, `Bearer ${foreign}`)).toBe("The token is not valid.");
    expect(asked).toHaveLength(4);
  });

  it("a key set that does not answer keeps no other issuer's people out", async () => {
    const chain = createChain(
      configSchema.parse({ auth: { jwt: { jwks: "http://127.0.0.1:1/jwks", issuer: "us" } } }).auth,
      [plugin(() => ({ ...ADA, id: "other" }), false)],
    )!;
    expect(await ask(chain, `Bearer ${await sign(OTHER, { iss: "them" })}`)).toMatchObject({
      id: "other",
    });
    const ours = await new SignJWT({ sub: "grace", iss: "us" })
      .setProtectedHeader({ alg: "EdDSA" })
      .setExpirationTime("1m")
      .sign(generateKeyPairSync("ed25519").privateKey);
    expect(await ask(chain, `Bearer ${ours}`)).toBe("The token cannot be checked at the moment.");
  });
});

it("without credentials in the config and without a plugin there is no authenticator", () => {
  expect(createChain(configSchema.parse({}).auth, [])).toBeUndefined();
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
