import fc from "fast-check";
import type { Era } from "./speaker.ts";

/** What the fuzz throws: JSON-RPC and HTTP that almost make sense, because plain noise never gets behind the first check. */
const ERAS: readonly Era[] = ["legacy", "modern"];

const METHODS = [
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/read",
  "resources/templates/list",
  "resources/subscribe",
  "resources/unsubscribe",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "server/discover",
  "subscriptions/listen",
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/roots/list_changed",
  "tasks/list",
  "rpc.discover",
  "__proto__",
  "constructor",
  "toString",
  "tools/Call",
  "",
];

/** Names and values that mean something somewhere, so that the fuzz gets behind the first check. */
const known = fc.constantFrom<unknown>(
  "echo",
  "target__echo",
  "anything",
  "broken",
  "memo://one",
  "memo://",
  "greet",
  "debug",
  "emergency",
  "one",
  0,
  -1,
  1e308,
  2 ** 53,
  "",
  null,
  true,
  [],
  {},
  { type: "ref/prompt", name: "greet" },
  { type: "ref/resource", uri: "memo://{id}" },
  { name: "who", value: "x" },
  // String() of it throws.
  { toString: 1 },
  "\u0000",
  "\ud800",
  "__proto__",
  "😀",
);
const anything = fc.oneof(
  { weight: 3, arbitrary: known },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
);
const key = fc.oneof(
  fc.constantFrom(
    "name",
    "uri",
    "arguments",
    "ref",
    "argument",
    "level",
    "cursor",
    "_meta",
    "requestId",
    "progressToken",
    "protocolVersion",
    "capabilities",
    "clientInfo",
    "notifications",
    "inputResponses",
    "requestState",
    "text",
    "__proto__",
    "constructor",
  ),
  fc.string({ maxLength: 8 }),
);
const params = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.dictionary(
      key,
      fc.oneof(anything, fc.dictionary(key, anything, { maxKeys: 4 })),
      { maxKeys: 6 },
    ),
  },
  { weight: 1, arbitrary: anything },
);
const id = fc.oneof(
  { weight: 4, arbitrary: fc.oneof(fc.integer(), fc.string({ maxLength: 20 })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      null,
      1.5,
      {},
      [],
      true,
      -0,
      Number.MAX_SAFE_INTEGER,
      "x".repeat(1_000),
    ),
  },
);

/** A JSON-RPC message that is right in some respects and wrong in others. */
const message = fc.record(
  {
    jsonrpc: fc.oneof(
      { weight: 9, arbitrary: fc.constant<unknown>("2.0") },
      { weight: 1, arbitrary: fc.constantFrom<unknown>("1.0", 2, null, "2.00") },
    ),
    id,
    method: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom<unknown>(...METHODS) },
      { weight: 1, arbitrary: anything },
    ),
    params,
    result: anything,
    error: anything,
  },
  { requiredKeys: [] },
);
/** What a client would send, but for its contents. */
const request = fc.record(
  { jsonrpc: fc.constant("2.0"), id, method: fc.constantFrom(...METHODS), params },
  { requiredKeys: ["jsonrpc", "method"] },
);
const weighted = fc.oneof(
  { weight: 8, arbitrary: request },
  { weight: 2, arbitrary: message },
  { weight: 1, arbitrary: fc.array(message, { maxLength: 4 }) },
  { weight: 1, arbitrary: anything },
);

/** What happens to the text on its way: usually nothing. */
const damage = fc.oneof(
  { weight: 8, arbitrary: fc.constant((text: string) => text) },
  { weight: 1, arbitrary: fc.nat(200).map((cut) => (text: string) => text.slice(0, cut)) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(200), fc.string({ maxLength: 3, unit: "binary" })).map(
      ([at, noise]) =>
        (text: string) =>
          text.slice(0, at) + noise + text.slice(at),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constant((text: string) => text.replace("{", '{"id":"first","method":"ping",')),
  },
);

/** One message on its way to a gateway. */
export const shot = fc.record({
  era: fc.constantFrom(...ERAS),
  value: weighted,
  complete: fc.integer({ min: 0, max: 3 }),
  damage,
  headers: fc.oneof(
    { weight: 6, arbitrary: fc.constant({}) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Record<string, string>>(
        { "mcp-method": "tools/call" },
        { "mcp-name": "other" },
        { "mcp-protocol-version": "1999-01-01" },
        { "mcp-session-id": "nobody" },
        { accept: "text/html" },
        { accept: "application/json" },
        { "content-type": "text/plain" },
        { "last-event-id": "7" },
      ),
    },
  ),
});

export type Shot = typeof shot extends fc.Arbitrary<infer T> ? T : never;

/** HTTP as written by somebody who has only heard of it. */
export function rawRequest(host: string): fc.Arbitrary<Buffer> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  const line = fc.tuple(
    fc.constantFrom(
      "GET",
      "POST",
      "DELETE",
      "PUT",
      "OPTIONS",
      "HEAD",
      "TRACE",
      "PATCH",
      "CONNECT",
      "PRI",
      "get",
      "",
      "G\0T",
    ),
    fc.oneof(
      fc.constantFrom(
        "/mcp",
        "/",
        "/livez",
        "/readyz?verbose",
        "/route",
        "*",
        "/mcp/../route",
        "//mcp",
        "http://evil/mcp",
        "/%",
        "mcp",
        "",
      ),
      fc.webPath(),
      fc.string(),
    ),
    fc.constantFrom(
      "HTTP/1.1",
      "HTTP/1.1",
      "HTTP/1.1",
      "HTTP/1.0",
      "HTTP/2.0",
      "HTTP/9.9",
      "http/1.1",
      "",
    ),
  );
  const header = fc.oneof(
    fc.constantFrom(
      `Host: ${host}`,
      "Host: evil",
      "Origin: http://evil",
      `Origin: http://${host}`,
      `Content-Length: ${body.length}`,
      "Content-Length: 5",
      "Content-Length: -5",
      "Transfer-Encoding: chunked",
      "Transfer-Encoding: gzip",
      "Expect: 100-continue",
      "Expect: the unexpected",
      "Upgrade: websocket",
      "Connection: Upgrade, keep-alive",
      "Content-Type: application/json",
      "Accept: application/json, text/event-stream",
      "Accept: text/html",
      "Mcp-Session-Id: x",
      "MCP-Protocol-Version: 2026-07-28",
      "Authorization: Bearer",
      "Cookie: a=b",
      "Range: bytes=0-",
      "Content-Encoding: gzip",
      ": empty",
      "NoColon",
      " folded",
    ),
    fc
      .tuple(fc.string({ maxLength: 10 }), fc.string({ maxLength: 30 }))
      .map(([name, value]) => `${name}: ${value}`),
  );
  const headers = fc
    .tuple(fc.boolean(), fc.array(header, { maxLength: 8 }))
    .map(([withHost, lines]) => [...(withHost ? [`Host: ${host}`] : []), ...lines]);
  const payload = fc.oneof(
    fc.constant(body),
    fc.constant(""),
    fc.constant(`28\r\n${body}\r\n0\r\n\r\n`),
    fc.string({ maxLength: 60 }),
    fc.constant("\r\n".repeat(20)),
  );
  const ending = fc.constantFrom("\r\n", "\r\n", "\r\n", "\n", "\r");
  return fc
    .tuple(line, headers, payload, ending)
    .map(([words, lines, content, end]) =>
      Buffer.from(
        `${words.join(" ")}${end}${lines.map((text) => text + end).join("")}${end}${content}`,
      ),
    );
}
