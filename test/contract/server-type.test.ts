import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { setupGateway } from "../../core/testing/index.ts";
import phrases from "../fixtures/phrases.ts";

it("the server type of the reference is the one that is tested here", async () => {
  const page = await readFile("docs/reference/writing-plugins.md", "utf8");
  expect(page).toContain(await readFile("test/fixtures/phrases.ts", "utf8"));
});

it("the server type of the reference serves its book, tells when it changes, and says what is wrong", async () => {
  let book = '{"hello":"Good day"}';
  const library = createServer((_req, res) => void res.writeHead(book ? 200 : 500).end(book));
  await new Promise<void>((resolve) => library.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    library.close();
    library.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(library.address() as AddressInfo).port}`;
  const { client, gateway } = await setupGateway({
    plugins: [phrases],
    config: { servers: { welcome: { type: "phrases", url, refresh: "20ms" } } },
  });
  const server = gateway.servers.get("welcome")!;
  const say = async (name: string) => (await client.callTool({ name })).content;
  await expect.poll(() => server.status.state).toBe("ready");
  expect(await say("hello")).toEqual([{ type: "text", text: "Good day" }]);
  book = '{"bye":"Farewell"}';
  await expect.poll(() => server.catalogue.tools.map(({ name }) => name)).toEqual(["bye"]);
  for (const [now, reason] of [
    ["[]", "The phrase book is not a JSON object of texts."],
    ["", "The phrase book cannot be read: its URL answered with HTTP 500."],
  ] as const) {
    book = now;
    await expect.poll(() => server.status.reason).toBe(reason);
    expect(server.status.state).toBe("degraded");
    expect(await say("bye")).toEqual([{ type: "text", text: "Farewell" }]);
  }
  await gateway.close();
  expect(server.status.state).toBe("closed");
});
