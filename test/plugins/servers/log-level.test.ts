import { expect, it } from "vitest";
import { makeUpstream, reached } from "./support/calls.ts";
import { rpc, serveHttp } from "./support/servers.ts";
import { closing } from "./support/use.ts";

const use = closing();

it("a server runs at the level of the most curious of all endpoints that show it", async () => {
  const levels: unknown[] = [];
  let told = (): void => {};
  const server = use(
    await serveHttp((req, res, body) => {
      if (req.method !== "POST") return void res.writeHead(405).end();
      if (body.method === "initialize")
        return rpc(res, body.id, {
          protocolVersion: "2025-11-25",
          capabilities: { logging: {} },
          serverInfo: { name: "talker", version: "1" },
        });
      if (body.method !== "logging/setLevel") return void res.writeHead(202).end();
      levels.push((body.params as { level: string }).level);
      told();
      rpc(res, body.id, {});
    }),
  );
  const heard = async (count: number): Promise<void> => {
    while (levels.length < count) await new Promise<void>((resolve) => (told = resolve));
  };
  const upstream = use(makeUpstream({ url: server.url, protocol: "legacy" }));
  upstream.start();
  await reached(upstream, "ready");
  const [one, other, third] = [{}, {}, {}];
  upstream.setLogLevel("debug", one);
  await heard(1);
  upstream.setLogLevel("error", other);
  upstream.setLogLevel(undefined, third);
  upstream.setLogLevel(undefined, one);
  await heard(2);
  upstream.setLogLevel("info", third);
  await heard(3);
  expect(levels).toEqual(["debug", "error", "info"]);
});
