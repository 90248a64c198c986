import { register } from "node:module";
import { expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import a2aClient from "../../../plugins/a2a-client/index.ts";
import { messageOf, post, startScripted } from "../a2a-contract/kit.ts";
import { serve } from "../a2a-client/runtime.ts";

/** From here on, for this file alone: a process in which nobody installed the optional package. */
const HIDDEN = `export function resolve(name, context, next) {
  if (!name.includes("@a2a-js/sdk")) return next(name, context);
  throw Object.assign(new Error("Cannot find package " + name), { code: "ERR_MODULE_NOT_FOUND" });
}`;
register(`data:text/javascript,${encodeURIComponent(HIDDEN)}`);

it("without @a2a-js/sdk contract v1 is spoken, and whoever speaks A2A 1.0 is told what to install", async () => {
  const { url } = await startScripted();
  expect((await post(url, messageOf("hello"))).status).toBe(200);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: "t" } });
  for (const path of ["/", "/message:send"]) {
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const answer = await fetch(new URL(path, url), { method: "POST", headers, body });
    expect(answer.status).toBe(422);
    expect(await answer.text()).toMatch(/@a2a-js\/sdk.*npm install @a2a-js\/sdk/);
  }
});

it("without @a2a-js/sdk an agent of A2A 1.0 is failed, with what to install", async () => {
  const far = await serve((req, res) => {
    const url = `http://${req.headers.host}/`;
    const supportedInterfaces = [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
    res.end(JSON.stringify({ name: "far", skills: [{ id: "talk" }], supportedInterfaces }));
  });
  const { gateway } = await setupGateway({
    plugins: [a2aClient],
    config: { servers: { far: { type: "a2a", url: far } } },
    client: false,
  });
  await expect
    .poll(() => gateway.servers.get("far")!.status)
    .toMatchObject({
      state: "failed",
      reason: expect.stringContaining("npm install @a2a-js/sdk") as string,
    });
});
