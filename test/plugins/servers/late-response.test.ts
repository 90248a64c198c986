import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { GatewayError, Tool } from "propylon";
import type { ServerAccount } from "../../../plugins/servers/service.ts";
import { describe, expect, it } from "vitest";
import { createPrincipal } from "../../../core/kit.ts";
import { callText, makeCall, makeUpstream, reached } from "./support/calls.ts";
import { closing } from "./support/use.ts";

const use = closing();

interface Request {
  readonly id?: string;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly uri?: string };
}

const json = (status: number, message: unknown): string => {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  return `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\nmcp-session-id: s1\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
};

const TOOLS: readonly Tool[] = [
  { name: "look", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
  { name: "put", inputSchema: { type: "object" }, annotations: { idempotentHint: true } },
  { name: "pay", inputSchema: { type: "object" } },
];

const RESULTS: Record<string, (request: Request) => unknown> = {
  initialize: () => ({
    protocolVersion: "2025-11-25",
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: "x", version: "1" },
  }),
  "tools/list": () => ({ tools: TOOLS }),
  "resources/list": () => ({ resources: [{ uri: "mem://a", name: "a" }] }),
  "resources/templates/list": () => ({ resourceTemplates: [] }),
  "resources/read": () => ({ contents: [{ uri: "mem://a", text: "a" }] }),
  "tools/call": ({ params }) => ({ content: [{ type: "text", text: `did ${params!.name}` }] }),
};

/** A server on bare sockets. `late` writes something before the answer to a request that came on a connection used before. */
async function serve(httpClient?: "undici", account?: ServerAccount) {
  const ran: string[] = [];
  const sockets = new Set<Socket>();
  const state = {
    ran,
    sockets,
    /** Of the calls so far. */
    usedBy: [] as Socket[],
    isOld: false,
    late: undefined as ((socket: Socket, request: Request) => boolean) | undefined,
    /** What is said to the credentials of a request, before it runs. */
    refuse: undefined as
      | ((authorization: string, request: Request, head: string) => string | undefined)
      | undefined,
  };
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    socket.on("data", (data) => {
      const text = data.toString("utf8");
      if (!text.startsWith("POST")) return void socket.write(json(405, ""));
      const { id, method, params } = JSON.parse(text.slice(text.indexOf("\r\n\r\n"))) as Request;
      const authorization = /^authorization: (.*)\r$/m.exec(text)?.[1] ?? "";
      const refusal = state.refuse?.(authorization, { method, ...(params && { params }) }, text);
      if (refusal !== undefined) {
        if (method === "tools/call") state.usedBy.push(socket);
        return void socket.write(refusal);
      }
      if (id === undefined) return void socket.write("HTTP/1.1 202 X\r\ncontent-length: 0\r\n\r\n");
      const name = params?.name ?? params?.uri ?? method;
      const isCall = method === "tools/call" || method === "resources/read";
      if (isCall) ran.push(name);
      const isUsed = state.isOld || state.usedBy.includes(socket);
      if (isCall && isUsed && state.late?.(socket, { id, method })) return;
      if (isCall) state.usedBy.push(socket);
      const result = RESULTS[method]?.({ id, method, ...(params && { params }) });
      socket.write(
        json(
          200,
          result
            ? { jsonrpc: "2.0", id, result }
            : { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } },
        ),
      );
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  use({
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  const { port } = server.address() as AddressInfo;
  const upstream = use(
    makeUpstream(
      {
        url: `http://127.0.0.1:${port}/mcp`,
        protocol: "legacy",
        ping: "0",
        ...(account && { auth: "oauth" }),
      },
      { httpClient, ...(account && { accountOf: () => account }) },
    ),
  );
  upstream.start();
  await reached(upstream, "ready");
  return { state, upstream };
}

const someone = (id: string) =>
  createPrincipal({ id, kind: "anonymous", roles: new Set(["caller"]) });

function call(upstream: Awaited<ReturnType<typeof serve>>["upstream"], name: string, who: string) {
  const tool = TOOLS.find((each) => each.name === name);
  return callText(upstream, name, {}, { tool, principal: someone(who) });
}

const foreign = { jsonrpc: "2.0", id: "of-somebody-else", result: { content: [] } };
const secret = {
  jsonrpc: "2.0",
  id: "of-somebody-else",
  error: { code: -32602, message: "alice's secret" },
};

/** What comes in the way of an answer: something late for the request before it, or the end of the connection. */
const LATE: Record<string, (socket: Socket) => void> = {
  "a result of another request": (socket) => void socket.write(json(200, foreign)),
  "an error of another request": (socket) => void socket.write(json(200, secret)),
  "a refusal of another request": (socket) => void socket.write(json(400, secret)),
  "an accepted notification": (socket) =>
    void socket.write("HTTP/1.1 202 X\r\ncontent-length: 0\r\n\r\n"),
  "the end of the connection": (socket) => void socket.destroy(),
  "bytes that are no response": (socket) => void socket.write("late\r\n\r\n"),
};

it.each(Object.entries(LATE))(
  "attacks S3-6: %s on a kept connection does not fail a call that is safe",
  async (_what, late) => {
    const { state, upstream } = await serve();
    state.late = (socket) => {
      late(socket);
      return true;
    };
    for (const name of ["look", "put"]) {
      expect(await call(upstream, "look", "alice")).toBe("did look");
      expect(await call(upstream, name, "bob")).toBe(`did ${name}`);
    }
    expect(state.ran).toEqual(["look", "look", "look", "look", "look", "put", "put"]);
    const read = makeCall("mem://a", undefined, { method: "resources/read" });
    expect((await upstream.request(read)).result).toMatchObject({ contents: [{ text: "a" }] });
  },
);

it.each(Object.entries(LATE))(
  "attacks S3-6: after %s a call that changes something is sent once, fails, and no other call does",
  async (_what, late) => {
    const { state, upstream } = await serve();
    expect(await call(upstream, "pay", "alice")).toBe("did pay");
    let isFirst = true;
    state.late = (socket, { id }) => {
      if (!isFirst) return false;
      isFirst = false;
      late(socket);
      // Its own answer comes too, when the connection still stands.
      if (!socket.destroyed)
        setImmediate(() =>
          socket.write(json(200, { jsonrpc: "2.0", id, result: { content: [] } })),
        );
      return true;
    };
    const failure: unknown = await call(upstream, "pay", "bob").catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "upstream_error" });
    expect(String(failure)).not.toContain("secret");
    for (const who of ["carol", "dave", "erin"]) {
      expect(await call(upstream, "pay", who)).toBe("did pay");
    }
    expect(state.ran).toEqual(["pay", "pay", "pay", "pay", "pay"]);
  },
);

it("attacks S3-6: a late 404 does not make a call run twice", async () => {
  const { state, upstream } = await serve();
  expect(await call(upstream, "pay", "alice")).toBe("did pay");
  state.late = (socket, { id }) => {
    socket.write(json(404, "gone"));
    setImmediate(() => socket.write(json(200, { jsonrpc: "2.0", id, result: { content: [] } })));
    return true;
  };
  await expect(call(upstream, "pay", "bob")).rejects.toMatchObject({ code: "upstream_error" });
  expect(state.ran).toEqual(["pay", "pay"]);
});

it("attacks S3-6: a safe call is sent twice at most", async () => {
  const { state, upstream } = await serve();
  expect(await call(upstream, "look", "alice")).toBe("did look");
  state.late = (socket) => {
    socket.destroy();
    return true;
  };
  state.isOld = true;
  await expect(call(upstream, "look", "bob")).rejects.toMatchObject({ code: "upstream_error" });
  expect(state.ran).toEqual(["look", "look", "look"]);
});

describe("undici, which does not say whether a connection had a request before,", () => {
  /** What is late comes on the first connection that a call goes out on. */
  async function serveLate(late: (socket: Socket) => void) {
    const scene = await serve("undici");
    let isFirst = true;
    scene.state.isOld = true;
    scene.state.late = (socket) => {
      if (!isFirst) return false;
      isFirst = false;
      late(socket);
      return true;
    };
    return scene;
  }

  it.each(Object.entries(LATE))("does not fail a safe call after %s", async (_what, late) => {
    const { state, upstream } = await serveLate(late);
    expect(await call(upstream, "look", "alice")).toBe("did look");
    expect(state.ran).toEqual(["look", "look"]);
  });

  it.each([
    ...Object.entries(LATE),
    ["a 404", (socket: Socket) => void socket.write(json(404, "gone"))] as const,
  ])(
    "makes no call twice that changes something, and tells nothing of others, after %s",
    async (_what, late) => {
      const { state, upstream } = await serveLate(late);
      const failure: unknown = await call(upstream, "pay", "bob").catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: "upstream_error" });
      expect(String(failure)).not.toContain("secret");
      expect(state.ran).toEqual(["pay"]);
    },
  );
});

describe.each([undefined, "undici"] as const)("a server with a login, client %s:", (client) => {
  /** It always has another token, and counts how often it was asked for one. */
  function makeAccount() {
    const account = {
      renewals: 0,
      authorization: () => `Bearer ${account.renewals}`,
      refused: () => {
        account.renewals++;
        return Promise.resolve(true);
      },
      login: (_call: unknown, error: unknown) => Promise.reject(error),
    };
    return account;
  }

  it.each([401, 403])("a late %i makes no call run twice", async (status) => {
    const account = makeAccount();
    const { state, upstream } = await serve(client, account);
    expect(await call(upstream, "pay", "alice")).toBe("did pay");
    const ran = state.ran.length;
    state.isOld = true;
    state.late = (socket, { id }) => {
      state.late = undefined;
      socket.write(json(status, "no"));
      setImmediate(() => socket.write(json(200, { jsonrpc: "2.0", id, result: { content: [] } })));
      return true;
    };
    await expect(call(upstream, "pay", "bob")).rejects.toMatchObject({ code: "upstream_error" });
    expect(state.ran).toHaveLength(ran + 1);
    expect(account.renewals).toBe(0);
    expect(await call(upstream, "pay", "carol")).toBe("did pay");
    expect(state.ran).toHaveLength(ran + 2);
  });

  it("a ping has the headers of its call, or a server that wants them would confirm a late 401", async () => {
    const account = makeAccount();
    const { state, upstream } = await serve(client, account);
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    const tool = TOOLS.find(({ name }) => name === "pay");
    const pay = () => callText(upstream, "pay", {}, { tool, meta: { traceparent } });
    state.refuse = (_authorization, { method }, head) =>
      method === "ping" && !head.includes(traceparent) ? json(401, "no") : undefined;
    expect(await pay()).toBe("did pay");
    state.isOld = true;
    state.late = (socket) => {
      state.late = undefined;
      return socket.write(json(401, "no"));
    };
    await expect(pay()).rejects.toMatchObject({ code: "upstream_error" });
    expect(state.ran).toEqual(["pay", "pay"]);
    expect(account.renewals).toBe(0);
  });

  it.each([401, 403])(
    "a token that ran out, which the server answers with %i, is renewed under a call",
    async (status) => {
      const account = makeAccount();
      const { state, upstream } = await serve(client, account);
      expect(await call(upstream, "pay", "alice")).toBe("did pay");
      state.refuse = (authorization) =>
        authorization === "Bearer 0" ? json(status, "no") : undefined;
      expect(await call(upstream, "pay", "bob")).toBe("did pay");
      expect(state.ran).toEqual(["pay", "pay"]);
      expect(account.renewals).toBe(1);
    },
  );

  it("a late 401 makes no call run twice where its answer comes behind that to a ping", async () => {
    const account = makeAccount();
    const { state, upstream } = await serve(client, account);
    expect(await call(upstream, "pay", "alice")).toBe("did pay");
    const ran = state.ran.length;
    state.isOld = true;
    state.late = (socket) => {
      state.late = undefined;
      return socket.write(json(401, "no"));
    };
    await expect(call(upstream, "pay", "bob")).rejects.toMatchObject({ code: "upstream_error" });
    expect(state.ran).toHaveLength(ran + 1);
  });

  it.each([401, 403])(
    "a tool that is refused alone, with %i, runs once with new credentials",
    async (status) => {
      const account = makeAccount();
      const { state, upstream } = await serve(client, account);
      expect(await call(upstream, "look", "alice")).toBe("did look");
      state.refuse = (authorization, { params }) =>
        params?.name === "pay" && authorization === "Bearer 0" ? json(status, "no") : undefined;
      const pay = () =>
        call(upstream, "pay", "bob").catch((error: GatewayError): string => error.code);
      // A 401 is to be about all requests, and nobody can ask on the connection of undici: the next call has a new one.
      const isClear = client === undefined && status === 403;
      const first = await pay();
      expect(await call(upstream, "look", "carol")).toBe("did look");
      const last = isClear ? first : await pay();
      expect([first, last]).toEqual([isClear ? "did pay" : "upstream_error", "did pay"]);
      expect(state.ran.toSorted()).toEqual(["look", "look", "pay"]);
      expect(account.renewals).toBe(1);
    },
  );
});
