import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  classify,
  readableId,
  readClientMessage,
} from "../../../plugins/mcp/message/client-message.ts";
import { META_CAPABILITIES, META_VERSION } from "../../../plugins/mcp/message/protocol.ts";
import { rounds } from "../../fixtures/ci.ts";

const id = fc.oneof(fc.string(), fc.maxSafeInteger());
const params = fc.option(fc.dictionary(fc.string(), fc.jsonValue()), { nil: undefined });

describe("readMessage", () => {
  it("T13: keeps ids and parameters of any request exactly, their types included", () => {
    fc.assert(
      fc.property(id, fc.string(), params, (requestId, method, given) => {
        const wire = JSON.parse(
          JSON.stringify({ jsonrpc: "2.0", id: requestId, method, params: given }),
        ) as unknown;
        const message = readClientMessage(wire);
        expect(message).toMatchObject({ kind: "request", method });
        expect(
          message?.kind === "request" && Object.is(message.id, requestId === 0 ? 0 : requestId),
        ).toBe(true);
      }),
    );
  });

  it("never throws and only ever gives one of three kinds", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const message = readClientMessage(value);
        expect([undefined, "request", "notification", "response"]).toContain(message?.kind);
      }),
      { numRuns: rounds(1_000) },
    );
  });

  it.each([
    ["no version", { id: 1, method: "ping" }],
    ["wrong version", { jsonrpc: "1.0", id: 1, method: "ping" }],
    ["id null", { jsonrpc: "2.0", id: null, method: "ping" }],
    ["fractional id", { jsonrpc: "2.0", id: 1.5, method: "ping" }],
    ["object id", { jsonrpc: "2.0", id: {}, method: "ping" }],
    ["method not a string", { jsonrpc: "2.0", id: 1, method: 7 }],
    ["array params", { jsonrpc: "2.0", id: 1, method: "ping", params: [] }],
    ["result and error", { jsonrpc: "2.0", id: 1, result: {}, error: { code: 1, message: "" } }],
    ["neither result nor error", { jsonrpc: "2.0", id: 1 }],
    ["an array", [{ jsonrpc: "2.0", id: 1, method: "ping" }]],
    ["a string", "ping"],
  ])("refuses %s", (_what, value) => {
    expect(readClientMessage(value)).toBeUndefined();
  });

  it("answers a broken request under its own id when that can be read", () => {
    expect(readableId({ id: "a", method: "x" })).toBe("a");
    expect(readableId({ id: {}, method: "x" })).toBeNull();
    expect(readableId({ id: 1 })).toBeNull();
  });
});

describe("classify", () => {
  const request = (meta?: object, method = "tools/list") =>
    readClientMessage({ jsonrpc: "2.0", id: 1, method, ...(meta && { params: { _meta: meta } }) })!;
  const modern = { [META_VERSION]: "2026-07-28", [META_CAPABILITIES]: {} };

  it("is total: every message and header gives an era or a fault with a 4xx status", () => {
    const version = fc.oneof(
      fc.constantFrom("2025-11-25", "2026-07-28", "v999.0.0", ""),
      fc.string(),
    );
    const claim = fc.option(fc.oneof(version, fc.jsonValue()), { nil: undefined });
    fc.assert(
      fc.property(
        fc.constantFrom("initialize", "tools/call", "x"),
        claim,
        fc.option(version, { nil: undefined }),
        fc.boolean(),
        (method, body, header, caps) => {
          const meta = {
            ...(body !== undefined && { [META_VERSION]: body }),
            ...(caps && { [META_CAPABILITIES]: {} }),
          };
          const era = classify(
            request(meta, method),
            header === undefined ? {} : { "mcp-protocol-version": header },
          );
          expect(["legacy", "modern", 400]).toContain(typeof era === "object" ? era.status : era);
        },
      ),
      { numRuns: rounds(1_000) },
    );
  });

  it.each([
    ["no claim at all", undefined, undefined, "legacy"],
    ["a legacy header", undefined, "2025-11-25", "legacy"],
    ["claim and header", modern, "2026-07-28", "modern"],
    ["a claim alone", modern, undefined, "modern"],
  ])("%s", (_what, meta, header, era) => {
    expect(
      classify(request(meta), header === undefined ? {} : { "mcp-protocol-version": header }),
    ).toBe(era);
  });

  it.each([
    ["a modern header without claim", undefined, "2026-07-28", -32602],
    ["a claim without capabilities", { [META_VERSION]: "2026-07-28" }, "2026-07-28", -32602],
    ["a claim that is no string", { ...modern, [META_VERSION]: 5 }, undefined, -32602],
    ["header and claim apart", modern, "2025-11-25", -32020],
    ["a version nobody knows", { ...modern, [META_VERSION]: "v999.0.0" }, "v999.0.0", -32022],
  ])("T12: refuses %s", (_what, meta, header, code) => {
    expect(
      classify(request(meta), header === undefined ? {} : { "mcp-protocol-version": header }),
    ).toMatchObject({ status: 400, code });
  });

  it("initialize is legacy, unless a modern client sends it", () => {
    const initialize = readClientMessage({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {},
    })!;
    expect(classify(initialize, {})).toBe("legacy");
    expect(classify(initialize, { "mcp-protocol-version": "2026-07-28" })).toMatchObject({
      code: -32020,
    });
    expect(classify(request(modern, "initialize"), {})).toBe("modern");
  });
});
