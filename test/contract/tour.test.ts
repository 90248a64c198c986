import { expect, it } from "vitest";
import { tourOf } from "./tour.ts";

/** Files that one relayed call goes through, the reload of one plugin's option, and a message of A2A. They only ever fall. */
const MAX_CALL = 40;
const MAX_RELOAD = 36;
const MAX_MESSAGE = 77;

it("a relayed call, the reload of an option and a message of A2A go through few files", async () => {
  const { call, reload, message } = await tourOf();
  expect(call).toContain("core/call/pipeline");
  expect(reload).toContain("core/gateway/setup");
  // With the names, so that a failure shows what has come along.
  expect(call.slice(MAX_CALL)).toEqual([]);
  expect(reload.slice(MAX_RELOAD)).toEqual([]);
  expect(message).toContain("plugins/a2a/tasks/request-handler");
  expect(message.slice(MAX_MESSAGE)).toEqual([]);
});
