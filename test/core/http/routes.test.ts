import { connect } from "node:net";
import fc from "fast-check";
import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  definePlugin,
  GatewayError,
  type PluginContext,
  type RouteOptions,
} from "../../../core/index.ts";
import { Authenticators } from "propylon/kit";
import { setupGateway } from "../../../core/testing/index.ts";

const KEY = "a-key-of-16-chars!";
const read = { access: "principal", mutates: false } as const;

const web = definePlugin({
  name: "web",
  setup(gateway: PluginContext<undefined, {}>) {
    gateway.route("GET", "/open", { ...read, access: "public" }, (event) => ({
      who: event.context.principal.id,
    }));
    gateway.route("GET", "/mine/:id", read, (event) => ({
      who: event.context.principal.id,
      id: event.context.params!["id"],
    }));
    gateway.route(
      "POST",
      "/mine/:id",
      { access: "admin", mutates: true, bodyLimit: 10 },
      async (event) => ({ length: (await event.req.text()).length }),
    );
    gateway.route("GET", "/metrics", { ...read, access: "service" }, () => "m");
    gateway.route("GET", "/secret", { ...read, access: "admin" }, () => "s");
    gateway.route("GET", "/files/**", read, () => "f");
    gateway.route("GET", "/fails", { ...read, access: "public" }, () => {
      throw new Error("password is hunter2");
    });
    gateway.route("GET", "/gone", { ...read, access: "public" }, () => {
      throw new GatewayError("not_found", "No such thing.", {
        data: { id: 7 },
        headers: { "retry-after": "3" },
      });
    });
  },
});

/** Roles by token, as a plugin might resolve them. */
const auth = definePlugin({
  name: "auth",
  setup: (gateway) =>
    gateway.add(Authenticators, {
      name: "roles",
      authenticate: async ({ headers }) => {
        const token = headers["authorization"];
        if (token === undefined) return undefined;
        if (token === "Bearer wrong") throw new GatewayError("unauthorized", "Wrong token.");
        const role = String(token).slice(7) as "admin";
        return { id: role, kind: "user" as const, roles: new Set([role]) };
      },
      challenge: (path) => `Bearer resource_metadata="${path}"`,
      admits: ({ roles }, access) => access === "principal" || roles.has(access as "admin"),
    }),
});

const json = async (response: Response): Promise<unknown> => [
  response.status,
  await response.json(),
];
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

describe("a route", () => {
  it("sends each of its cookies, made by hand and by the event", async () => {
    const cookies = ["a=1; Path=/", "b=; Max-Age=0", "c=3"];
    const baker = definePlugin({
      name: "baker",
      setup(gateway: PluginContext<undefined, {}>) {
        const options = { access: "public", mutates: false } as const;
        gateway.route("GET", "/answer", options, () => {
          const answer = new Response(null, { status: 302, headers: { location: "/" } });
          for (const cookie of cookies) answer.headers.append("set-cookie", cookie);
          return answer;
        });
        gateway.route("GET", "/event", options, ({ res }) => {
          for (const cookie of cookies) res.headers.append("set-cookie", cookie);
          return { ok: true };
        });
        gateway.route(
          "GET",
          "/one",
          options,
          () => new Response("1", { headers: { "set-cookie": "a=1" } }),
        );
        gateway.route("GET", "/handed-on", options, () =>
          fetch(`${url}/answer`, { redirect: "manual" }),
        );
      },
    });
    const { url } = await setupGateway({ plugins: [baker], client: false });
    const given = async (path: string): Promise<string[]> =>
      (await fetch(url + path, { redirect: "manual" })).headers.getSetCookie();
    expect(await given("/answer")).toEqual(cookies);
    expect(await given("/event")).toEqual(cookies);
    // Nobody may change the headers of what fetch() gave.
    expect(await given("/handed-on")).toEqual(cookies);
    const handedOn = await fetch(`${url}/handed-on`, { redirect: "manual" });
    expect([handedOn.status, handedOn.headers.get("location")]).toEqual([302, "/"]);
    expect(await given("/one")).toEqual(["a=1"]);
  });

  it("M069: is open to anonymous on loopback when no key is set", async () => {
    const { url } = await setupGateway({ plugins: [web], client: false });
    expect(await json(await fetch(`${url}/mine/7`))).toEqual([200, { who: "anonymous", id: "7" }]);
    expect((await fetch(`${url}/secret`)).status).toBe(200);
  });

  it("asks for the key once one is set, and shows how", async () => {
    const { url } = await setupGateway({
      plugins: [web],
      config: { auth: { apiKey: KEY } },
      client: { headers: bearer(KEY).headers },
    });
    for (const token of [undefined, "wrong", `${KEY}x`, KEY.slice(1)]) {
      const response = await fetch(`${url}/mine/7`, token === undefined ? {} : bearer(token));
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe('Bearer realm="propylon"');
    }
    expect(await json(await fetch(`${url}/mine/7`, bearer(KEY)))).toEqual([
      200,
      { who: "api-key", id: "7" },
    ]);
    expect(await json(await fetch(`${url}/open`))).toEqual([200, { who: "anonymous" }]);
    expect(await json(await fetch(`${url}/open`, bearer("wrong")))).toEqual([
      200,
      { who: "anonymous" },
    ]);
    const post = await fetch(`${url}/mcp`, { method: "POST", body: "{}" });
    expect([post.status, post.headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer realm="propylon"',
    ]);
  });

  it("admits by the policy of the matched route, with an authenticator of a plugin", async () => {
    const { url } = await setupGateway({ plugins: [web, auth], client: false });
    const status = async (path: string, token?: string) =>
      (await fetch(url + path, token === undefined ? {} : bearer(token))).status;
    expect(await status("/mine/7")).toBe(401);
    expect(await status("/mine/7", "viewer")).toBe(200);
    expect(await status("/secret", "viewer")).toBe(403);
    expect(await status("/secret", "admin")).toBe(200);
    expect(await status("/metrics", "viewer")).toBe(403);
    expect(await status("/metrics", "service")).toBe(200);
    expect((await fetch(`${url}/mine/7`, bearer("wrong"))).headers.get("www-authenticate")).toBe(
      'Bearer resource_metadata="/mine/7"',
    );
  });

  it("T9: a guarded handler never runs without a principal, whatever the path looks like", async () => {
    let runs = 0;
    const guarded = definePlugin({
      name: "g",
      setup: (g) => g.route("GET", "/admin/**", { access: "admin", mutates: false }, () => ++runs),
    });
    const { url } = await setupGateway({
      plugins: [guarded],
      config: { auth: { apiKey: KEY } },
      client: false,
    });
    const parts = fc.array(
      fc.constantFrom("admin", "/", "//", ".", "..", "%2f", "%61dmin", "\\", ";", "x", "%2e%2e"),
      { maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(parts, async (path) => {
        const response = await fetch(`${url}/${path.join("")}`);
        await response.arrayBuffer();
        if (new URL(response.url).pathname === "/") return;
        expect(response.status).toBeGreaterThanOrEqual(400);
        expect(response.status).toBeLessThan(500);
      }),
      { numRuns: 300 },
    );
    expect(runs).toBe(0);
  });
});

describe("a refusal", () => {
  it("is 405 with Allow where another method would match", async () => {
    const { url } = await setupGateway({ plugins: [web], client: false });
    const response = await fetch(`${url}/mine/7`, { method: "DELETE" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
    const below = await fetch(`${url}/files/a/b`, { method: "POST" });
    expect([below.status, below.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  it("is 404 without the URL", async () => {
    const { url } = await setupGateway({ plugins: [web], client: false });
    const response = await fetch(`${url}/nowhere-to-be-seen?q=secret`);
    const text = await response.text();
    expect(response.status).toBe(404);
    expect(text).toBe('{"ok":false,"error":{"code":"not_found","message":"Nothing here."}}');
  });

  it("carries code, message and data, or is an RFC 9457 problem when asked", async () => {
    const { url } = await setupGateway({ plugins: [web], client: false });
    const response = await fetch(`${url}/gone`);
    expect(response.headers.get("retry-after")).toBe("3");
    expect(await json(response)).toEqual([
      404,
      { ok: false, error: { code: "not_found", message: "No such thing.", data: { id: 7 } } },
    ]);
    const problem = await fetch(`${url}/gone`, { headers: { accept: "application/problem+json" } });
    expect(problem.headers.get("content-type")).toBe("application/problem+json");
    expect(await json(problem)).toEqual([
      404,
      {
        type: "urn:propylon:error:not_found",
        title: "not_found",
        status: 404,
        detail: "No such thing.",
        data: { id: 7 },
      },
    ]);
  });

  it("never tells what was thrown", async () => {
    const { url } = await setupGateway({ plugins: [web], client: false });
    expect(await json(await fetch(`${url}/fails`))).toEqual([
      500,
      { ok: false, error: { code: "internal", message: "Internal error." } },
    ]);
  });

  it("is an error in the log only where the fault is the gateway's: a stack per refused call would flood it", async () => {
    const failing = definePlugin({
      name: "failing",
      setup(gateway) {
        for (const code of ["circuit_open", "timeout", "upstream_error", "internal"] as const)
          gateway.route("GET", `/${code}`, read, () => {
            throw new GatewayError(code, "It failed.");
          });
      },
    });
    const lines: string[] = [];
    const log = pino({ level: "error" }, { write: (line: string) => void lines.push(line) });
    const { url } = await setupGateway({ plugins: [failing], client: false, log });
    const statuses: number[] = [];
    for (const code of ["circuit_open", "timeout", "upstream_error", "internal"])
      statuses.push((await fetch(`${url}/${code}`)).status);
    expect(statuses).toEqual([503, 504, 502, 500]);
    expect(lines.map((line) => (JSON.parse(line) as { code: string }).code)).toEqual(["internal"]);
  });

  it("is 413 for a body above the route's limit, with and without a declared length", async () => {
    const { url } = await setupGateway({ plugins: [web], client: false });
    const post = (body: string | ReadableStream) =>
      fetch(`${url}/mine/7`, { method: "POST", body, duplex: "half" });
    expect(await json(await post("0123456789"))).toEqual([200, { length: 10 }]);
    expect((await post("01234567890")).status).toBe(413);
    const chunked = new ReadableStream({
      start(controller) {
        for (let part = 0; part < 4; part++) controller.enqueue(new TextEncoder().encode("01234"));
        controller.close();
      },
    });
    expect((await post(chunked)).status).toBe(413);
  });

  it("is 413 on a connection that goes on to serve, whatever of the body came", async () => {
    const { url } = await setupGateway({ plugins: [web], client: false });
    const { port } = new URL(url);
    const body = "x".repeat(1_000_000);
    const head = `POST /mine/7 HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: `;
    const socket = connect(Number(port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    let heard = "";
    socket.on("data", (bytes) => (heard += bytes.toString()));
    socket.write(`${head}${body.length}\r\n\r\n${body}${head}2\r\n\r\nab`);
    const statuses = () => [...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    await expect.poll(() => statuses()).toEqual(["413", "200"]);
  });
});

describe("a way around the router", () => {
  /** Says which way a request came, and what it brought. */
  const both = definePlugin({
    name: "both",
    setup(gateway: PluginContext<undefined, {}>) {
      const options = { access: "caller", mutates: false, bodyLimit: 20 } as const;
      const direct: RouteOptions["direct"] = ({ segments }) => {
        return async ({ body, principal }) => {
          const text = body.toString();
          if (text === "router") return undefined;
          if (text === "fails") throw new GatewayError("not_found", "No such thing.");
          return { status: 201, body: JSON.stringify(["direct", text, principal.id, segments]) };
        };
      };
      for (const path of ["/one", "/one/:a/two/:b", "/below/**:rest"])
        gateway.route("POST", path, { ...options, direct }, async ({ req, context }) => [
          "router",
          await req.text(),
          context.principal.id,
        ]);
    },
  });
  const setup = () =>
    setupGateway({ plugins: [both, auth], config: { auth: { apiKey: KEY } }, client: false });
  const post = (url: string, body: RequestInit["body"], token = "caller") =>
    fetch(url, { method: "POST", body: body!, duplex: "half", ...bearer(token) });

  it("is there for any path, with the values of its parameters", async () => {
    const { url } = await setup();
    const at = async (path: string) => json(await post(url + path, "hello"));
    expect(await at("/one")).toEqual([201, ["direct", "hello", "caller", []]]);
    expect(await at("/one/x/two/y")).toEqual([201, ["direct", "hello", "caller", ["x", "y"]]]);
    expect(await at("/one/x%2fy/two/z")).toEqual([200, ["router", "hello", "caller"]]);
  });

  it.each(["/below/../one", "/below/./x", "/below/a\\..\\..\\one", "/below/x#y"])(
    "is not for a path that the router sees otherwise: %j",
    async (path) => {
      const { port } = new URL((await setup()).url);
      const socket = connect(Number(port), "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      let heard = "";
      socket.on("data", (bytes) => (heard += bytes.toString()));
      const head = [`Host: 127.0.0.1:${port}`, "Authorization: Bearer caller", "Content-Length: 5"];
      socket.write([`POST ${path} HTTP/1.1`, ...head, "", "hello"].join("\r\n"));
      await expect.poll(() => heard).toContain('["router","hello","caller"]');
    },
  );

  it("hands a request back to the router, which has its body", async () => {
    const { url } = await setup();
    for (let time = 0; time < 3; time++)
      expect(await json(await post(`${url}/one`, "router"))).toEqual([
        200,
        ["router", "router", "caller"],
      ]);
    expect((await post(`${url}/one`, "fails")).status).toBe(404);
  });

  it("is not for a body without a length, or above the limit, or of somebody who may not", async () => {
    const { url } = await setup();
    const stream = new Blob(["chunked"]).stream();
    expect(await json(await post(`${url}/one`, stream))).toEqual([
      200,
      ["router", "chunked", "caller"],
    ]);
    expect((await post(`${url}/one`, "x".repeat(21))).status).toBe(413);
    expect((await post(`${url}/one`, "hello", "viewer")).status).toBe(403);
    expect((await post(`${url}/one`, "hello", "wrong")).status).toBe(401);
    expect((await post(`${url}/one`, "router", "wrong")).status).toBe(401);
  });
});

describe("HEAD", () => {
  it("is answered by every GET route with its status and head, and leaves no stream open behind it", async () => {
    let cancelled = 0;
    const streams = definePlugin({
      name: "streams",
      setup(gateway) {
        const forever = (): ReadableStream =>
          new ReadableStream({ cancel: () => void cancelled++ });
        gateway.route("GET", "/stream", read, () => forever());
        gateway.route(
          "GET",
          "/events",
          read,
          () => new Response(forever(), { headers: { "content-type": "text/event-stream" } }),
        );
      },
    });
    const { url } = await setupGateway({ plugins: [web, streams], client: false });
    const head = async (path: string): Promise<unknown> => {
      const response = await fetch(url + path, { method: "HEAD" });
      return [response.status, response.headers.get("content-type"), await response.text()];
    };
    expect(await head("/mine/7")).toEqual([200, "application/json;charset=UTF-8", ""]);
    expect(await head("/gone")).toEqual([404, "application/json", ""]);
    expect(await head("/nothing")).toEqual([404, "application/json", ""]);
    expect(await head("/stream")).toMatchObject([200, null, ""]);
    expect(await head("/events")).toEqual([200, "text/event-stream", ""]);
    expect(cancelled).toBe(2);
  });
});

describe("the root", () => {
  it("says what is here, and to callers where", async () => {
    const open = await setupGateway({ plugins: [web], client: false });
    const here = { ok: true, name: "propylon", endpoints: ["/mcp"] };
    expect(await json(await fetch(open.url))).toEqual([200, here]);
    const keyed = await setupGateway({ config: { auth: { apiKey: KEY } }, client: false });
    expect(await json(await fetch(keyed.url))).toEqual([200, { ok: true, name: "propylon" }]);
    expect(await json(await fetch(keyed.url, bearer(KEY)))).toEqual([200, here]);
    const post = await fetch(open.url, { method: "POST" });
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  it("belongs to the plugin that has a route there", async () => {
    const home = definePlugin({
      name: "home",
      setup: (gateway) => gateway.route("GET", "/", read, () => "welcome"),
    });
    const { url } = await setupGateway({ plugins: [home], client: false });
    expect(await (await fetch(url)).text()).toBe("welcome");
  });
});
