import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway, connectClient } from "../../../core/testing/index.ts";
import payloads from "../../../plugins/payloads/index.ts";

const TEXT = "ä1".repeat(40_000);

const producer = definePlugin({
  name: "producer",
  setup(gateway) {
    const input = z.object({ count: z.number().default(40_000) });
    gateway.tool("text", { description: "Text.", input, run: ({ count }) => "ä1".repeat(count) });
    gateway.tool("typed", {
      description: "Declared output.",
      output: z.object({ text: z.string() }),
      run: () => ({ text: TEXT }),
    });
    gateway.tool("fail", {
      description: "Fails.",
      run: () => ({ content: [{ type: "text", text: TEXT }], isError: true }),
    });
    gateway.tool("mixed", {
      description: "Text and image.",
      run: () => ({
        content: [
          { type: "text", text: TEXT },
          { type: "image", data: "QQ==", mimeType: "image/png" },
        ],
      }),
    });
  },
});

const OPTIONS = { results: { above: "64KiB", maxPreview: 100 } };

type Content = { type: string; text?: string; uri?: string; size?: number }[];

describe("large tool results", () => {
  it("become a preview, a note and a link, and are read back whole, in parts and as a resource", async () => {
    const { client } = await setupGateway({ plugins: [producer, [payloads, OPTIONS]] });
    const content = (await client.callTool({ name: "text", arguments: {} })).content as Content;
    expect(content.map(({ type }) => type)).toEqual(["text", "text", "resource_link"]);
    // 100 bytes end inside a character; the preview ends before it.
    expect(Buffer.byteLength(content[0]!.text!)).toBe(99);
    expect(content[2]!.size).toBe(120_000);
    const id = content[2]!.uri!.slice("payload://".length);
    let text = "";
    for (let offset: number | null = 0; offset !== null;) {
      const part = (
        await client.callTool({ name: "payload_read", arguments: { id, offset, length: 50_001 } })
      ).structuredContent as { text: string; next: number | null };
      text += part.text;
      offset = part.next;
    }
    expect(text).toBe(TEXT);
    const { contents } = await client.readResource({ uri: `payload://${id}` });
    expect(contents[0]).toMatchObject({ mimeType: "text/plain; charset=utf-8", text: TEXT });
  });

  it("leaves small ones, failures and declared output alone", async () => {
    const { client } = await setupGateway({ plugins: [producer, [payloads, OPTIONS]] });
    expect(
      (await client.callTool({ name: "text", arguments: { count: 10 } })).content,
    ).toHaveLength(1);
    expect((await client.callTool({ name: "fail", arguments: {} })).isError).toBe(true);
    expect((await client.callTool({ name: "typed", arguments: {} })).structuredContent).toEqual({
      text: TEXT,
    });
  });

  it("keeps what is not only text as JSON", async () => {
    const { client } = await setupGateway({ plugins: [producer, [payloads, OPTIONS]] });
    const content = (await client.callTool({ name: "mixed", arguments: {} })).content as Content;
    const { contents } = await client.readResource({ uri: content.at(-1)!.uri! });
    expect(JSON.parse((contents[0] as { text: string }).text).content[1].mimeType).toBe(
      "image/png",
    );
  });

  it.each([
    ["number", { maxPayloads: 8 }],
    ["bytes", { maxTotalSize: 4 * gzipSync(TEXT).length * 2 }],
  ])(
    "of one principal take a quarter of the room in %s; further ones come whole",
    async (_, room) => {
      const keys = { greedy: "greedy-key-0123456789", other: "other-key-0123456789" };
      const { gateway } = await setupGateway({
        plugins: [producer, [payloads, { ...OPTIONS, ...room }]],
        config: { auth: { keys: await hashes(keys) } },
        client: false,
      });
      const [endpoint] = gateway.endpoints;
      const stored = async (key: string, calls: number): Promise<boolean[]> => {
        const headers = { authorization: `Bearer ${key}` };
        const client = await connectClient(endpoint!.url, { headers });
        const answers = await Promise.all(
          Array.from({ length: calls }, () => client.callTool({ name: "text", arguments: {} })),
        );
        await client.close();
        return answers.map(({ content }) =>
          (content as Content).some(({ type }) => type === "resource_link"),
        );
      };
      expect((await stored(keys.greedy, 5)).filter(Boolean)).toHaveLength(2);
      expect(await stored(keys.other, 2)).toEqual([true, true]);
      expect(await (await gateway.manage()).metrics()).toContain(
        'payloads_not_stored_total{code="too_large"} 3',
      );
    },
  );

  it("are nobody else's: another principal reads nothing", async () => {
    const keys = { admin: "admin-key-0123456789", other: "other-key-0123456789" };
    const { gateway } = await setupGateway({
      plugins: [producer, [payloads, OPTIONS]],
      config: { auth: { keys: await hashes(keys) } },
      client: false,
    });
    const [endpoint] = gateway.endpoints;
    const as = (key: string) =>
      connectClient(endpoint!.url, { headers: { authorization: `Bearer ${key}` } });
    const one = await as(keys.admin);
    const other = await as(keys.other);
    const content = (await one.callTool({ name: "text", arguments: {} })).content as Content;
    const id = content.at(-1)!.uri!.slice("payload://".length);
    expect((await one.callTool({ name: "payload_read", arguments: { id } })).isError).toBeFalsy();
    expect((await other.callTool({ name: "payload_read", arguments: { id } })).isError).toBe(true);
    await expect(other.readResource({ uri: `payload://${id}` })).rejects.toThrow(/no such payload/);
    await Promise.all([one.close(), other.close()]);
  });
});

async function hashes(keys: Record<string, string>) {
  const { createHash } = await import("node:crypto");
  return Object.fromEntries(
    Object.entries(keys).map(([name, key]) => [
      name,
      { role: "caller" as const, hash: `sha256:${createHash("sha256").update(key).digest("hex")}` },
    ]),
  );
}
