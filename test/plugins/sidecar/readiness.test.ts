import { expect, it } from "vitest";
import { sendJson, startBus, startRuntime, startSidecar, statusOf, until } from "./kit.ts";

const probe = async (url: string, path: string): Promise<[number, string]> => {
  const response = await fetch(`${url}${path}`);
  return [response.status, await response.text()];
};

const line = async (url: string): Promise<string | undefined> =>
  (await probe(url, "/readyz?verbose"))[1].split("\n").find((each) => each.includes("sidecar"));

it("holds /readyz back while the queue is not attached, at the start and later, and never /livez", async () => {
  const bus = await startBus();
  await bus.server.kill();
  const { url: runtime } = await startRuntime();
  const { url } = await startSidecar({ runtime: { url: runtime }, nats: { url: bus.server.url } });
  expect((await probe(url, "/readyz"))[0]).toBe(503);
  expect(await line(url)).toBe("[-] sidecar: The queue is not attached. GET /sidecar says why.");
  await bus.server.start();
  await until(async () => (await probe(url, "/readyz"))[0] === 200);
  await bus.server.kill();
  await until(async () => (await probe(url, "/readyz"))[0] === 503);
  expect((await probe(url, "/livez"))[0]).toBe(200);
  await bus.server.start();
  await until(async () => (await probe(url, "/readyz"))[0] === 200);
});

it("R036, R039: holds it back while the runtime is not healthy, or tasks are taken no more", async () => {
  let isHealthy = false;
  const { url: runtime } = await startRuntime({
    "/health": (_, res) => sendJson(res, {}, isHealthy ? 200 : 503),
  });
  const { url } = await startSidecar({ runtime: { url: runtime } });
  expect(await line(url)).toBe("[-] sidecar: The runtime is not healthy. GET /sidecar says why.");
  isHealthy = true;
  await until(async () => (await probe(url, "/readyz"))[0] === 200);
  await fetch(`${url}/sidecar/drain`, { method: "POST" });
  expect(await line(url)).toBe("[-] sidecar: It is stopped. GET /sidecar says why.");
});

it.each([
  [{ work: false }, 503],
  [{ readiness: false }, 200],
])("with %j is %i while the queue is away", async (options, status) => {
  const bus = await startBus();
  await bus.server.kill();
  const { url: runtime } = await startRuntime();
  const { url } = await startSidecar({
    runtime: { url: runtime },
    nats: { url: bus.server.url },
    ...options,
  });
  expect((await statusOf(url)).queue.connected).toBe(false);
  expect((await probe(url, "/readyz"))[0]).toBe(status);
});
