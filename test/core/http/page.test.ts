import { Pages, Endpoints, Listeners } from "propylon/kit";
import { get } from "node:http";
import { expect, it } from "vitest";
import { definePlugin, type PluginContext } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const LEAD = { status: 302, headers: { location: "ui/", "cache-control": "no-store" } };

const lead = (name: string, setup?: (gateway: PluginContext) => void) =>
  definePlugin({
    name,
    setup(gateway: PluginContext) {
      gateway.add(Pages, () => new Response(null, LEAD));
      gateway.tool("echo", { description: "", run: () => "hello" });
      setup?.(gateway);
    },
  });

/** Status and Location of an answer, which `fetch` would follow. */
const open = (url: string, accept: string, method = "GET") =>
  new Promise<{ status: number | undefined; location: string | undefined }>((resolve, reject) => {
    const request = get(url, { method, headers: { accept } }, (res) => {
      res.resume();
      resolve({ status: res.statusCode, location: res.headers.location });
    });
    request.on("error", reject);
  });

it("a browser that opens an endpoint is led to the page, before it has credentials", async () => {
  const { gateway, client } = await setupGateway({
    plugins: [lead("pages")],
    config: { auth: { apiKey: "secret-key-of-the-test" } },
  });
  const { url } = gateway.endpoints[0]!;
  expect(await open(url, BROWSER)).toEqual({ status: 302, location: "ui/" });
  expect(await open(url, BROWSER, "HEAD")).toEqual({ status: 302, location: "ui/" });
  expect(await open(new URL("/", url).href, BROWSER)).toEqual({ status: 302, location: "ui/" });
  // What clients send goes where it went.
  expect((await open(url, "application/json, text/event-stream")).status).toBe(401);
  expect((await open(url, `text/event-stream, ${BROWSER}`)).status).toBe(401);
  expect((await open(url, BROWSER, "DELETE")).status).toBe(401);
  expect((await open(new URL("/", url).href, "*/*")).status).toBe(200);
  const answer = await client.callTool({ name: "echo", arguments: {} });
  expect(answer.content).toEqual([{ type: "text", text: "hello" }]);
});

it("a route at the root is before the page, and a listener of its own has none", async () => {
  const plugin = lead("pages", (gateway) => {
    gateway.route("GET", "/", { access: "public", mutates: false }, () => "mine");
    gateway.add(Listeners, { name: "inside", port: 0 });
    gateway.add(Endpoints, { name: "inside", path: "/inside", listener: "inside" });
  });
  const { gateway } = await setupGateway({ plugins: [plugin], client: false });
  const urls = new Map(gateway.endpoints.map(({ name, url }) => [name, url]));
  expect((await open(new URL("/", urls.get("mcp")).href, BROWSER)).status).toBe(200);
  expect((await open(urls.get("mcp")!, BROWSER)).status).toBe(302);
  expect((await open(urls.get("inside")!, BROWSER)).status).toBe(200);
});

it("a page that fails is an error without its cause", async () => {
  const plugin = definePlugin({
    name: "pages",
    setup: (gateway: PluginContext) =>
      gateway.add(Pages, () => {
        throw new Error("the secret cause");
      }),
  });
  const { gateway } = await setupGateway({ plugins: [plugin], client: false });
  const response = await fetch(gateway.endpoints[0]!.url, { headers: { accept: BROWSER } });
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain("secret cause");
});

it("two plugins cannot both have the page", async () => {
  await expect(
    setupGateway({ plugins: [lead("one"), lead("two")], client: false }),
  ).rejects.toMatchObject({
    code: "exists",
    message: expect.stringMatching(/"one".*"two"/),
  });
});
