import { once } from "node:events";
import { createServer } from "node:net";
import { isPortFree } from "propylon/cli";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../core/testing/index.ts";

it("a free port is none that the system hands out, and can be listened on again and again", async () => {
  const port = await freePort();
  expect(port).toBeGreaterThanOrEqual(15_000);
  expect(port).toBeLessThan(32_768);
  for (let round = 0; round < 2; round++) {
    const server = createServer();
    await once(server.listen(port, "127.0.0.1"), "listening");
    expect(await isPortFree(port)).toBe(false);
    server.close();
    await once(server, "close");
    expect(await isPortFree(port)).toBe(true);
  }
});

it("a port that is taken on every address is not free", async () => {
  const port = await freePort();
  const server = createServer();
  onTestFinished(() => void server.close());
  await once(server.listen(port), "listening");
  expect(await isPortFree(port)).toBe(false);
});
