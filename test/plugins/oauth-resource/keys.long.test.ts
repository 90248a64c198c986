import { describe, expect, it, vi } from "vitest";
import { FetchedValue } from "../../../core/kit/fetched-value.ts";
import { createIssuerKey, ScriptedIssuer, type Prank } from "../../fixtures/issuer.ts";
import { INSIDE } from "../../fixtures/inside.ts";
import { startClock } from "../../fixtures/clock.ts";
import { ask, setupRig } from "./kit.ts";

const MINUTE = 60_000;
const away: Prank = (req, res) => {
  if (req.url !== "/jwks") return false;
  res.destroy();
  return true;
};

describe("a key of an issuer", () => {
  it("is found after a rotation, and the old one ends", async () => {
    const passTime = startClock();
    const { issuer, endpoint, sign } = await setupRig();
    const [old, again] = [await sign(), await sign({ jti: "again" })];
    expect((await ask(endpoint, old)).status).toBe(200);
    await issuer.rotate("second");
    passTime(MINUTE / 2);
    expect((await ask(endpoint, await sign())).status).toBe(200);
    expect(issuer.visitsTo("/jwks")).toHaveLength(2);
    expect((await ask(endpoint, again)).status).toBe(401);
  });

  it("is changed under load without a call that fails, and is asked for once for each change", async () => {
    const passTime = startClock();
    const { issuer, endpoint, sign } = await setupRig();
    for (let round = 1; round <= 10; round++) {
      const former = issuer.keys[0]!;
      const old = { kid: former.kid, alg: former.alg };
      issuer.keys = [await createIssuerKey(`key-${round}`), former];
      passTime(31_000);
      const before = issuer.visitsTo("/jwks").length;
      const statuses = await Promise.all(
        Array.from({ length: 60 }, async (_, index) => {
          const claims = { jti: `${round}-${index}`, aud: endpoint };
          const token =
            index % 2 === 0
              ? await sign(claims)
              : await issuer.sign(claims, old, former.privateKey);
          return (await ask(endpoint, token)).status;
        }),
      );
      expect(new Set(statuses)).toEqual(new Set([200]));
      expect(issuer.visitsTo("/jwks").length - before).toBeLessThanOrEqual(2);
    }
  });

  it("that nobody knows is asked for once in 30 s", async () => {
    const passTime = startClock();
    const { issuer, endpoint, sign } = await setupRig();
    const stranger = await createIssuerKey("stranger");
    const forge = (kid: string) => issuer.sign({ aud: endpoint }, { kid }, stranger.privateKey);
    const statuses = async (from: number) =>
      Promise.all(
        Array.from({ length: 50 }, async (_, index) =>
          ask(endpoint, await forge(`${from + index}`)).then(({ status }) => status),
        ),
      );
    expect(new Set(await statuses(0))).toEqual(new Set([401]));
    expect(issuer.visitsTo("/jwks")).toHaveLength(1);
    passTime(31_000);
    expect(new Set(await statuses(100))).toEqual(new Set([401]));
    expect(issuer.visitsTo("/jwks")).toHaveLength(2);
    expect((await ask(endpoint, await sign())).status).toBe(200);
  });

  it("is used for ten minutes while the issuer is away, then the answer is 502 and never 401", async () => {
    const passTime = startClock();
    const { issuer, endpoint, sign } = await setupRig();
    issuer.lifetime = 3_600;
    const [known, fresh, late] = [await sign(), await sign({ n: 1 }), await sign({ n: 2 })];
    expect((await ask(endpoint, known)).status).toBe(200);
    issuer.prank = away;
    passTime(9 * MINUTE);
    expect((await ask(endpoint, fresh)).status).toBe(200);
    passTime(1.1 * MINUTE);
    for (const token of [known, fresh, late]) {
      const told = await ask(endpoint, token);
      expect([told.status, told.challenge, told.body.error.message]).toEqual([
        502,
        null,
        "The token cannot be checked at the moment.",
      ]);
    }
    issuer.prank = undefined;
    passTime(6_000);
    expect((await ask(endpoint, known)).status).toBe(200);
  });

  it("that may be new is not refused while the issuer is away", async () => {
    const passTime = startClock();
    const { issuer, endpoint, sign } = await setupRig();
    await issuer.rotate("second");
    issuer.prank = away;
    passTime(31_000);
    const token = await sign();
    const before = issuer.visitsTo("/jwks").length;
    for (const _ of [1, 2, 3]) expect((await ask(endpoint, token)).status).toBe(502);
    expect(issuer.visitsTo("/jwks")).toHaveLength(before + 1);
    issuer.prank = undefined;
    passTime(31_000);
    expect((await ask(endpoint, token)).status).toBe(200);
  });
});

describe("an issuer that does not answer as it should", () => {
  const PRANKS: Readonly<Record<string, Prank>> = {
    "is gone": (_req, res) => {
      res.destroy();
      return true;
    },
    "says nothing": () => true,
    "says little at a time": (_req, res) => {
      res.writeHead(200);
      const timer = setInterval(() => res.write(" "), 20);
      res.on("close", () => clearInterval(timer));
      return true;
    },
    "says too much": (_req, res) => {
      res.writeHead(200, { "content-type": "application/json" });
      const chunk = " ".repeat(65_536);
      const more = (): void => void (res.destroyed || (res.write(chunk), setImmediate(more)));
      more();
      return true;
    },
    "says it compressed": (_req, res) => {
      res.writeHead(200, { "content-encoding": "gzip" }).end("not gzip");
      return true;
    },
    "sends us elsewhere": (_req, res) => {
      res.writeHead(302, { location: "http://127.0.0.1:1/jwks" }).end();
      return true;
    },
    "says 500": (_req, res) => {
      res.writeHead(500).end("{}");
      return true;
    },
    "says no JSON": (_req, res) => {
      res.writeHead(200).end("<html>");
      return true;
    },
    "says it deep": (_req, res) => {
      res.writeHead(200).end("[".repeat(50_000));
      return true;
    },
    "has no key": (_req, res) => {
      res.writeHead(200).end('{"keys":[]}');
      return true;
    },
    "has keys with a shared secret only": (_req, res) => {
      res.writeHead(200).end('{"keys":[{"kty":"oct","k":"AAAA","kid":"first"}]}');
      return true;
    },
  };

  it.each(Object.entries(PRANKS))(
    "because it %s is no fault of the token",
    async (_what, prank) => {
      const issuer = await ScriptedIssuer.start();
      issuer.prank = prank;
      const { endpoint, sign } = await setupRig({
        issuer,
        isAsked: false,
        options: { timeout: "300ms" },
      });
      for (const _ of [1, 2, 3]) {
        const told = await ask(endpoint, await sign());
        expect([told.status, told.challenge]).toEqual([502, null]);
      }
      // The first metadata document, and nothing in a loop; one that answers wrongly has three.
      expect(issuer.visits.length).toBeLessThanOrEqual(2);
    },
  );

  it.each([
    ["another issuer", { issuer: "https://evil.example" }],
    ["an address inside", { jwks_uri: "http://127.0.0.2:1/jwks" }],
    ["an address inside, by https", { jwks_uri: "https://10.0.0.1/jwks" }],
    ["the machine's credentials", { jwks_uri: "http://169.254.169.254/latest" }],
    ["an address without TLS", { jwks_uri: "http://keys.example/jwks" }],
    ["a name that leads inside", { jwks_uri: "https://localhost:1/jwks" }],
    ["no address", { jwks_uri: "keys" }],
    ["a file", { jwks_uri: "file:///etc/passwd" }],
  ])("whose metadata name %s is not believed", async (_what, metadata) => {
    const issuer = await ScriptedIssuer.start();
    issuer.metadata = metadata;
    const { endpoint, sign } = await setupRig({ issuer, isAsked: false });
    expect((await ask(endpoint, await sign())).status).toBe(502);
  });

  it.each(INSIDE)("whose metadata name keys inside is asked for none: %s", async (inside) => {
    const issuer = await ScriptedIssuer.start();
    issuer.metadata = { jwks_uri: `${inside}/jwks` };
    const options = { timeout: "500ms" };
    const { endpoint, sign } = await setupRig({ issuer, isAsked: false, options });
    const told = await ask(endpoint, await sign());
    expect([told.status, told.challenge]).toEqual([502, null]);
    expect(issuer.visitsTo("/jwks")).toEqual([]);
  });

  it("may name an address that the operator allows, and keys that the config names need no metadata", async () => {
    const [issuer, keys] = [await ScriptedIssuer.start(), await ScriptedIssuer.start()];
    issuer.metadata = { jwks_uri: `${keys.origin}/jwks` };
    keys.keys = issuer.keys;
    const allowed = { allowedAddresses: ["127.0.0.1"] };
    const rig = await setupRig({ issuer, isAsked: false, options: allowed });
    expect((await ask(rig.endpoint, await rig.sign())).status).toBe(200);
    const issuers = { corp: { issuer: issuer.url, jwks: `${keys.origin}/jwks` } };
    const before = issuer.visits.length;
    const other = await setupRig({ issuer, isAsked: false, options: { issuers } });
    expect((await ask(other.endpoint, await other.sign())).status).toBe(200);
    expect(issuer.visits).toHaveLength(before);
  });

  it("with a path has its metadata at three places", async () => {
    const issuer = await ScriptedIssuer.start("/realms/a");
    const { endpoint, sign } = await setupRig({ issuer });
    expect((await ask(endpoint, await sign())).status).toBe(200);
    const [first] = issuer.visits;
    expect(first!.path).toBe("/.well-known/oauth-authorization-server/realms/a");
    const other = await ScriptedIssuer.start("/realms/a");
    other.prank = (req, res) => {
      if (req.url?.startsWith("/.well-known") !== true) return false;
      res.writeHead(404).end();
      return true;
    };
    const rig = await setupRig({ issuer: other, isAsked: false });
    expect((await ask(rig.endpoint, await rig.sign())).status).toBe(502);
    expect(other.visits.map(({ path }) => path)).toEqual([
      "/.well-known/oauth-authorization-server/realms/a",
      "/.well-known/openid-configuration/realms/a",
      "/realms/a/.well-known/openid-configuration",
    ]);
  });
});

describe("what is fetched", () => {
  it("is fetched once for all who wait", async () => {
    const fetch = vi.fn<() => Promise<number>>(async () => 7);
    const value = new FetchedValue(fetch);
    expect(await Promise.all([value.get(), value.get(), value.renew()])).toEqual([7, 7, 7]);
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it("is asked for again in the background after five minutes, and gone after ten", async () => {
    const passTime = startClock();
    let answer: number | Error = 1;
    const fetch = vi.fn<() => Promise<number>>(async () => {
      if (answer instanceof Error) throw answer;
      return answer;
    });
    const value = new FetchedValue(fetch);
    await value.get();
    answer = 2;
    passTime(5 * MINUTE);
    expect(await value.get()).toBe(1);
    await expect.poll(() => value.get()).toBe(2);
    answer = new Error("away");
    passTime(9.9 * MINUTE);
    expect(await value.get()).toBe(2);
    expect(value.usableUntil - Date.now()).toBeCloseTo(6_000, -3);
    passTime(6_000);
    // The first of them may still hear of the fetch before.
    for (const _ of [1, 2]) await expect(value.get()).rejects.toThrow("did not answer");
    const asked = fetch.mock.calls.length;
    for (const _ of [1, 2, 3]) await expect(value.get()).rejects.toThrow("did not answer");
    expect(fetch).toHaveBeenCalledTimes(asked);
    answer = 3;
    passTime(5_000);
    expect(await value.get()).toBe(3);
  });
});
