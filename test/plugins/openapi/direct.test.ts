import { definePlugin, GatewayError } from "propylon";
import { digestOf } from "propylon/kit";
import ratelimit from "propylon/plugins/ratelimit";
import { describe, expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { createSlow, EVERYTHING, post, refusal, startOpenapi, waitForCount } from "./support.ts";

/** A query sends a request through the router; without one the plain call goes around it. */
const ROUTER = "?";

describe("the way around the router", () => {
  it("answers as the router does, good and bad", async () => {
    const { url } = await startOpenapi({}, [createSlow().plugin], {
      servers: { everything: EVERYTHING },
    });
    const cases: [path: string, body: unknown, headers?: Record<string, string>][] = [
      ["/everything/echo", { message: "hello" }],
      ["/everything/echo", { message: 1 }],
      ["/everything/echo", ""],
      ["/everything/echo", "{"],
      ["/everything/echo", "[]"],
      ["/everything/echo", new Uint8Array([...Buffer.from('{"message":"'), 0xff, 0x22, 0x7d])],
      ["/everything/echo", `${"[".repeat(100)}${"]".repeat(100)}`],
      ["/everything/get-structured-content", { location: "Chicago" }],
      ["/slow/strict", { amount: 1 }],
      ["/slow/strict", {}],
      ["/slow/fail", {}],
      ["/slow/fail", {}, { accept: "application/problem+json" }],
      ["/slow/none", {}],
      ["/slow/strict", { amount: 1 }, { "content-type": "text/plain" }],
    ];
    for (const [path, body, headers] of cases) {
      const direct = await post(`${url}${path}`, body, headers);
      const routed = await post(`${url}${path}${ROUTER}`, body, headers);
      const facts = ({ status, body: answer, headers: head }: typeof direct) => ({
        status,
        answer,
        type: head.get("content-type"),
        cache: head.get("cache-control"),
        sniff: head.get("x-content-type-options"),
      });
      expect({ path, body, ...facts(direct) }).toEqual({ path, body, ...facts(routed) });
    }
    const large = { message: "x".repeat(5_000_000) };
    for (const query of ["", ROUTER])
      expect(await post(`${url}/everything/echo${query}`, large)).toMatchObject({
        status: 413,
        body: refusal("too_large"),
      });
  });

  it("M124: says with every answer what is left of the limits, as the router does, and without the plugin nothing", async () => {
    const { plugin } = createSlow();
    const rates = { caller: { per: "principal", rate: 1, interval: 3_600, burst: 3 } };
    const limited = await startOpenapi({}, [plugin, [ratelimit, { rates }]]);
    const seen: unknown[] = [];
    for (const query of ["", ROUTER, "", ROUTER]) {
      const { status, headers } = await post(`${limited.url}/slow/strict${query}`, { amount: 1 });
      seen.push([
        status,
        headers.get("ratelimit-policy"),
        headers.get("ratelimit")?.split(";t")[0],
      ]);
    }
    const policy = '"caller";q=3;w=10800';
    expect(seen).toEqual([
      [200, policy, '"caller";r=2'],
      [200, policy, '"caller";r=1'],
      [200, policy, '"caller";r=0'],
      [429, policy, '"caller";r=0'],
    ]);
    const free = await startOpenapi({}, [plugin]);
    for (const query of ["", ROUTER]) {
      const { headers } = await post(`${free.url}/slow/strict${query}`, { amount: 1 });
      expect([...headers.keys()].filter((name) => name.startsWith("ratelimit"))).toEqual([]);
    }
  });

  it("admits the same people, and nobody while the gateway shuts down", async () => {
    const roles = ["viewer", "caller", "operator", "admin", "service"] as const;
    const made = roles.map((role) => [role, createKey(role)] as const);
    const keys = Object.fromEntries(
      made.map(([role, key]) => [role, { role, hash: `sha256:${digestOf(key)}` }]),
    );
    const { gateway, url } = await startOpenapi({}, [createSlow().plugin], { auth: { keys } });
    const ask = async (key: string | undefined, query: string) => {
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
      const { status, body } = await post(`${url}/slow/strict${query}`, { amount: 1 }, headers);
      return [status, body.ok ? "ok" : body.error.code];
    };
    // Those who may only look, and services, which have routes of their own.
    const isRefused = (role: string) => role === "viewer" || role === "service";
    for (const query of ["", ROUTER]) {
      expect(await ask(undefined, query)).toEqual([401, "unauthorized"]);
      expect(await ask("wrong", query)).toEqual([401, "unauthorized"]);
      for (const [role, key] of made)
        expect([role, await ask(key, query)]).toEqual([
          role,
          isRefused(role) ? [403, "forbidden"] : [200, "ok"],
        ]);
    }
    gateway.drain();
    for (const query of ["", ROUTER])
      expect(await ask(made[3]![1], query)).toEqual([503, "draining"]);
  });

  it("takes no request that another plugin's route is for", async () => {
    const other = definePlugin({
      name: "other",
      setup(gateway) {
        const options = { access: "caller", mutates: false } as const;
        gateway.route("POST", "/slow/strict", options, () => ({ ok: true, result: "mine" }));
      },
    });
    const { url } = await startOpenapi({}, [createSlow().plugin, other]);
    expect((await post(`${url}/slow/strict`, { amount: 1 })).body.result).toBe("mine");
  });

  it("cancels the call of a client that goes away", async () => {
    const { plugin, calls } = createSlow();
    const { url } = await startOpenapi({}, [plugin]);
    const abort = new AbortController();
    const headers = { "content-type": "application/json" };
    const gone = fetch(`${url}/slow/wait`, { method: "POST", headers, signal: abort.signal });
    await waitForCount(calls, 1);
    abort.abort();
    await expect(gone).rejects.toThrow("aborted");
    await expect.poll(() => calls[0]).toMatchObject({ reason: { code: "cancelled" } });
  });

  it("tells a client that is there when somebody else cancelled its call", async () => {
    const withdrawn = definePlugin({
      name: "withdrawn",
      setup(gateway) {
        gateway.tool("never", { description: "Never runs.", run: () => "ran" });
        gateway.use("gate", () => {
          throw new GatewayError("cancelled", "An operator withdrew it.");
        });
      },
    });
    const { url } = await startOpenapi({}, [withdrawn]);
    for (const query of ["", ROUTER])
      expect(await post(`${url}/withdrawn/never${query}`)).toMatchObject({
        status: 499,
        body: refusal("cancelled"),
      });
  });
});
