import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { optionsSchema } from "../../../plugins/sidecar/options.ts";
import { isOlder } from "../../../plugins/nats/link/link.ts";
import { settle } from "../../../plugins/sidecar/settings.ts";
import { tokenOf } from "../../../plugins/sidecar/message/subjects.ts";
import { keyOf } from "../../../plugins/sidecar/message/task.ts";

describe("tokenOf", () => {
  it("makes one token of any id", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "binary", maxLength: 150 }), (id) => {
        expect(tokenOf(id)).toMatch(/^[A-Za-z0-9_~-]{1,200}$/);
      }),
    );
  });

  it("never makes the same of two", () => {
    const id = fc.oneof(
      fc.string({ minLength: 1, unit: "grapheme" }),
      fc.string({ minLength: 1 }).map((text) => `~${Buffer.from(text).toString("base64url")}`),
    );
    fc.assert(
      fc.property(id, id, (left, right) => {
        expect(tokenOf(left) === tokenOf(right)).toBe(left === right);
        expect(tokenOf(tokenOf(left)) === tokenOf(left)).toBe(tokenOf(left) === left);
      }),
    );
  });

  it("tells messages of one task apart, and their executions not", () => {
    const name = { id: "t", owner: undefined };
    expect(keyOf("result", name, "m1")).not.toBe(keyOf("result", name, "m2"));
    expect(keyOf("result", name, "m1")).toBe(keyOf("result", name, "m1"));
    const owned = { id: "t", owner: "key:alice" };
    expect(keyOf("result", owned, "m1")).not.toBe(keyOf("result", name, "m1"));
  });
});

it.each([
  ["2.9.10", true],
  ["2.10.22", true],
  ["2.10.23", false],
  ["2.10.23-RC.1", false],
  ["2.12.1", false],
  ["3.0.0", false],
])("knows whether nats-server %s is below the floor: %s", (version, older) => {
  expect(isOlder(version)).toBe(older);
});

describe("settle", () => {
  const of = (options: object, env: Record<string, string> = {}) =>
    settle(optionsSchema.parse(options), env, "/config");

  it("R046, R050, R051: has the contract's defaults", () => {
    const { name, grace, runtime, nats, concurrency } = of({});
    expect({ name, grace, nats, concurrency, url: runtime.url, startup: runtime.startup }).toEqual({
      name: "agent",
      grace: 30_000,
      nats: undefined,
      concurrency: 1,
      url: "http://localhost:8080",
      startup: 60_000,
    });
  });

  it("R006, R007: takes everything from the environment, and the config's word before it", () => {
    const env = {
      AGENT_NAME: "coder",
      A2A_PORT: "9000",
      NATS_URL: "nats://a:4222, nats://b:4222",
      NATS_CREDS: "nats.creds",
      STARTUP_TIMEOUT: "5",
      TERMINATION_GRACE_PERIOD: "2m",
    };
    const settings = of({ grace: "1s" }, env);
    expect(settings.name).toBe("coder");
    expect(settings.runtime).toMatchObject({ url: "http://localhost:9000", startup: 5_000 });
    expect(settings.grace).toBe(1_000);
    expect(settings.nats?.servers).toEqual(["nats://a:4222", "nats://b:4222"]);
    expect(settings.nats?.identity.credentials).toBe("/config/nats.creds");
  });

  it.each([
    ["AGENT_NAME", "a.b"],
    ["A2A_PORT", "http"],
    ["STARTUP_TIMEOUT", "soon"],
    ["TERMINATION_GRACE_PERIOD", "-1"],
  ])("says which variable cannot be read: %s=%s", (variable, value) => {
    expect(() => of({}, { [variable]: value })).toThrow(`The variable ${variable} must be`);
  });
});
