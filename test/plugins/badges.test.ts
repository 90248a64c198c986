import { expect, it } from "vitest";
import { definePlugin } from "../../core/index.ts";
import { connectClient, setupGateway } from "../../core/testing/index.ts";
import badges from "../../playground/plugins/badges.ts";

const ADA = "badge_4f1d8a6c0b9e2d75a3";

const who = definePlugin({
  name: "who",
  setup(gateway) {
    gateway.tool("whoami", { description: "", run: (_args, { principal }) => principal.ref });
  },
});

const start = () =>
  setupGateway({ plugins: [[badges, { badges: { ada: ADA } }], who], client: false });

const statusOf = async (url: string, authorization?: string): Promise<number> => {
  const headers = authorization === undefined ? {} : { authorization };
  return (await fetch(`${url}/mcp`, { method: "POST", headers, body: "{}" })).status;
};

it("lets a person in by the badge, under the person's name", async () => {
  const { gateway, url } = await start();
  const client = await connectClient(`${url}/mcp`, {
    headers: { authorization: `Bearer ${ADA}` },
  });
  expect(await client.callTool({ name: "whoami", arguments: {} })).toMatchObject({
    content: [{ type: "text", text: "user:ada" }],
  });
  await client.close();
  expect(gateway.describe().authenticators).toEqual([{ name: "badges", plugin: "badges" }]);
});

it("refuses an unknown badge, other credentials, and none", async () => {
  const { url } = await start();
  for (const credentials of [undefined, "Bearer badge_unknown", `Basic ${ADA}`, "Bearer x"])
    expect(await statusOf(url, credentials)).toBe(401);
});
