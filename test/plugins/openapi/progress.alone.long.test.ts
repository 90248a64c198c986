import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { digestOf } from "../../../core/kit/digest.ts";
import {
  createSlow,
  EVERYTHING,
  get,
  post,
  refusal,
  startOpenapi,
  waitForCount,
} from "./support.ts";

const EVENTS = { accept: "text/event-stream" };

/** The events of a stream, in order. */
async function eventsOf(response: Response): Promise<{ event: string; data: unknown }[]> {
  const frames = (await response.text())
    .split("\n\n")
    .filter((frame) => frame.startsWith("event:"));
  return frames.map((frame) => {
    const [event, data] = frame.split("\n");
    return { event: event!.slice(7), data: JSON.parse(data!.slice(6)) };
  });
}

function stream(url: string, body: unknown = {}): Promise<Response> {
  const headers = { "content-type": "application/json", ...EVENTS };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}

describe("progress over HTTP", () => {
  it("streams an upstream's progress in order, then the same result as at once", async () => {
    const { url } = await startOpenapi({}, [], { servers: { everything: EVERYTHING } });
    const tool = `${url}/everything/trigger-long-running-operation`;
    const response = await stream(tool, { duration: 0.3, steps: 3 });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const events = await eventsOf(response);
    const progress = events.slice(0, -1).map(({ data }) => (data as { progress: number }).progress);
    expect(progress).toEqual([1, 2, 3]);
    const { body } = await post(tool, { duration: 0.1, steps: 1 });
    expect(body.ok).toBe(true);
    expect(events.at(-1)).toEqual({
      event: "result",
      data: expect.objectContaining({ ok: true, output: expect.any(Object) }),
    });
  });

  it("ends with an error event where the call fails", async () => {
    const { url } = await startOpenapi({}, [createSlow().plugin]);
    expect(await eventsOf(await stream(`${url}/slow/fail`))).toEqual([
      { event: "error", data: refusal("upstream_error") },
    ]);
    expect(await eventsOf(await stream(`${url}/slow/wait?timeout=0.05`))).toEqual([
      { event: "error", data: refusal("timeout") },
    ]);
  });

  it.each([
    ["one answer", {}],
    ["events", EVENTS],
  ])("cancels the call when a client that waits for %s goes away", async (_name, headers) => {
    const { plugin, calls } = createSlow();
    const { url } = await startOpenapi({}, [plugin]);
    const abort = new AbortController();
    const gone = fetch(`${url}/slow/wait`, { method: "POST", headers, signal: abort.signal }).then(
      (response) => response.text(),
    );
    await waitForCount(calls, 1);
    abort.abort();
    await expect(gone).rejects.toThrow("aborted");
    await expect.poll(() => calls[0]).toMatchObject({ reason: { code: "cancelled" } });
  });

  it("lets go of an upstream's call when its client goes away, and the server stays usable", async () => {
    const { gateway, url } = await startOpenapi({}, [], { servers: { everything: EVERYTHING } });
    const abort = new AbortController();
    const slow = fetch(`${url}/everything/trigger-long-running-operation`, {
      method: "POST",
      headers: { "content-type": "application/json", ...EVENTS },
      body: JSON.stringify({ duration: 30, steps: 300 }),
      signal: abort.signal,
    });
    const reader = (await slow).body!.getReader();
    await expect
      .poll(async () => Buffer.from((await reader.read()).value ?? []).toString())
      .toContain("event: progress");
    expect(gateway.inFlight).toBe(1);
    abort.abort();
    await expect.poll(() => gateway.inFlight).toBe(0);
    expect((await post(`${url}/everything/echo`, { message: "still there" })).status).toBe(200);
  });

  it("keeps only the latest progress for a client that does not read", async () => {
    const { plugin, calls } = createSlow();
    const { url } = await startOpenapi({}, [plugin]);
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.pause();
    socket.write(
      `POST /slow/wait HTTP/1.1\r\nhost: ${hostname}:${port}\r\naccept: text/event-stream\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
    );
    await waitForCount(calls, 1);
    const before = process.memoryUsage().heapUsed;
    const reports = 300_000;
    for (let report = 1; report <= reports; report++) {
      calls[0]!.report(report);
      // Lets the gateway write until the socket takes no more.
      if (report % 1_000 === 0) await setImmediate();
    }
    calls[0]!.finish();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * 1024 * 1024);
    let received = "";
    socket.on("data", (chunk) => (received += chunk.toString("latin1")));
    socket.resume();
    await new Promise((resolve) => socket.once("close", resolve));
    const seen = received.match(/event: progress/g)!.length;
    expect(seen).toBeLessThan(reports);
    expect(received).toContain(`"progress":${reports},`);
    expect(received.trimEnd()).toContain('event: result\ndata: {"ok":true,"result":"done"');
  });
});

describe("jobs", () => {
  const ASYNC = { prefer: "respond-async" };

  it("answers 202 with a job that tells its progress and then its answer, once and to its maker", async () => {
    const { plugin, calls } = createSlow();
    const { url } = await startOpenapi({}, [plugin]);
    const { status, headers, body } = await post(`${url}/slow/wait`, { text: "later" }, ASYNC);
    expect(status).toBe(202);
    expect(headers.get("preference-applied")).toBe("respond-async");
    const location = `${url}${headers.get("location")}`;
    expect(body.job).toMatchObject({ server: "slow", tool: "wait", status: "running" });
    await waitForCount(calls, 1);
    calls[0]!.report(3);
    expect((await get(location)).body.job).toMatchObject({
      status: "running",
      progress: { progress: 3, total: 10 },
    });
    calls[0]!.finish();
    await expect.poll(async () => (await get(location)).body.job.status).toBe("done");
    expect((await get(location)).body.job).toMatchObject({
      httpStatus: 200,
      answer: { ok: true, result: "later" },
    });
    expect((await fetch(location, { method: "DELETE" })).status).toBe(200);
    expect(await get(location)).toMatchObject({ status: 404, body: refusal("not_found") });
  });

  it("cancels a running call on DELETE, and tells how a failed one failed", async () => {
    const { plugin, calls } = createSlow();
    const { url } = await startOpenapi({}, [plugin]);
    const running = await post(`${url}/slow/wait`, {}, ASYNC);
    await waitForCount(calls, 1);
    const location = `${url}${running.headers.get("location")}`;
    const deleted = await fetch(location, { method: "DELETE" });
    expect(await deleted.json()).toMatchObject({ job: { status: "cancelled" } });
    await expect.poll(() => calls[0]).toMatchObject({ reason: { code: "cancelled" } });
    const failing = await post(`${url}/slow/fail`, {}, ASYNC);
    await expect
      .poll(async () => (await get(`${url}${failing.headers.get("location")}`)).body.job)
      .toMatchObject({
        status: "failed",
        httpStatus: 502,
        answer: refusal("upstream_error"),
      });
  });

  it("bounds them in number, forgets them after a while, and keeps them through a reload", async () => {
    const { plugin, calls } = createSlow();
    const jobs = { maxJobs: 2, ttl: "300ms" };
    const { gateway, url } = await startOpenapi({ jobs }, [plugin]);
    const first = await post(`${url}/slow/wait`, {}, ASYNC);
    await post(`${url}/slow/wait`, {}, ASYNC);
    const third = await post(`${url}/slow/wait`, {}, ASYNC);
    expect(third).toMatchObject({ status: 429, body: refusal("rate_limited") });
    expect(third.headers.get("retry-after")).toBe("5");
    const { listeners, plugins } = gateway.config;
    await gateway.apply({ listeners, plugins: { ...plugins, openapi: { jobs, format: "raw" } } });
    const location = `${url}${first.headers.get("location")}`;
    expect((await get(location)).body.job.status).toBe("running");
    calls[0]!.finish();
    await expect.poll(async () => (await get(location)).body.job.status).toBe("done");
    await expect.poll(async () => (await get(location)).status).toBe(404);
  });

  it("shows a job to nobody but the one who made it", async () => {
    const { plugin } = createSlow();
    const [first, second] = [createKey("caller"), createKey("caller")];
    const entry = (key: string) => ({ role: "caller", hash: `sha256:${digestOf(key)}` }) as const;
    const keys = { first: entry(first), second: entry(second) };
    const { url } = await startOpenapi({}, [plugin], { auth: { keys } });
    const own = { authorization: `Bearer ${first}` };
    const other = { authorization: `Bearer ${second}` };
    const { headers } = await post(`${url}/slow/wait`, {}, { ...own, ...ASYNC });
    const location = `${url}${headers.get("location")}`;
    expect((await get(location, own)).status).toBe(200);
    expect((await get(location, other)).status).toBe(404);
    expect((await fetch(location, { method: "DELETE", headers: other })).status).toBe(404);
    expect((await get(location)).status).toBe(401);
  });

  it("are cancelled when the gateway shuts down", async () => {
    const { plugin, calls } = createSlow();
    const { gateway, url } = await startOpenapi({}, [plugin]);
    await post(`${url}/slow/wait`, {}, ASYNC);
    await waitForCount(calls, 1);
    const from = performance.now();
    await gateway.close();
    expect(performance.now() - from).toBeLessThan(5_000);
    expect(calls[0]).toMatchObject({ reason: { code: "cancelled" } });
  });
});
