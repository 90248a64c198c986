import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectClient, setupGateway } from "../../../core/testing/index.ts";
import { startPropylon } from "../../core/cli/propylon.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import { makeFolder } from "../../kit/folder.ts";
import { idIn, optionsOf, startOne, statusOf, SOON } from "./kit.ts";

describe("propylon start", () => {
  it("A001, A002, A004, A043: a client with the source's configuration starts an agent", async () => {
    const model = await startModel({
      script: ({ body }) => ({
        calls: [{ name: "agent_complete", args: { agent_id: idIn(body), summary: "Hello." } }],
      }),
    });
    onTestFinished(() => model.close());
    const folder = makeFolder();
    const { agents: team, ...options } = optionsOf(model.url);
    const config = {
      listeners: { main: { port: 0 } },
      log: { format: "json" },
      agents: team,
      plugins: { agents: options, payloads: {}, lifecycle: {} },
    };
    await writeFile(join(folder, "gateway.json"), JSON.stringify(config));
    const running = await startPropylon(["start", "gateway.json"], { cwd: folder });
    onTestFinished(() => void running.stop());
    // The configuration of the source, but for the port.
    const minifram = { url: running.url.replace("127.0.0.1", "localhost") };
    expect(minifram.url).toMatch(/^http:\/\/localhost:\d+\/mcp$/);
    const direct = await connectClient(minifram.url);
    onTestFinished(() => direct.close());
    const id = await startOne(direct, "Say hello.");
    await expect
      .poll(() => statusOf(direct, id), SOON)
      .toMatchObject({ status: "completed", summary: "Hello." });
    // A client that reads such files: another gateway.
    const { client } = await setupGateway({ config: { servers: { minifram } } });
    await expect
      .poll(async () => (await client.listTools()).tools.map(({ name }) => name), SOON)
      .toContain("agent_status");
    expect(await statusOf(client, id)).toMatchObject({ status: "completed" });
  });
});
