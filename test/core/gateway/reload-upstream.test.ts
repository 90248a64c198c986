import { expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { deferred } from "../../kit/deferred.ts";
import { rpc, serveHttp } from "../../plugins/servers/support/servers.ts";
import { closing } from "../../plugins/servers/support/use.ts";

const use = closing();

it("a call still on its way through the pipeline reaches its server although a reload replaces that meanwhile", async () => {
  const server = use(
    await serveHttp((req, res, body) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.method === "server/discover")
        return rpc(res, body.id, {
          supportedVersions: ["2026-07-28"],
          capabilities: {},
          resultType: "complete",
        });
      rpc(res, body.id, { content: [{ type: "text", text: "done" }], resultType: "complete" });
    }),
  );
  let decide = (): void => {};
  const { promise: waiting, resolve: asked } = deferred();
  const slowCheck = definePlugin({
    name: "slow-check",
    setup(gateway) {
      gateway.use("gate", async (call, next) => {
        await new Promise<void>((resolve) => {
          decide = resolve;
          asked();
        });
        return next(call);
      });
    },
  });
  const config = (timeout: number) => ({
    listeners: { main: { port: 0 } },
    plugins: { "slow-check": {} },
    servers: { up: { url: server.url, protocol: "modern" as const, timeout } },
  });
  const { gateway } = await setupGateway({ plugins: [slowCheck], config: config(10_000) });
  const call = gateway.call({ server: "up", name: "anything" });
  await waiting;
  await gateway.apply(config(20_000));
  // What a replaced server without calls needs to close.
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  decide();
  expect((await call).result).toMatchObject({ content: [{ text: "done" }] });
});
