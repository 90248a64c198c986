import { afterEach, describe, expect, it, vi } from "vitest";
import { applyFlags } from "../../../core/cli/flags.ts";

afterEach(() => vi.unstubAllEnvs());

describe("flags", () => {
  it("M007: set the default and the longest tool timeout, and load the gating plugin for it", () => {
    const flags = { toolTimeout: "5s", toolTimeoutMax: "1m" };
    const timeouts = { default: "5s", max: "1m" };
    for (const gating of [undefined, null, true, { timeouts: { default: 9 } }])
      expect(applyFlags({ plugins: { gating, other: {} } }, flags)).toEqual({
        plugins: { gating: { timeouts }, other: {} },
      });
    expect(applyFlags({}, { toolTimeout: "5s" })).toEqual({
      plugins: { gating: { timeouts: { default: "5s" } } },
    });
    expect(
      applyFlags(
        { plugins: { gating: { state: "x", timeouts: { max: 3 } } } },
        { toolTimeout: "2" },
      ),
    ).toEqual({ plugins: { gating: { state: "x", timeouts: { default: "2", max: 3 } } } });
  });

  it.each(["__proto__", "constructor", "toString"])(
    "a plugin %s is refused, since there is none",
    (name) => {
      expect(() => applyFlags({ plugins: { health: {} } }, { plugin: [name] })).toThrow(
        expect.objectContaining({ code: "invalid", message: `There is no plugin "${name}".` }),
      );
    },
  );

  it("M007: a tool timeout without the gating plugin is an error with a next step", () => {
    expect(() => applyFlags({ plugins: { gating: false } }, { toolTimeoutMax: "1m" })).toThrow(
      expect.objectContaining({
        code: "invalid",
        message: expect.stringContaining("need the plugin gating") as string,
        hint: expect.any(String) as string,
      }),
    );
  });

  it("M147: unsafe commands are allowed by an explicit flag only, and only where there is an admin plugin", () => {
    const config = { plugins: { admin: { clone: true } } };
    expect(applyFlags(config, {})).toEqual(config);
    expect(applyFlags(config, { allowUnsafeCommands: true })).toEqual({
      plugins: { admin: { clone: true, allowUnsafeCommands: true } },
    });
    for (const plugins of [undefined, {}, { admin: false }])
      expect(() => applyFlags({ plugins }, { allowUnsafeCommands: true })).toThrow(
        "needs the plugin admin",
      );
  });

  it.each(["MCPO_READ_ONLY", "MCPQ_READ_ONLY", "GATEWAY_READ_ONLY"])(
    "M126: %s means read-only; a word nobody knows is an error and not a no",
    (name) => {
      const readOnly = { management: { readOnly: true } };
      for (const word of ["1", "true", "YES", " yes "]) {
        vi.stubEnv(name, word);
        expect(applyFlags({ management: { readOnly: false } }, {})).toEqual(readOnly);
      }
      for (const word of ["", "0", "false", "No"]) {
        vi.stubEnv(name, word);
        expect(applyFlags({}, {})).toEqual({});
      }
      vi.stubEnv(name, "on");
      expect(() => applyFlags({}, {})).toThrow(`${name} must be`);
    },
  );
});
