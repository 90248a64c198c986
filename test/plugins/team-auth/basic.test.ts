import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BasicLogin } from "../../../plugins/team-auth/bearer/basic.ts";
import { Guesses } from "../../../plugins/team-auth/bearer/guesses.ts";
import type { AccountLogin } from "../../../plugins/team-auth/bearer/snapshot.ts";
import { hashPassword } from "../../../plugins/team-auth/directory/service-accounts.ts";

const PASSWORD = "correct horse battery: staple";
const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;

interface Setup {
  readonly login: BasicLogin;
  readonly accounts: Map<string, AccountLogin>;
  readonly refusals: () => number;
  readonly ask: (authorization: string | undefined, remoteAddress?: string) => Promise<unknown>;
}

async function setup(guesses = new Guesses()): Promise<Setup> {
  const account = { name: "console", password: await hashPassword(PASSWORD), active: 1 };
  const accounts = new Map<string, AccountLogin>([["console", account]]);
  let refusals = 0;
  const login = new BasicLogin({
    accountOf: (name) => accounts.get(name),
    guesses,
    refused: () => void refusals++,
  });
  return {
    login,
    accounts,
    refusals: () => refusals,
    ask: async (authorization, remoteAddress = "10.0.0.1") =>
      login.authenticate({ method: "GET", path: "/", headers: { authorization }, remoteAddress }),
  };
}

describe("T103: a service account", () => {
  it("is known by name and password, which may hold colons and any character", async () => {
    const { ask, accounts } = await setup();
    const password = "pässwörter: 日本語 0123";
    accounts.set("other", { name: "other", password: await hashPassword(password), active: 1 });
    expect(await ask(basic("console", PASSWORD))).toEqual({
      id: "console",
      kind: "service",
      roles: new Set(["service"]),
    });
    expect(await ask(basic("other", password))).toMatchObject({ id: "other" });
  });

  it("leaves what is not its own to others", async () => {
    const { ask, refusals } = await setup();
    const others = [
      undefined,
      "Bearer x",
      "Basic ",
      "Basic ???",
      basic("ada", PASSWORD),
      "Basic Og==",
    ];
    for (const other of others) expect(await ask(other)).toBeUndefined();
    await fc.assert(
      fc.asyncProperty(fc.string(), async (text) => {
        expect(await ask(text)).toBeUndefined();
        expect(await ask(basic("", text))).toBeUndefined();
      }),
    );
    expect(refusals()).toBe(0);
  });

  it("is refused for a wrong password, and counted", async () => {
    const { ask, refusals } = await setup();
    for (const wrong of ["", PASSWORD.slice(1), `${PASSWORD} `, "x".repeat(4_000)])
      await expect(ask(basic("console", wrong))).rejects.toMatchObject({ code: "unauthorized" });
    expect(refusals()).toBe(4);
  });

  it("counts from the next request on with a new password, and not when it is switched off", async () => {
    const { ask, accounts } = await setup();
    await ask(basic("console", PASSWORD));
    const account = accounts.get("console")!;
    accounts.set("console", { ...account, active: 0 });
    await expect(ask(basic("console", PASSWORD))).rejects.toMatchObject({ code: "unauthorized" });
    accounts.set("console", { ...account, password: await hashPassword("another password") });
    await expect(ask(basic("console", PASSWORD))).rejects.toMatchObject({ code: "unauthorized" });
    expect(await ask(basic("console", "another password"))).toMatchObject({ id: "console" });
  });
});

describe("guessing at a service account", () => {
  it("is stopped after ten wrong passwords of an address, and does not stop the account itself", async () => {
    let now = 0;
    const { ask } = await setup(new Guesses({ now: () => now }));
    await ask(basic("console", PASSWORD), "10.0.0.1");
    for (let guess = 0; guess < 10; guess++)
      await expect(ask(basic("console", `guess ${guess}`))).rejects.toMatchObject({
        code: "unauthorized",
      });
    await expect(ask(basic("console", "guess 10"))).rejects.toMatchObject({
      code: "rate_limited",
      headers: { "retry-after": "60" },
    });
    // Known pairs are not hashed, so they need not be slowed down.
    expect(await ask(basic("console", PASSWORD), "10.0.0.1")).toMatchObject({ id: "console" });
    await expect(ask(basic("console", "guess"), "10.0.0.2")).rejects.toMatchObject({
      code: "unauthorized",
    });
    now = 61_000;
    await expect(ask(basic("console", "guess"))).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("attacks S3-5: is held up for a name that no account has as for one that is there", async () => {
    const { ask } = await setup();
    const outcomes = async (name: string): Promise<unknown[]> => {
      const all: unknown[] = [];
      for (let guess = 0; guess < 12; guess++)
        all.push(
          await ask(basic(name, `guess ${guess}`)).then(
            () => "unauthorized",
            (error: { code: string }) => error.code,
          ),
        );
      return all;
    };
    const there = await outcomes("console");
    expect(there.slice(9)).toEqual(["unauthorized", "rate_limited", "rate_limited"]);
    expect(await outcomes("nobody")).toEqual(there);
  });

  it("counts one wrong pair once: clients of another authenticator send theirs with every request", async () => {
    const { ask } = await setup();
    for (let request = 0; request < 30; request++) {
      expect(await ask(basic("partner", "known to another plugin"))).toBeUndefined();
      await expect(ask(basic("console", "old password"))).rejects.toMatchObject({
        code: "unauthorized",
      });
    }
    await expect(ask(basic("console", "guess"))).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("hashes a few passwords at a time and sends the rest away at once", async () => {
    const { ask } = await setup();
    const asked = Array.from({ length: 60 }, (_, each) =>
      ask(basic("console", `wrong ${each}`), `10.0.1.${each}`).catch(
        (error: { code: string }) => error.code,
      ),
    );
    const codes = await Promise.all(asked);
    expect(codes.filter((code) => code === "unauthorized")).toHaveLength(18);
    expect(codes.filter((code) => code === "rate_limited")).toHaveLength(42);
    expect(await ask(basic("console", PASSWORD))).toMatchObject({ id: "console" });
  });

  it("lets a client that starts send many requests at once: they wait for one hash", async () => {
    const { ask } = await setup();
    const asked = Array.from({ length: 200 }, () => ask(basic("console", PASSWORD)));
    expect(new Set((await Promise.all(asked)).map((each) => (each as { id: string }).id))).toEqual(
      new Set(["console"]),
    );
  });

  it("forgets nobody who still fails, and keeps a bounded number of addresses", () => {
    const guesses = new Guesses({ now: () => 0 });
    for (let guess = 0; guess < 10; guess++) guesses.fail("10.0.0.1");
    for (let other = 0; other < 9_999; other++) guesses.fail(`10.1.${other >> 8}.${other & 255}`);
    expect(() => guesses.check("10.0.0.1")).toThrow(/Too many/);
    guesses.fail("10.2.0.0");
    expect(() => guesses.check("10.0.0.1")).not.toThrow();
  });
});
