import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ask, exchange, openRig, parseAnswer, type Rig } from "./wire.ts";
import { rounds } from "../../fixtures/ci.ts";

let rig: Rig;
beforeAll(async () => {
  rig = await openRig({ limits: { body: 1_000 } });
});
beforeEach(() => void rig.reached.splice(0));
afterAll(() => rig.listener.close(0));

/** What an attacker wants the gateway to take for a second request. */
const INNER = "GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const CHUNKS = `0\r\n\r\n${INNER}`;

/** Framing headers, body, and what is right: refused, or read as one request of so many bytes. */
const AMBIGUOUS: readonly (readonly [
  title: string,
  headers: string,
  body: string,
  expected: 400 | string,
])[] = [
  [
    "Content-Length and Transfer-Encoding",
    `Content-Length: ${CHUNKS.length}\r\nTransfer-Encoding: chunked`,
    CHUNKS,
    400,
  ],
  [
    "Transfer-Encoding and Content-Length",
    `Transfer-Encoding: chunked\r\nContent-Length: ${CHUNKS.length}`,
    CHUNKS,
    400,
  ],
  ["two different Content-Lengths", "Content-Length: 3\r\nContent-Length: 40", `abc${INNER}`, 400],
  ["two equal Content-Lengths", "Content-Length: 3\r\nContent-Length: 3", `abc${INNER}`, 400],
  ["a list of Content-Lengths", "Content-Length: 3, 3", `abc${INNER}`, 400],
  ["a signed Content-Length", "Content-Length: +3", `abc${INNER}`, 400],
  ["a negative Content-Length", "Content-Length: -1", INNER, 400],
  ["a hexadecimal Content-Length", "Content-Length: 0x3", `abc${INNER}`, 400],
  ["an empty Content-Length", "Content-Length:", INNER, 400],
  ["a fractional Content-Length", "Content-Length: 3.0", `abc${INNER}`, 400],
  ["an exponent as Content-Length", "Content-Length: 3e0", `abc${INNER}`, 400],
  ["an overflowing Content-Length", "Content-Length: 18446744073709551619", `abc${INNER}`, 400],
  ["white space inside Content-Length", "Content-Length: 1 3", `abc${INNER}`, 400],
  ["a space before the colon of Content-Length", "Content-Length : 3", `abc${INNER}`, 400],
  ["a space before the colon of Transfer-Encoding", "Transfer-Encoding : chunked", CHUNKS, 400],
  ["a tab before the colon", "Transfer-Encoding\t: chunked", CHUNKS, 400],
  ["chunked, then identity", "Transfer-Encoding: chunked, identity", CHUNKS, 400],
  [
    "chunKed, then identity, as two headers",
    "Transfer-Encoding: chunKed\r\nTransfer-Encoding: identity",
    CHUNKS,
    400,
  ],
  ["an unknown coding", "Transfer-Encoding: xchunked", CHUNKS, 400],
  ["a quoted coding", 'Transfer-Encoding: "chunked"', CHUNKS, 400],
  ["chunked behind a control character", "Transfer-Encoding: \x0bchunked", CHUNKS, 400],
  ["a folded header", "Transfer-Encoding:\r\n chunked", CHUNKS, 400],
  ["a bare LF between headers", "X: y\nTransfer-Encoding: chunked", CHUNKS, 400],
  ["a bare CR between headers", "X: y\rTransfer-Encoding: chunked", CHUNKS, 400],
  ["a NUL in a header", "X: \0\r\nContent-Length: 3", `abc${INNER}`, 400],
  ["a header line without a colon", "Transfer-Encoding chunked", CHUNKS, 400],
  ["a negative chunk size", "Transfer-Encoding: chunked", `-1\r\n\r\n${INNER}`, 400],
  ["a chunk size with 0x", "Transfer-Encoding: chunked", `0x3\r\nabc\r\n0\r\n\r\n${INNER}`, 400],
  [
    "an overflowing chunk size",
    "Transfer-Encoding: chunked",
    `fffffffffffffffff\r\nabc\r\n${INNER}`,
    400,
  ],
  [
    "a chunk longer than its size",
    "Transfer-Encoding: chunked",
    `3\r\nabcd\r\n0\r\n\r\n${INNER}`,
    400,
  ],
  ["a chunk ended by a bare LF", "Transfer-Encoding: chunked", `3\nabc\n0\n\n${INNER}`, 400],
  [
    "a size line ended by a bare LF",
    "Transfer-Encoding: chunked",
    `3\nabc\r\n0\r\n\r\n${INNER}`,
    400,
  ],
];

describe("T11: request smuggling", () => {
  it.each(AMBIGUOUS)(
    "refuses %s and closes the connection",
    async (_title, headers, body, expected) => {
      const said = await exchange(
        rig.port,
        `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${rig.port}\r\n${headers}\r\n\r\n${body}`,
      );
      expect(said.match(/HTTP\/1\.1 \d/g)?.length ?? 0).toBeLessThanOrEqual(1);
      expect(said === "" ? 400 : parseAnswer(said).status).toBe(expected);
      expect(rig.reached.filter((request) => request.includes("smuggled"))).toEqual([]);
    },
  );

  it.each(["gzip, chunked", "identity, chunked", "deflate,chunked", "xyz, CHUNKED"])(
    "S4: the transfer coding %s is 501, and the connection ends",
    async (coding) => {
      const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${rig.port}\r\nTransfer-Encoding: ${coding}`;
      const said = await exchange(rig.port, `${head}\r\n\r\n3\r\nabc\r\n${CHUNKS}`);
      expect(said.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
      expect(parseAnswer(said).status).toBe(501);
      expect(said.toLowerCase()).toContain("connection: close");
      expect(rig.reached).toEqual([]);
    },
  );

  it("S4: chunked in other letters is read", async () => {
    const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${rig.port}\r\nConnection: close`;
    const said = await exchange(
      rig.port,
      `${head}\r\nTransfer-Encoding: CHUNKED\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
    );
    expect(said).toContain("size 3");
  });

  it("reads no more of a body than Content-Length says, and takes the rest for the next request it is", async () => {
    const host = `Host: 127.0.0.1:${rig.port}`;
    const said = await exchange(
      rig.port,
      `POST /mcp HTTP/1.1\r\n${host}\r\nContent-Length: 3\r\n\r\nabcGET /next HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`,
    );
    expect(said).toContain("size 3");
    expect(rig.reached).toEqual(["POST endpoint", "GET /next"]);
  });
});

/** Ways to write a guarded path that some servers decode, collapse or cut before they compare (T9). */
const VARIANTS = [
  "//mcp",
  "/mcp/",
  "/mcp//",
  "/./mcp",
  "/x/../mcp",
  "/mcp/.",
  "/mcp/..",
  "/mcp/x",
  "/%6dcp",
  "/m%63p",
  "/%2fmcp",
  "/mcp%2f",
  "/mcp%00",
  "/mcp;x",
  "/MCP",
  "/mcp\\",
  "\\mcp",
  "/mcp%20",
  "/mcp.json",
  "/mcp#x",
  "/.//mcp",
  "/%2e/mcp",
  "/mcp%3fx",
  "/..;/mcp",
];

describe("T9: paths and hosts", () => {
  it.each(VARIANTS)("does not take %s for /mcp", async (path) => {
    const { status } = await ask(
      rig.port,
      `POST ${path} HTTP/1.1`,
      [`Host: 127.0.0.1:${rig.port}`],
      "x",
    );
    expect(rig.reached).not.toContain("POST endpoint");
    expect(status).toBeGreaterThanOrEqual(200);
    expect(status).toBeLessThan(500);
  });

  it.each([
    "evil.example",
    "127.0.0.1:1",
    "127.0.0.1",
    "127.0.0.1@evil.example",
    "evil.example#",
    "[::1",
    "localhost:99999999",
    "\x80\xff",
  ])("refuses the Host %j", async (host) => {
    expect((await ask(rig.port, "POST /mcp HTTP/1.1", [`Host: ${host}`], "x")).status).toBe(403);
    expect(rig.reached).toEqual([]);
  });

  it("X-Forwarded-Host and its kin change nothing", async () => {
    const forged = [
      "X-Forwarded-Host: evil.example",
      "Forwarded: host=evil.example",
      "X-Original-URL: /mcp",
      "X-Rewrite-URL: /mcp",
    ];
    const answer = await ask(rig.port, "GET /plain HTTP/1.1", [
      `Host: 127.0.0.1:${rig.port}`,
      ...forged,
    ]);
    expect(answer.status).toBe(200);
    expect(rig.reached).toEqual(["GET /plain"]);
  });

  it("of random paths, only /mcp itself reaches the endpoint, and nothing is a 5xx", async () => {
    const segment = fc.oneof(
      fc.constantFrom("mcp", ".", "..", "", "%2e%2e", "%6dcp", "\\", ";", "%00", "%", "%zz"),
      fc.webSegment(),
    );
    const path = fc.tuple(
      fc.array(segment, { minLength: 1, maxLength: 5 }),
      fc.constantFrom("", "?", "?a=/mcp", "/", "%3f"),
    );
    await fc.assert(
      fc.asyncProperty(path, async ([segments, tail]) => {
        rig.reached.length = 0;
        const target = `/${segments.join("/")}${tail}`;
        const { status } = await ask(
          rig.port,
          `POST ${target} HTTP/1.1`,
          [`Host: 127.0.0.1:${rig.port}`],
          "x",
        );
        expect(status).toBeGreaterThanOrEqual(200);
        expect(status).toBeLessThan(500);
        expect(rig.reached.includes("POST endpoint")).toBe(/^\/mcp(\?|$)/.test(target));
      }),
      { numRuns: rounds(1_500) },
    );
  });
});
