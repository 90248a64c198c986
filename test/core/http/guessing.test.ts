import { SignJWT } from "jose";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { Guesses, placeOf } from "../../../core/http/guesses.ts";
import { TrustedProxies } from "../../../core/http/proxies.ts";
import { configSchema, definePlugin, GatewayError } from "../../../core/index.ts";
import { Authenticators, digestOf } from "propylon/kit";
import { connectClient, setupGateway } from "../../../core/testing/index.ts";
import metrics from "../../../plugins/metrics/index.ts";
import openapi from "../../../plugins/openapi/index.ts";

const LIMITS = 10;
const from = (remoteAddress: string, token?: string) => ({
  method: "GET",
  path: "/",
  remoteAddress,
  headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
});

/** Sends wrong credentials until they are refused unseen; tells how many were looked at. */
function guess(guesses: Guesses, address: string, tokenOf: (at: number) => string): number {
  for (let at = 0; at < 100; at++) {
    try {
      guesses.begin(from(address, tokenOf(at)), LIMITS).wrong();
    } catch {
      return at;
    }
  }
  return Infinity;
}

describe("guessing", () => {
  it("is let through ten times a minute from one address, whatever the tokens are", () => {
    const guesses = new Guesses(() => {});
    expect(guess(guesses, "203.0.113.7", (at) => `token-${at}-of-a-guesser`)).toBe(10);
    expect(guess(guesses, "203.0.113.8", (at) => `tokem-${at}-of-a-guesser`)).toBe(10);
  });

  it("is let through ten times a minute for tokens that begin alike, whatever the addresses are", () => {
    const guesses = new Guesses(() => {});
    let looked = 0;
    for (let at = 0; at < 50; at++)
      looked += guess(guesses, `203.0.113.${at}`, () => `ppt_abcdefgh_${at}${"x".repeat(40)}`);
    expect(looked).toBe(10);
  });

  it("counts a whole network of IPv6 as one address, and an IPv4 address once", () => {
    expect(placeOf("2001:db8:1:2:3:4:5:6")).toBe(placeOf("2001:db8:1:2::9"));
    expect(placeOf("2001:db8:1:3::9")).not.toBe(placeOf("2001:db8:1:2::9"));
    expect(placeOf("::ffff:192.0.2.1")).toBe("192.0.2.1");
    expect(placeOf("fe80::1%eth0")).toBe("fe80:0:0:0");
    fc.assert(
      fc.property(fc.ipV6(), fc.ipV4(), (six, four) => {
        expect(placeOf(six).split(":").length).toBeLessThanOrEqual(4);
        expect(placeOf(four)).toBe(four);
      }),
    );
  });

  it("does not hold up credentials that were right, nor a fresh token of a subject that was", async () => {
    const guesses = new Guesses(() => {});
    const sign = (sub: string, jti: string) =>
      new SignJWT({ sub, iss: "daedalus", jti })
        .setProtectedHeader({ alg: "HS256" })
        .sign(new TextEncoder().encode("a secret of at least 32 characters"));
    const office = "203.0.113.7";
    guesses.begin(from(office, "a-key-that-is-right"), LIMITS).right();
    guesses.begin(from(office, await sign("ann", "1")), LIMITS).right();
    expect(guess(guesses, office, (at) => `${at}-some-wrong-token`)).toBe(10);
    guesses.begin(from(office, "a-key-that-is-right"), LIMITS);
    guesses.begin(from(office, await sign("ann", "2")), LIMITS).right();
    expect(() => guesses.begin(from(office, "another-key"), LIMITS)).toThrow("wrong of late");
    // A stranger who knows the subject holds up nobody but himself.
    const forged = await Promise.all(Array.from({ length: 12 }, (_, at) => sign("ann", `f${at}`)));
    expect(guess(guesses, "198.51.100.1", (at) => forged[at]!)).toBe(10);
    guesses.begin(from(office, await sign("ann", "3")), LIMITS).right();
  });

  it("counts tokens about a subject that is nested deeply", () => {
    const sub = `${"[".repeat(12_000)}${"]".repeat(12_000)}`;
    const payload = Buffer.from(`{"sub":${sub}}`).toString("base64url");
    const tokenOf = (at: number): string => `e30.${payload}.${at}`;
    expect(guess(new Guesses(() => {}), "203.0.113.7", tokenOf)).toBe(10);
  });

  it("lets many in who come back at once, and no more guesses than ten a minute for long", () => {
    const guesses = new Guesses(() => {});
    const all = Array.from({ length: 60 }, (_, at) =>
      guesses.begin(from("203.0.113.7", `${at}-key-of-an-office`), LIMITS),
    );
    for (const attempt of all.slice(0, 50)) attempt.right();
    for (const attempt of all.slice(50)) attempt.wrong();
    expect(guess(guesses, "203.0.113.7", (at) => `${at}-wrong`)).toBe(0);
    const burst = new Guesses(() => {});
    const begin = (at: number) => burst.begin(from("203.0.113.7", `${at}-wrong-token`), LIMITS);
    const tries = Array.from({ length: 100 }, (_, at) => begin(at));
    expect(() => begin(100)).toThrow("wrong of late");
    for (const attempt of tries) attempt.wrong();
    expect(guess(burst, "203.0.113.7", (at) => `${at}-wrong`)).toBe(0);
  });

  it("gives back what was not wrong", () => {
    const guesses = new Guesses(() => {});
    for (let at = 0; at < 50; at++)
      guesses.begin(from("192.0.2.1", `key-${at}-of-many`), LIMITS).unknown();
    expect(guess(guesses, "192.0.2.1", (at) => `${at}-wrong-token`)).toBe(10);
  });

  it("keeps within its memory, whoever sends what", () => {
    const guesses = new Guesses(() => {});
    const send = (first: number, last: number): void => {
      for (let at = first; at < last; at++)
        guesses
          .begin(from(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`, `${at}-wrong`), LIMITS)
          .wrong();
    };
    guess(guesses, "203.0.113.7", (at) => `${at}-wrong-token`);
    send(0, 1_000);
    expect(guess(guesses, "203.0.113.7", (at) => `${at}-other`)).toBe(0);
    // What is counted of one address makes room for others, so that no number of them fills the memory.
    send(1_000, 31_000);
    expect(guess(guesses, "203.0.113.7", (at) => `${at}-other`)).toBe(10);
  });
});

describe("a gateway", () => {
  const KEY = createKey("caller");
  const auth = { keys: { ci: { role: "caller" as const, hash: `sha256:${digestOf(KEY)}` } } };
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  it("answers the eleventh wrong credential with 429, before anybody looks it up", async () => {
    let asked = 0;
    const directory = definePlugin({
      name: "directory",
      setup(gateway) {
        gateway.add(Authenticators, {
          name: "directory",
          authenticate: () => {
            asked++;
            throw new GatewayError("unauthorized", "The directory does not know this token.");
          },
        });
      },
    });
    const { url, gateway } = await setupGateway({
      plugins: [openapi, metrics, directory],
      config: { auth },
      client: false,
    });
    const client = await connectClient(gateway.endpoints[0]!.url, { headers: bearer(KEY) });
    const statuses: number[] = [];
    let last: Response | undefined;
    for (let at = 0; at < 15; at++) {
      last = await fetch(`${url}/openapi.json`, {
        headers: bearer(`wrong-${at}-token-of-somebody`),
      });
      statuses.push(last.status);
    }
    expect(statuses).toEqual([...Array(10).fill(401), ...Array(5).fill(429)]);
    expect(asked).toBe(10);
    expect(Number(last!.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(((await last!.json()) as { error: { code: string } }).error.code).toBe("rate_limited");
    // MCP and WebSockets stand behind the same check; public pages and known clients do not notice.
    const mcp = await fetch(gateway.endpoints[0]!.url, {
      method: "POST",
      headers: bearer("wrong"),
    });
    expect(mcp.status).toBe(429);
    expect((await fetch(`${url}/docs`, { headers: bearer("wrong-token") })).status).toBe(200);
    await client.listTools();
    const page = await (await fetch(`${url}/metrics`, { headers: bearer(KEY) })).text();
    expect(page).toMatch(/auth_throttled_total\{by="address"\} 7/);
  });

  it("counts on through a reload", async () => {
    const config = { listeners: { main: { port: 0 } }, auth };
    const { url, gateway } = await setupGateway({ plugins: [openapi], config, client: false });
    const wrong = () => fetch(`${url}/openapi.json`, { headers: bearer("some-wrong-token") });
    for (let at = 0; at < 10; at++) expect((await wrong()).status).toBe(401);
    await gateway
      .apply({ ...config, plugins: { openapi: { document: { title: "x" } } } })
      .catch(() => {});
    expect((await wrong()).status).toBe(429);
  });

  it("lets any number through where it is told so", async () => {
    const { url } = await setupGateway({
      plugins: [openapi],
      config: { auth: { ...auth, maxFailures: 0 } },
      client: false,
    });
    for (let at = 0; at < 15; at++)
      expect((await fetch(`${url}/openapi.json`, { headers: bearer("wrong") })).status).toBe(401);
  });
});

describe("proxies in front", () => {
  const see = (proxies: readonly string[], remoteAddress: string, forwarded?: string) =>
    new TrustedProxies(proxies).see({
      ...from(remoteAddress),
      headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
    }).remoteAddress;

  it("are believed what they add, and clients nothing", () => {
    const chain = ["10.0.0.0/8", "::1"];
    expect(see(chain, "10.1.2.3", "203.0.113.7")).toBe("203.0.113.7");
    expect(see(chain, "::ffff:10.1.2.3", "203.0.113.7:4711")).toBe("203.0.113.7");
    expect(see(chain, "::1", '"[2001:db8::7]:4711"')).toBe("2001:db8::7");
    expect(see(chain, "10.1.2.3", "1.2.3.4, 203.0.113.7, 10.9.9.9")).toBe("203.0.113.7");
    expect(see(chain, "10.1.2.3", "203.0.113.7, unknown")).toBe("10.1.2.3");
    expect(see(chain, "10.1.2.3", "10.7.7.7")).toBe("10.7.7.7");
    expect(see(chain, "10.1.2.3")).toBe("10.1.2.3");
    expect(see(chain, "192.0.2.9", "203.0.113.7")).toBe("192.0.2.9");
  });

  it("never make a client one that no proxy saw", () => {
    const address = fc.ipV4();
    fc.assert(
      fc.property(fc.array(fc.oneof(address, fc.string())), address, (words, client) => {
        fc.pre(!client.startsWith("10."));
        expect(see(["10.0.0.0/8"], "10.0.0.1", [...words, client].join(", "))).toBe(client);
      }),
    );
  });

  it("share no bound of guesses among their clients", async () => {
    const wrong = async (url: string, forwarded: string): Promise<number> => {
      const authorization = `Bearer ${crypto.randomUUID()}`;
      const headers = { authorization, "x-forwarded-for": forwarded };
      return (await fetch(`${url}/mcp`, { method: "POST", body: "{}", headers })).status;
    };
    const auth = { apiKey: "the-key-of-this-gateway", maxFailures: 3 };
    const behind = await setupGateway({
      config: { auth: { ...auth, trustedProxies: ["127.0.0.1"] } },
      client: false,
    });
    for (let at = 0; at < 3; at++) expect(await wrong(behind.url, "203.0.113.7")).toBe(401);
    expect(await wrong(behind.url, "198.51.100.1, 203.0.113.7")).toBe(429);
    expect(await wrong(behind.url, "203.0.113.8")).toBe(401);
    const open = await setupGateway({ config: { auth }, client: false });
    for (let at = 0; at < 3; at++) expect(await wrong(open.url, `203.0.113.${at}`)).toBe(401);
    expect(await wrong(open.url, "203.0.113.99")).toBe(429);
  });

  it("are addresses and networks", () => {
    for (const entry of ["proxy.internal", "10.0.0.0/33", "*", ""])
      expect(configSchema.safeParse({ auth: { trustedProxies: [entry] } }).success).toBe(false);
  });
});
