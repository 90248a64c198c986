import fc from "fast-check";
import { expect, it } from "vitest";
import { isGatewayError, type GatewayError, type Json } from "../../../core/index.ts";
import { isUtf8Json, readEnvelope, type Envelope } from "../../../plugins/a2a/dialect/request.ts";
import { rounds } from "../../fixtures/ci.ts";

/** Anything that JSON can be, often with the names that matter. */
const member = fc.oneof(fc.jsonValue(), fc.constantFrom("user", "agent", "", null, []));
const message = fc.dictionary(
  fc.constantFrom("messageId", "taskId", "contextId", "role", "parts", "metadata", "other"),
  member,
);
const body = fc.record(
  { message: fc.oneof(fc.jsonValue(), message), metadata: fc.jsonValue(), other: fc.jsonValue() },
  { requiredKeys: [] },
);

it("C42: whatever JSON comes is a message with an id, or a bad request that names what is wrong", () => {
  fc.assert(
    fc.property(body, (value) => {
      const read = attempt(value);
      const isTaken = !isGatewayError(read) && read.id !== "" && read.message.taskId === read.id;
      const isRefused = isGatewayError(read) && read.code === "bad_request" && read.data;
      expect(Boolean(isTaken || isRefused)).toBe(true);
    }),
    { numRuns: rounds(2_000) },
  );
});

it("R022: the ids that are there are taken as they are", () => {
  const ids = fc.string({ minLength: 1, maxLength: 100 });
  fc.assert(
    fc.property(ids, fc.option(ids, { nil: null }), (messageId, taskId) => {
      const parts = [{ text: "hello", odd: 1 }];
      const { id, message: taken } = readEnvelope({
        message: { messageId, taskId, role: "user", parts, more: [] },
      });
      expect(id).toBe(taskId ?? messageId);
      expect(taken).toEqual({ messageId, taskId: id, role: "user", parts, more: [] });
    }),
  );
});

it("R028: no content type but that of JSON is taken for it, and none throws", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map((rest) => `application/json${rest}`),
      ),
      (type) => {
        const taken = isUtf8Json(type);
        return !taken || /^\s*application\/json\s*(?:;|$)/i.test(type);
      },
    ),
    { numRuns: rounds(5_000) },
  );
  expect(isUtf8Json(null)).toBe(false);
});

function attempt(value: Json): Envelope | GatewayError {
  try {
    return readEnvelope(value);
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
}
