import { expect, it } from "vitest";
import { digestOf } from "../../../core/kit.ts";
import { setupGateway } from "../../../core/testing/index.ts";

it("a key that takes the place of another under its name gets in at once, and the other is out", async () => {
  const auth = (key: string) => ({
    keys: { ci: { role: "operator" as const, hash: `sha256:${digestOf(key)}` } },
  });
  const { gateway, url } = await setupGateway({ config: { auth: auth("one") }, client: false });
  const status = async (key: string): Promise<number> => {
    const params = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "ci", version: "1" },
    };
    const response = await fetch(`${url}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    });
    await response.body?.cancel();
    return response.status;
  };
  expect([await status("one"), await status("two")]).toEqual([200, 401]);
  await gateway.apply({ ...gateway.written, auth: auth("two") });
  expect([await status("one"), await status("two")]).toEqual([401, 200]);
});
