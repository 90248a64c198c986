import fc from "fast-check";
import { Fernet } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { keyOf, sealWith } from "../../../core/kit/fernet.ts";
import vectors from "./fernet-vectors.json" with { type: "json" };

const SECRET = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=";
const text = fc.string({ unit: "grapheme", maxLength: 200 });
const secret = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString("base64url"));

describe("T051, T172: the vectors of the Fernet specification", () => {
  it.each(vectors.generate)("seals $src", ({ secret: key, src, now, iv, token }) => {
    expect(sealWith(keyOf(key), src, Date.parse(now), Buffer.from(iv))).toBe(token);
  });

  it.each(vectors.verify)("opens $src", ({ secret: key, src, now, ttl_sec, token }) => {
    const times = { now: Date.parse(now), ttl: ttl_sec * 1_000 };
    expect(new Fernet([key]).open(token, times)).toBe(src);
  });

  it.each(vectors.invalid)("refuses: $desc", ({ secret: key, now, ttl_sec, token }) => {
    const times = { now: Date.parse(now), ttl: ttl_sec * 1_000 };
    expect(() => new Fernet([key]).open(token, times)).toThrow(/cannot be opened/);
  });
});

it("opens what it sealed, never twice in the same form", () => {
  fc.assert(
    fc.property(text, secret, (plain, key) => {
      const fernet = new Fernet([key]);
      const sealed = fernet.seal(plain);
      expect(fernet.open(sealed)).toBe(plain);
      expect(fernet.open(sealed.replace(/=+$/, ""))).toBe(plain);
      expect(fernet.seal(plain)).not.toBe(sealed);
      expect(sealed).toMatch(/^gAAAAA[\w-]+={0,2}$/);
    }),
  );
});

it("opens with every key and seals with the first, so that a key can be replaced", () => {
  fc.assert(
    fc.property(text, fc.uniqueArray(secret, { minLength: 2, maxLength: 4 }), (plain, keys) => {
      const former = keys.at(-1)!;
      const sealed = new Fernet([former]).seal(plain);
      const now = new Fernet(keys);
      expect(now.open(sealed)).toBe(plain);
      expect(now.isCurrent(sealed)).toBe(false);
      const again = now.seal(plain);
      expect(now.isCurrent(again)).toBe(true);
      expect(new Fernet([keys[0]!]).open(again)).toBe(plain);
      expect(() => new Fernet([former]).open(again)).toThrow(/another key/);
    }),
  );
});

it("refuses every token of which one bit changed, and every text that is not a token", () => {
  const fernet = new Fernet([SECRET]);
  const bytes = Buffer.from(fernet.seal("a JWT"), "base64url");
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const other = Buffer.from(bytes);
    other[bit >> 3]! ^= 1 << (bit & 7);
    expect(() => fernet.open(other.toString("base64url"))).toThrow(/cannot be opened/);
  }
  fc.assert(
    fc.property(fc.string({ maxLength: 400 }), (other) => {
      expect(() => fernet.open(other)).toThrow(/cannot be opened/);
      expect(fernet.isCurrent(other)).toBe(false);
    }),
  );
});

it("takes one form of a token only, so that a list of tokens cannot be passed by writing one differently", () => {
  const fernet = new Fernet([SECRET]);
  const sealed = fernet.seal("a JWT");
  const others = [` ${sealed}`, `${sealed}\n`, `${sealed}===`, sealed.replace(/^(.{9})/, "$1*")];
  for (const other of others) expect(() => fernet.open(other)).toThrow(/cannot be opened/);
});

it("looks at the time only where it is asked to: what is at rest does not grow too old", () => {
  const fernet = new Fernet([SECRET]);
  const sealed = fernet.seal("a JWT");
  const at = (now: number) => fernet.open(sealed, { ttl: 10_000, now: Date.now() + now });
  expect(at(9_000)).toBe("a JWT");
  expect(() => at(12_000)).toThrow(/older/);
  expect(at(-58_000)).toBe("a JWT");
  expect(() => at(-63_000)).toThrow(/future/);
  expect(fernet.open(sealed, { now: Date.now() + 1e13 })).toBe("a JWT");
});

it("takes any long text as key, as its SHA-256, and no short one", () => {
  const words = "django-insecure-".repeat(3);
  const derived = "4P-ZluZSd0-K9pk_liI8vDxnxdA3JWxVD3xCUHyxZCQ=";
  expect(new Fernet([words]).open(new Fernet([words]).seal("x"))).toBe("x");
  expect(new Fernet([derived]).open(new Fernet([words]).seal("x"))).toBe("x");
  expect(() => new Fernet(["short"])).toThrow(expect.objectContaining({ code: "invalid" }));
  expect(() => new Fernet([])).toThrow(expect.objectContaining({ code: "invalid" }));
});

it("never has a key or a text in an error", () => {
  const wrong = [
    () => new Fernet(["short secret"]),
    () => new Fernet([SECRET]).open("a wrong token"),
  ];
  for (const each of wrong) {
    const error = catchOf(each);
    expect(JSON.stringify([error.message, error])).not.toMatch(/short secret|a wrong token|cw_0x/);
  }
});

function catchOf(run: () => unknown): Error {
  try {
    run();
  } catch (error) {
    return error as Error;
  }
  throw new Error("it did not fail");
}
