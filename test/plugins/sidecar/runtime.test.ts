import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StreamEvent } from "propylon/contract";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../core/testing/index.ts";
import { isAlive } from "../../fixtures/processes.ts";
import { makeFolder } from "../../kit/folder.ts";
import {
  CARD,
  completed,
  idOf,
  sendJson,
  startRuntime,
  startSidecar,
  statusOf,
  until,
  user,
  type Answer,
} from "./kit.ts";

const MANIFEST = {
  contractVersion: "v1",
  runtime: { name: "r", version: "1.0.0" },
  server: { healthPath: "/up", agentCardPath: "/card", taskPath: "/run" },
  conformanceLevel: 1,
};

const at = (path: string, value: object): Record<string, Answer> => ({
  [path]: (_, res) => sendJson(res, value),
});

async function start(answers: Record<string, Answer>, options: object = {}) {
  const runtime = await startRuntime(answers);
  const sidecar = await startSidecar({ name: "coder", runtime: { url: runtime.url, ...options } });
  return { runtime, ...sidecar };
}

const isReady = async (url: string): Promise<boolean> => (await statusOf(url)).state === "ready";

describe("readiness", () => {
  it("R009, R039: asks for health and pulls nothing before it is 200", async () => {
    let isHealthy = false;
    const { runtime, queue, url } = await start({
      "/health": (_, res) => sendJson(res, {}, isHealthy ? 200 : 503),
    });
    await queue.submit(user("a", { taskId: "t" }));
    await until(() => runtime.asked.filter(({ path }) => path === "/health").length > 2);
    expect(runtime.tasks).toEqual([]);
    expect(await statusOf(url)).toMatchObject({ state: "starting", runtime: { healthy: false } });
    isHealthy = true;
    expect((await queue.result("t", { wait: 10_000 }))?.task.status.state).toBe("completed");
  });

  it("R037, R038: is failed when it does not become healthy in time, and ready when it does later", async () => {
    let isHealthy = false;
    const { url } = await start(
      { "/health": (_, res) => sendJson(res, {}, isHealthy ? 200 : 503) },
      { startupTimeout: "300ms" },
    );
    const failed = await until(async () => {
      const found = await statusOf(url);
      return found.state === "failed" && found;
    });
    expect(failed.reason).toContain("did not become healthy within 0.3 s");
    expect((await fetch(`${url}/sidecar/ready`)).status).toBe(503);
    isHealthy = true;
    await until(() => isReady(url));
  });

  it("R051: STARTUP_TIMEOUT bounds it where the config says nothing", async () => {
    process.env["STARTUP_TIMEOUT"] = "200ms";
    onTestFinished(() => void delete process.env["STARTUP_TIMEOUT"]);
    const { url } = await start({ "/health": (_, res) => sendJson(res, {}, 503) });
    const failed = await until(async () => {
      const found = await statusOf(url);
      return found.state === "failed" && found;
    });
    expect(failed.reason).toContain("within 0.2 s");
  });

  it("R046: A2A_PORT says where on localhost it is", async () => {
    const runtime = await startRuntime();
    process.env["A2A_PORT"] = new URL(runtime.url).port;
    onTestFinished(() => void delete process.env["A2A_PORT"]);
    const { url } = await startSidecar({});
    await until(() => isReady(url));
    expect((await statusOf(url)).runtime.url).toBe(`http://localhost:${process.env["A2A_PORT"]}`);
  });

  it("waits for health again when the runtime was lost in the middle of a task", async () => {
    let crashes = 1;
    const { runtime, queue, url } = await start({
      "/": (asked, res) => {
        if (crashes-- > 0) return void res.destroy();
        sendJson(res, completed(idOf(asked)));
      },
    });
    await until(() => isReady(url));
    await queue.submit(user("a", { taskId: "t" }));
    await queue.result("t", { wait: 10_000 });
    const paths = runtime.asked.map(({ path }) => path);
    const [first, second] = [paths.indexOf("/"), paths.lastIndexOf("/")];
    expect(paths.slice(first + 1, second)).toContain("/health");
  });
});

it("a runtime that does not end at SIGTERM is killed after its stopTimeout", async () => {
  const folder = makeFolder();
  const file = join(folder, "pid");
  const script = `
    process.on("SIGTERM", () => {});
    require("node:fs").writeFileSync(${JSON.stringify(file)}, String(process.pid));
    setInterval(() => {}, 1_000);`;
  const command = [process.execPath, "-e", script];
  const runtime = { url: `http://127.0.0.1:${await freePort()}`, command, stopTimeout: "200ms" };
  const { gateway } = await startSidecar({ name: "coder", runtime });
  const pid = await until(
    async () => Number(await readFile(file, "utf8").catch(() => "")) || false,
  );
  const begun = performance.now();
  await gateway.close();
  const took = performance.now() - begun;
  expect(isAlive(pid)).toBe(false);
  expect(took).toBeGreaterThan(190);
  // Well below the 5 s of the default.
  expect(took).toBeLessThan(4_500);
});

it("R002: goes on with another runtime in the place of the first", async () => {
  const { runtime, queue } = await start({});
  await queue.submit(user("a", { taskId: "t" }));
  await queue.result("t", { wait: 10_000 });
  await runtime.close();
  const port = Number(new URL(runtime.url).port);
  const other = await startRuntime(
    { "/": (asked, res) => sendJson(res, completed(idOf(asked), "by another")) },
    port,
  );
  await queue.submit(user("b", { taskId: "u" }));
  const found = await queue.result("u", { wait: 10_000 });
  expect(found?.task.artifacts?.[0]?.parts[0]?.text).toBe("by another");
  expect(other.tasks.map(idOf)).toEqual(["u"]);
});

describe("card and manifest", () => {
  it("R033: reads the card once", async () => {
    const { runtime, queue, url } = await start({});
    await until(() => isReady(url));
    for (const id of ["a", "b", "c"]) await queue.submit(user(id, { taskId: id }));
    await queue.result("c", { wait: 10_000 });
    const reads = runtime.asked.filter(({ path }) => path === "/.well-known/agent-card.json");
    expect(reads).toHaveLength(1);
  });

  it("R080: honours the paths of a manifest that is served", async () => {
    const { runtime, queue, url } = await start({
      ...at("/runtime-contract.json", MANIFEST),
      ...at("/up", { status: "ok" }),
      ...at("/card", CARD),
      "/run": (asked, res) => sendJson(res, completed(idOf(asked), "from /run")),
    });
    await until(() => isReady(url));
    await queue.submit(user("a", { taskId: "t" }));
    const found = await queue.result("t", { wait: 10_000 });
    expect(found?.task.artifacts?.[0]?.parts[0]?.text).toBe("from /run");
    expect(runtime.asked.map(({ path }) => path)).toContain("/card");
  });

  it("R080: honours the port of a manifest in a file", async () => {
    const runtime = await startRuntime({ ...at("/up", {}), ...at("/card", CARD) });
    const folder = makeFolder();
    const manifest = join(folder, "runtime-contract.json");
    const server = { ...MANIFEST.server, port: Number(new URL(runtime.url).port) };
    await writeFile(manifest, JSON.stringify({ ...MANIFEST, server }));
    const { url } = await startSidecar({ runtime: { manifest } });
    await until(() => isReady(url));
    expect((await statusOf(url)).runtime.url).toBe(`http://localhost:${server.port}`);
  });

  it.each(["v2", "v1x", "2"])("R089: rejects a runtime of contract %s", async (version) => {
    const { runtime, queue, url } = await start(
      at("/runtime-contract.json", { ...MANIFEST, contractVersion: version }),
    );
    await queue.submit(user("a", { taskId: "t" }));
    const failed = await until(async () => {
      const found = await statusOf(url);
      return found.state === "failed" && found;
    });
    expect(failed.reason).toBe(`The runtime implements contract ${version}.`);
    expect(runtime.tasks).toEqual([]);
  });

  it("R085, R087: takes a minor version, and says which versions it speaks", async () => {
    const { runtime, url } = await start(
      at("/runtime-contract.json", { ...MANIFEST, server: {}, contractVersion: "v1.3" }),
    );
    await until(() => isReady(url));
    const { contractVersions, runtime: seen } = await statusOf(url);
    expect([contractVersions, seen.contractVersion]).toEqual([["v1"], "v1.3"]);
    expect(runtime.asked[0]?.headers["a2a-contract-versions"]).toBe("v1");
  });

  it("takes what a catch-all route answers for no manifest", async () => {
    const { url } = await start({
      "/runtime-contract.json": (_, res) => sendJson(res, "<!doctype html>"),
    });
    await until(() => isReady(url));
    expect((await statusOf(url)).runtime.contractVersion).toBeNull();
  });
});

describe("tasks", () => {
  it("R018: forwards one at a time", async () => {
    let running = 0;
    let most = 0;
    const { queue } = await start({
      "/": async (asked, res) => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 20));
        running--;
        sendJson(res, completed(idOf(asked)));
      },
    });
    const ids = ["a", "b", "c", "d"];
    await Promise.all(ids.map((id) => queue.submit(user(id, { taskId: id }))));
    await Promise.all(ids.map((id) => queue.result(id, { wait: 10_000 })));
    expect(most).toBe(1);
  });

  it("R010: passes the trace context on, and nothing that is none", async () => {
    const { runtime, queue } = await start({});
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const context = { Traceparent: traceparent, tracestate: "a=b", baggage: "k=v" };
    await queue.submit(user("a", { taskId: "t" }), { headers: { ...context, cookie: "no" } });
    await queue.submit(user("b", { taskId: "u" }), { headers: { traceparent: "forged" } });
    await queue.result("u", { wait: 10_000 });
    const [first, second] = runtime.tasks.map(({ headers }) => headers);
    expect(first).toMatchObject({ traceparent, tracestate: "a=b", baggage: "k=v" });
    expect([first?.cookie, second?.["traceparent"]]).toEqual([undefined, undefined]);
  });

  it("answers for what nobody named: by its message, or by its place in the queue", async () => {
    const { runtime, queue } = await start({});
    expect(await queue.submit(user("a", { messageId: "m" }))).toEqual({ id: "m" });
    const { id } = await queue.submit(user("b"));
    expect((await queue.result(id, { wait: 10_000 }))?.task.id).toBe(id);
    expect(runtime.tasks.map(idOf)).toEqual(["m", id]);
  });

  const stream = (asked: Parameters<Answer>[0], end: boolean): string => {
    const taskId = idOf(asked);
    const artifact = (text: string, append: boolean): object => ({
      artifactUpdate: { taskId, append, artifact: { artifactId: "a", parts: [{ text }] } },
    });
    const events = [
      { task: { id: taskId, status: { state: "submitted" } } },
      { statusUpdate: { taskId, status: { state: "working" } } },
      artifact("one", false),
      artifact("two", true),
      ...(end ? [{ statusUpdate: { taskId, status: { state: "completed" } } }] : []),
    ];
    return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  };
  const streaming = { ...CARD, capabilities: { streaming: true } };

  it("R044: streams where the card says so, and tells of every event", async () => {
    const { runtime, queue } = await start({
      ...at("/.well-known/agent-card.json", streaming),
      "/": (asked, res) => {
        res.writeHead(200, { "content-type": "text/event-stream" });
        // Left open on purpose: the task is over all the same.
        res.write(stream(asked, true));
      },
    });
    const seen: StreamEvent[] = [];
    queue.watch("t", (event) => seen.push(event));
    await queue.submit(user("a", { taskId: "t" }));
    const found = await queue.result("t", { wait: 10_000 });
    expect(found?.task.status.state).toBe("completed");
    expect(found?.task.artifacts?.[0]?.parts.map(({ text }) => text)).toEqual(["onetwo"]);
    expect(runtime.tasks[0]?.headers.accept).toContain("text/event-stream");
    expect(seen.filter((event) => "artifactUpdate" in event)).toHaveLength(2);
  });

  it("R044: asks for one answer where the card does not say so", async () => {
    const { runtime, queue } = await start({});
    await queue.submit(user("a", { taskId: "t" }));
    await queue.result("t", { wait: 10_000 });
    expect(runtime.tasks[0]?.headers.accept).toBe("application/json");
  });

  it("tries again when a stream ends before its task", async () => {
    let breaks = 1;
    const { runtime, queue } = await start({
      ...at("/.well-known/agent-card.json", streaming),
      "/": (asked, res) => {
        res.writeHead(200, { "content-type": "text/event-stream" });
        res.end(stream(asked, breaks-- <= 0));
      },
    });
    await queue.submit(user("a", { taskId: "t" }));
    expect((await queue.result("t", { wait: 10_000 }))?.task.status.state).toBe("completed");
    expect(runtime.tasks).toHaveLength(2);
  });
});
