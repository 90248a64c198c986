import { createHash } from "node:crypto";
import fc from "fast-check";
import { digestOf } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { createKeyring } from "../../../plugins/keys/keyring.ts";
import { createKey, isMistyped } from "../../../plugins/keys/key.ts";
import {
  bearerOf,
  CONNECTION,
  readBasic,
  readBearer,
  readUnprovenClaims,
} from "../../../core/http/authorization.ts";
import { configSchema, type Role } from "../../../core/index.ts";
import { rounds } from "../../fixtures/ci.ts";
import { until } from "../../kit/until.ts";

const ROLES: readonly Role[] = ["viewer", "caller", "operator", "admin", "service"];
const keyring = (auth: object) => {
  const holderOf = createKeyring(configSchema.parse({ auth }).auth);
  return (key: string) => holderOf(digestOf(key));
};

describe("a key", () => {
  it("says for people and scanners what it is, and never comes twice", () => {
    const keys = ROLES.flatMap((role) => Array.from({ length: 200 }, () => createKey(role)));
    for (const key of keys) {
      expect(key).toMatch(/^ppl_[vcoas]_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
      expect(isMistyped(key)).toBe(false);
    }
    expect(new Set(keys).size).toBe(1_000);
  });

  it("shows any one wrong, missing or swapped character by itself", () => {
    const key = createKey("admin");
    const others = fc.constantFrom("0", "a", "Z", "_", "-", ".");
    fc.assert(
      fc.property(fc.integer({ min: 4, max: key.length - 2 }), others, (at, other) => {
        const [before, here, next, after] = [
          key.slice(0, at),
          key.charAt(at),
          key.charAt(at + 1),
          key.slice(at + 2),
        ];
        const damaged = [
          before + other + next + after,
          before + next + after,
          before + next + here + after,
        ];
        return damaged.filter((text) => text !== key).every(isMistyped);
      }),
      { numRuns: rounds(1_000) },
    );
    const foreign = ["", "secret", "a.b.c", "a-key-of-16-chars!"];
    expect(foreign.filter(isMistyped)).toEqual([]);
  });

  it("M122: is found by its hash alone, with the role that stands beside it in the config", () => {
    const key = createKey("viewer");
    const hash = `sha256:${createHash("sha256").update(key).digest("hex")}`;
    expect(`sha256:${digestOf(key)}`).toBe(hash);
    const find = keyring({
      keys: { ci: { role: "operator", hash } },
      apiKey: "a-key-of-16-chars!",
    });
    expect(find(key)).toEqual({
      id: "ci",
      kind: "key",
      ref: "key:ci",
      roles: new Set(["operator"]),
    });
    expect(find("a-key-of-16-chars!")).toMatchObject({ id: "api-key", roles: new Set(ROLES) });
    expect(find(hash)).toBeUndefined();
    expect(find(hash.slice(7))).toBeUndefined();
    expect(find("")).toBeUndefined();
  });

  it("belongs to one name", () => {
    const entry = { role: "viewer", hash: `sha256:${"0".repeat(64)}` };
    expect(() => keyring({ keys: { one: entry, two: entry } })).toThrow(
      'auth.keys: "one" and "two" have the same hash.',
    );
    const apiKey = "a-key-of-16-chars!";
    const same = { role: "viewer", hash: `sha256:${digestOf(apiKey)}` };
    expect(() => keyring({ apiKey, keys: { one: entry, two: same } })).toThrow(
      'auth.keys: "two" has the hash of auth.apiKey.',
    );
  });
});

it("an Authorization header carries a token as Bearer, or as the password of Basic as mcpo takes it", () => {
  const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString("base64")}`;
  expect(readBearer("Bearer abc")).toEqual({ token: "abc", basic: false });
  expect(readBearer("bearer   abc ")).toEqual({ token: "abc", basic: false });
  expect(readBearer(basic("anyone:abc"))).toEqual({ token: "abc", basic: true });
  expect(readBearer(basic(":a:b"))).toEqual({ token: "a:b", basic: true });
  for (const wrong of ["", "abc", "Bearer", "Bearer ", "Bearer a b", "Token abc", basic("abc")])
    expect(readBearer(wrong), `"${wrong}"`).toBeUndefined();
});

it("what a request brings is read once, and never for another one", () => {
  const headers = { authorization: "Bearer abc" };
  const first = bearerOf({ headers });
  expect(first).toMatchObject({ token: "abc", basic: false, digest: digestOf("abc") });
  expect(bearerOf({ headers })).toBe(first);
  expect(bearerOf({ headers: { ...headers } })).not.toBe(first);
  expect(bearerOf({ headers: { authorization: "Bearer xyz" } })?.digest).toBe(digestOf("xyz"));
  expect(bearerOf({ headers: {} })).toBeUndefined();
  headers.authorization = "Bearer def";
  expect(bearerOf({ headers })?.token).toBe("def");
  headers.authorization = "Token def";
  for (const _ of [1, 2]) expect(bearerOf({ headers })).toBeUndefined();
});

it("what a connection brings is read once, as long as it brings the same", () => {
  const [socket, other] = [{}, {}];
  const bring = (connection: object, authorization: string): ReturnType<typeof bearerOf> =>
    bearerOf({ headers: { authorization }, [CONNECTION]: connection });
  const first = bring(socket, "Bearer abc");
  expect(bring(socket, "Bearer abc")).toBe(first);
  expect(bring(other, "Bearer abc")).not.toBe(first);
  expect(bring(socket, "Bearer xyz")?.token).toBe("xyz");
  expect(bring(socket, "Bearer abc")).not.toBe(first);
  expect(bring(socket, "Token abc")).toBeUndefined();
  expect(bring(socket, "Bearer abc")?.digest).toBe(digestOf("abc"));
});

it("what a connection brought is forgotten a moment later, however often it came meanwhile", async () => {
  const credentials = { headers: { authorization: "Bearer abc" }, [CONNECTION]: {} };
  const first = bearerOf(credentials);
  await until(() => bearerOf(credentials) !== first);
  expect(bearerOf(credentials)?.token).toBe("abc");
});

describe("the unproven claims of a token", () => {
  const encode = (text: string): string => Buffer.from(text).toString("base64url");

  it("are those of its middle part", () => {
    const claims = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(claims, (each) => {
        const read = readUnprovenClaims(`e30.${encode(JSON.stringify(each))}.c2ln`);
        expect(JSON.stringify(read)).toBe(JSON.stringify(each));
      }),
    );
  });

  it("are none of another form", () => {
    const json = encode("{}");
    const others = ["", "a", json, `e30.${json}`, `e30.${json}.a.b.c`, "a.b.c", "..", `..${json}`];
    for (const text of [
      ...others,
      ...["[]", "null", "1", '"a"', "{"].map((t) => `a.${encode(t)}.b`),
    ])
      expect(readUnprovenClaims(text), `"${text}"`).toBeUndefined();
  });
});

describe("a name and a password in Basic", () => {
  const encode = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

  it("are what was sent, with any characters but a colon in the name", () => {
    const name = fc.string({ unit: "grapheme" }).filter((text) => !text.includes(":"));
    fc.assert(
      fc.property(name, fc.string({ unit: "grapheme" }), (user, password) => {
        expect(readBasic(encode(`${user}:${password}`))).toEqual({ name: user, password });
        const bearer = { token: password, basic: true };
        expect(readBearer(encode(`${user}:${password}`))).toEqual(bearer);
      }),
    );
  });

  it.each([
    "",
    "Basic",
    "Basic ",
    "Basic !!!",
    "Basic a b",
    "Bearer YTpi",
    "Basic YWI=",
    "Basic YTpi===",
  ])("are not in %j", (text) => expect(readBasic(text)).toBeUndefined());
});
