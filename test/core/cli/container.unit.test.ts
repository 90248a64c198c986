import { describe, expect, it } from "vitest";
import { withContainer } from "../../../core/file/container.ts";

const A2A = { plugins: { a2a: { skills: [] } } };

describe("what the container says", () => {
  it("R050: TERMINATION_GRACE_PERIOD is the grace period, unless the config has one", () => {
    const grace = (value: object, written: string): unknown =>
      withContainer({ ...value }, { TERMINATION_GRACE_PERIOD: written });
    expect(grace({}, "45s")).toEqual({ timeouts: { grace: "45000ms" } });
    expect(grace({ timeouts: { drain: 1 } }, " 20 ")).toEqual({
      timeouts: { drain: 1, grace: "20000ms" },
    });
    expect(grace({ timeouts: { grace: "5s" } }, "45s")).toEqual({ timeouts: { grace: "5s" } });
    expect(grace({ timeouts: "wrong" }, "45s")).toEqual({ timeouts: "wrong" });
  });

  it("R012, R045, R047: A2A_PORT is the port of a gateway that serves A2A and names no listener", () => {
    const port = (value: Record<string, unknown>, written = "9000"): unknown =>
      withContainer(value, { A2A_PORT: written });
    const listeners = { main: { port: 9000 } };
    expect(port(A2A)).toEqual({ ...A2A, listeners });
    expect(port({ plugins: { a2a: null } })).toEqual({ plugins: { a2a: null }, listeners });
    const own = { ...A2A, listeners: { main: { port: 1 } } };
    for (const value of [own, {}, { plugins: { a2a: false } }, { plugins: { openapi: {} } }])
      expect(port(value)).toEqual(value);
  });

  it("R045: the address that the plugin says is that of the gateway, so that nothing listens elsewhere", () => {
    const value = { plugins: { a2a: { listener: { host: "0.0.0.0" } } } };
    const listeners = (environment: NodeJS.ProcessEnv): unknown =>
      withContainer(value, environment)["listeners"];
    expect(listeners({})).toEqual({ main: { host: "0.0.0.0" } });
    expect(listeners({ A2A_PORT: "9000" })).toEqual({ main: { host: "0.0.0.0", port: 9000 } });
    const own = (port: unknown): unknown =>
      withContainer({ plugins: { a2a: { listener: { port } } } }, {})["listeners"];
    // The text of a variable; what is none is for the schema to say.
    expect(own("9000")).toEqual({ main: { port: 9000 } });
    expect(own("http")).toEqual({ main: { port: "http" } });
    const named = { plugins: { a2a: { listener: "main" } } };
    expect(withContainer(named, { A2A_PORT: "9000" })).toEqual({
      ...named,
      listeners: { main: { port: 9000 } },
    });
  });

  it("C55: what is unset or empty changes nothing", () => {
    expect(withContainer(A2A, {})).toEqual(A2A);
    expect(withContainer(A2A, { A2A_PORT: "", TERMINATION_GRACE_PERIOD: " " })).toEqual(A2A);
  });

  it.each([
    ["TERMINATION_GRACE_PERIOD", "soon"],
    ["TERMINATION_GRACE_PERIOD", "-1s"],
    ["A2A_PORT", "http"],
    ["A2A_PORT", "65536"],
  ])("%s=%s is an error with a next step", (name, word) => {
    expect(() => withContainer(A2A, { [name]: word })).toThrow(
      expect.objectContaining({
        code: "invalid",
        message: expect.stringContaining(name) as string,
        hint: "Correct or unset it.",
      }),
    );
  });
});
