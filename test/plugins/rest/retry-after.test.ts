import { expect, it } from "vitest";
import { startApiNamed } from "./kit.ts";

const DOCUMENT = JSON.stringify({
  openapi: "3.0.3",
  info: { title: "t", version: "1" },
  paths: { "/a": { get: { operationId: "a", responses: { "200": { description: "ok" } } } } },
});

/** An API that refuses every call, with a header or without. */
async function start(status: number, wait: string | undefined) {
  const headers = wait === undefined ? {} : { "retry-after": wait };
  return startApiNamed("shop", {
    document: () => DOCUMENT,
    answer: (_req, res) => void res.writeHead(status, headers).end(),
  });
}

const later = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toUTCString();

it.each([
  [429, "17", "17"],
  [503, "0", "0"],
  [429, " 2.5", "3"],
  [503, later(3_600), /^3[56]\d\d$/],
  [503, later(-60), "0"],
] as const)(
  "line 21: an API's %i with Retry-After %j tells models and callers over HTTP when to try again",
  async (status, sent, told) => {
    const { client, url } = await start(status, sent);
    const { content, isError } = (await client.callTool({ name: "a", arguments: {} })) as {
      content: { text: string }[];
      isError: boolean;
    };
    expect(isError).toBe(true);
    const said = /^HTTP \d{3} [\w ]+\. Try again in (\d+) s\.$/.exec(content[0]!.text)?.[1];
    const response = await fetch(new URL("/shop/a", url), { method: "POST" });
    expect(response.status).toBe(502);
    for (const wait of [said, response.headers.get("retry-after")])
      expect(wait).toMatch(typeof told === "string" ? new RegExp(`^${told}$`) : told);
  },
);

it.each([undefined, "soon", "-3", "1e9", "17, 18", "9".repeat(400)])(
  "line 21: a Retry-After of %j tells nobody anything",
  async (sent) => {
    const { client, url } = await start(429, sent);
    const { content } = await client.callTool({ name: "a", arguments: {} });
    expect(content).toEqual([{ type: "text", text: "HTTP 429 Too Many Requests." }]);
    const response = await fetch(new URL("/shop/a", url), { method: "POST" });
    expect([response.status, response.headers.get("retry-after")]).toEqual([502, null]);
  },
);
