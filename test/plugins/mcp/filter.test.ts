import type { Listed } from "propylon/kit";
import { afterEach, describe, expect, it } from "vitest";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { endpointSchema } from "../../../core/config/schema.ts";
import type { EndpointContent } from "../../../core/plugin/endpoint-server.ts";
import { View } from "../../../plugins/mcp/view/view.ts";
import { FakeServer, legacyClient, sdk2Client, serve, text, type Served } from "./kit.ts";

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

const reply = () => text("x");
const hidden = new Set<string>();
const shows = ({ server, kind, name }: Listed): boolean => {
  asked++;
  return !hidden.has(server) && !hidden.has(`${server} ${kind} ${name}`);
};
let asked = 0;
afterEach(() => hidden.clear());

function view(servers: FakeServer[], naming: "none" | "auto" = "auto") {
  const config: EndpointContent["config"] = { ...endpointSchema.parse({}), naming };
  return new View({ config, servers, selection: new Map(), shows });
}

const listed = (made: View, method: keyof View["lists"]): unknown[] => {
  const message = JSON.parse(made.lists[method].encode(1, "modern", {}).join("")) as {
    result: Record<string, { name: string }[]>;
  };
  return Object.values(message.result)
    .find((member) => Array.isArray(member))!
    .map(({ name }) => name);
};

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(holds, { interval: 5 }).toBe(true);
}

describe("what a filter hides", () => {
  it("is in no list, keeps its way, and does not rename its neighbours", () => {
    const servers = [
      new FakeServer("one").tool("echo", reply),
      new FakeServer("two").tool("echo", reply).tool("add", reply),
    ];
    hidden.add("one tool echo");
    const made = view(servers);
    expect(listed(made, "tools/list")).toEqual(["two__echo", "add"]);
    expect(made.tools.get("one__echo")?.server.name).toBe("one");
  });

  it("never takes the place of something that is shown", () => {
    const content = { resources: [{ uri: "x://a", name: "a" }], capabilities: { resources: {} } };
    const one = new FakeServer("one", content).tool("echo", reply);
    const two = new FakeServer("two", content).tool("echo", reply);
    hidden.add("one");
    const made = view([one, two], "none");
    expect(made.tools.get("echo")?.server).toBe(two);
    expect(made.resource("x://a")?.server).toBe(two);
    expect(made.problems).toEqual([]);
  });

  it("is not watched: subscriptions end at its server while it is hidden, and begin again with it", async () => {
    const note = { uri: "x://a", name: "a" };
    const server = new FakeServer("one", {
      resources: [note],
      capabilities: { resources: { subscribe: true } },
    });
    served = await serve([server]);
    served.endpoint.update({ ...served.content([server]), shows });
    const client = await legacyClient(served.url);
    await client.subscribeResource({ uri: note.uri });
    hidden.add("one");
    served.endpoint.relist();
    await until(() => server.subscribed.join() === "+x://a,-x://a");
    await expect(client.subscribeResource({ uri: "x://other" })).rejects.toThrow(
      "Resource not found",
    );
    hidden.delete("one");
    served.endpoint.relist();
    await until(() => server.subscribed.join() === "+x://a,-x://a,+x://a");
    await client.close();
  });

  it.each(["legacy", "modern"] as const)(
    "clients of the %s era are told and see the new lists; a thousand changes at once are one rebuild",
    async (era) => {
      const server = new FakeServer("one").tool("echo", reply).tool("add", reply);
      served = await serve([server]);
      served.endpoint.update({ ...served.content([server]), shows });
      const client = await sdk2Client(served.url, era);
      const old = await legacyClient(served.url);
      let told = 0;
      old.setNotificationHandler(ToolListChangedNotificationSchema, () => void told++);
      hidden.add("one tool echo");
      asked = 0;
      for (let change = 0; change < 1_000; change++) served.endpoint.relist();
      const names = async () => (await client.listTools()).tools.map(({ name }) => name).join();
      await until(async () => (await names()) === "add");
      await until(() => told > 0);
      expect([told, asked]).toEqual([1, 2]);
      expect((await client.callTool({ name: "echo", arguments: {} })).content).toEqual([
        { type: "text", text: "x" },
      ]);
      await Promise.all([client.close(), old.close()]);
    },
  );

  it("the modern era's listener hears of it too", async () => {
    const server = new FakeServer("one").tool("echo", reply);
    served = await serve([server]);
    served.endpoint.update({ ...served.content([server]), shows });
    const client = await sdk2Client(served.url, "modern");
    let told = 0;
    client.setNotificationHandler("notifications/tools/list_changed", () => void told++);
    const subscription = await client.listen({ toolsListChanged: true });
    hidden.add("one tool echo");
    served.endpoint.relist();
    await until(() => told > 0);
    expect(told).toBe(1);
    await subscription.close();
    await client.close();
  });
});
