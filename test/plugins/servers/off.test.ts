import { expect, it } from "vitest";
import { composition } from "../../../core/gateway/management/composition.ts";
import { createGateway } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import echo from "../../../playground/plugins/echo.ts";

it("with plugins.servers: false an entry with a command or a url is refused, with its place", async () => {
  const start = createGateway({
    servers: { mine: { command: "node" }, other: { url: "http://127.0.0.1:9/mcp" } },
    plugins: { servers: false },
  });
  await expect(start).rejects.toMatchObject({
    code: "invalid",
    data: {
      issues: ["mine", "other"].map((name) => ({
        message: `No plugin in use serves the server "${name}".`,
        hint: "Leave out plugins.servers: false, or this entry.",
        place: { path: `servers.${name}` },
      })),
    },
  });
});

it("with plugins.mcp: false no endpoint is served, and routes are", async () => {
  const { gateway, url } = await setupGateway({
    plugins: [echo],
    config: { plugins: { mcp: false } },
    client: false,
  });
  expect(gateway.describe().endpoints).toEqual([]);
  const answers = await Promise.all([
    fetch(`${url}/mcp`, { method: "POST", body: "{}" }),
    fetch(`${url}/echo?text=hello`),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([404, 200]);
});

it("plugins that come by default stand in no list of plugins", async () => {
  const { gateway } = await setupGateway({ plugins: [echo], client: false });
  expect(gateway.describe().plugins.map(({ key }) => key)).toEqual(["echo"]);
  expect(composition(gateway).map(({ key }) => key)).toEqual(["echo"]);
  const report = await gateway.apply({ ...gateway.written, plugins: {} });
  expect(report.plugins).toEqual({ added: [], removed: ["echo"], changed: [], unchanged: [] });
});
