import { createPrincipal } from "../../../core/kit.ts";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { textOf, type Task } from "../../../plugins/a2a/contract/index.ts";
import { messageOf, post, SCRIPTED } from "../a2a-contract/kit.ts";
import { rpc } from "../a2a-standard/kit.ts";
import { KeptStore } from "../../fixtures/kept-store.ts";
import { ALICE, say, startRuntime, type TestRuntime } from "./kit.ts";

const SKILLS = [{ id: "scripted", function: SCRIPTED }];
const ANYONE = createPrincipal({ id: "anonymous", kind: "anonymous", roles: new Set() });

/** A runtime, and its reload with another version of its card. */
async function start(
  options: Record<string, unknown> = {},
  drain = "20s",
): Promise<TestRuntime & { reload(): Promise<void> }> {
  const started = await startRuntime({
    skills: SKILLS,
    options,
    config: { timeouts: { drain } },
  });
  const { gateway } = started;
  let version = 1;
  return {
    ...started,
    async reload() {
      const { plugins } = gateway.config;
      const a2a = { listener: "main", skills: SKILLS, version: `${++version}.0.0`, ...options };
      await gateway.apply({
        ...gateway.written,
        timeouts: { drain },
        plugins: { ...plugins, a2a },
      });
    },
  };
}

const stateIn = ({ runtime }: TestRuntime): string | undefined =>
  runtime().list({}, ANYONE)[0]?.status.state;

describe("a reload", () => {
  it("waits timeouts.drain for a task, then the task fails and says so", async () => {
    const started = await start({}, "300ms");
    const running = await started.runtime().send(say("hang"), { principal: ALICE });
    await expect.poll(() => running.task.status.state).toBe("working");
    await started.reload();
    const { status, metadata } = await running.settled;
    expect([status.state, textOf(status.message!.parts), metadata?.["code"]]).toEqual([
      "failed",
      "canceled by a reload of the configuration",
      "cancelled",
    ]);
  });

  it("does not wait for a store that is away", async () => {
    const kept = new KeptStore({ shared: true });
    const options = { push: { enabled: true } };
    const { gateway } = await startRuntime({
      skills: SKILLS,
      options,
      plugins: [kept.plugin],
      config: { store: "kept:" },
    });
    onTestFinished(() => void (kept.isAway = false));
    kept.isAway = true;
    const { plugins } = gateway.config;
    const a2a = { listener: "main", skills: SKILLS, version: "2.0.0", ...options };
    await gateway.apply({ ...gateway.written, plugins: { ...plugins, a2a } });
    expect(gateway.info.generation).toBe(2);
  });

  it("does not part the clients that wait for one task: the first may go when another has come", async () => {
    const started = await start();
    const { url } = started;
    const body = messageOf("wait 1500", { taskId: "t" });
    const abort = new AbortController();
    const first = post(url, body, { signal: abort.signal }).catch(() => "gone");
    await expect.poll(() => stateIn(started)).toBe("working");
    await started.reload();
    const second = post(url, body);
    // Whoever asks behind it on a connection of its own is answered when it waits.
    await post(url, messageOf("hello", { taskId: "other", messageId: "other" }));
    abort.abort();
    expect(await first).toBe("gone");
    expect((JSON.parse((await second).text) as Task).status.state).toBe("completed");
  });

  it("leaves streams of tasks that wait to the next drain, which ends them at once", async () => {
    const started = await start();
    const { url, gateway } = started;
    await post(url, messageOf("ask", { taskId: "t" }));
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0" },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "SubscribeToTask",
        params: { id: "t" },
      }),
    });
    await started.reload();
    const begun = performance.now();
    const closed = gateway.close({ grace: 20_000 });
    expect(await response.text()).toContain("TASK_STATE_INPUT_REQUIRED");
    await closed;
    expect(performance.now() - begun).toBeLessThan(10_000);
  });

  it("tells a webhook everything once, while the calls of the old configuration are waited for", async () => {
    const told: string[] = [];
    const server = createServer((req, res) => {
      let text = "";
      req.on("data", (chunk: Buffer) => (text += chunk.toString()));
      req.on("end", () => {
        told.push(text);
        res.writeHead(204).end();
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => server.close().closeAllConnections());
    const hook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const started = await start({ push: { enabled: true, allow: ["127.0.0.1"] } });
    const { url } = started;
    const message = { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "wait 1000" }] };
    const configuration = { taskPushNotificationConfig: { url: hook }, returnImmediately: true };
    await rpc(url, "SendMessage", { message, configuration });
    await expect.poll(() => stateIn(started)).toBe("working");
    await started.reload();
    const isEnd = (text: string): boolean => text.includes("TASK_STATE_COMPLETED");
    await expect.poll(() => told.some(isEnd)).toBe(true);
    await started.gateway.close({ grace: 1_000 });
    expect(told.filter(isEnd)).toHaveLength(1);
    expect(new Set(told).size).toBe(told.length);
  });
});
