import { definePlugin, createLogger } from "propylon";
import { expect, it, onTestFinished } from "vitest";
import { summarise, summaryText, tellReload } from "../../../core/cli/summary.ts";
import { setupGateway } from "../../../core/testing/index.ts";

const shop = definePlugin({
  name: "shop",
  setup(gateway) {
    gateway.tool("buy", { description: "", run: () => "bought" });
    gateway.route("GET", "/open", { access: "public", mutates: false }, () => "open");
    for (const path of ["/_meta/stock", "/_meta/prices"])
      gateway.route("GET", path, { access: "viewer", mutates: false, management: true }, () => "");
    gateway.route("GET", "/closed", { access: "principal", mutates: false }, () => "closed");
  },
});

it("M005: the summary shows endpoints, servers with their tools, who may use what, and the command for a client", async () => {
  const { gateway } = await setupGateway({
    plugins: [shop],
    client: false,
    config: { auth: { apiKey: "the-secret-key-of-this-gateway" } },
  });
  const text = summaryText(summarise(gateway), "GATEWAY_KEY");
  const url = gateway.endpoints[0]!.url;
  expect(text).toMatch(new RegExp(`mcp +${url} +bearer token`));
  expect(text).toMatch(/shop +ready +1 tool\n/);
  expect(text).toMatch(/\/open +shop +no authentication/);
  expect(text).toMatch(/\/closed +shop +bearer token/);
  expect(text).toMatch(/\/_meta \.\.\. +2 management routes +bearer token/);
  expect(text).not.toContain("/_meta/stock");
  expect(text).toContain(
    `claude mcp add --transport http propylon ${url} --header "Authorization: Bearer $GATEWAY_KEY"`,
  );
  expect(text).toContain(`npx propylon client-config cursor ${url} --key`);
  expect(text).not.toContain("the-secret-key");
});

it("a server that has not answered yet shows what it waits for, not 0 tools", async () => {
  const { gateway } = await setupGateway({
    client: false,
    config: {
      servers: { slow: { command: process.execPath, args: ["-e", "process.stdin.resume()"] } },
    },
  });
  const text = summaryText(summarise(gateway), "GATEWAY_KEY");
  expect(text).toMatch(/slow +connecting +\S/);
  expect(text).not.toContain("0 tools");
  expect(text).not.toContain("Authorization");
});

it("the summary says where a browser goes, when a plugin has pages", async () => {
  const pages = definePlugin({
    name: "pages",
    setup(gateway) {
      gateway.route("GET", "/ui", { access: "public", mutates: false }, () => "");
    },
  });
  const { gateway, url } = await setupGateway({ plugins: [pages], client: false });
  expect(summaryText(summarise(gateway), "KEY")).toMatch(
    new RegExp(`Web interface\\n +${url}/ui/\\n`),
  );
});

it("a reload is one sentence that names what changed", async () => {
  const lines: string[] = [];
  const log = await createLogger(
    { level: "info", format: "json" },
    { write: (line) => void lines.push(line) },
  );
  const { gateway } = await setupGateway({ plugins: [shop], client: false });
  onTestFinished(gateway.hook("reload:done", (report) => tellReload(report, log)));
  await gateway.apply({ listeners: { main: { port: 0 } }, plugins: { shop: {} } });
  await gateway.apply({ listeners: { main: { port: 0 } }, plugins: {} });
  const told = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(told).toEqual(["reloaded: no plugin or server changed", "reloaded: plugin shop removed"]);
});
