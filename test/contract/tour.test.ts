import { expect, it } from "vitest";
import { tourOf } from "./tour.ts";

/** Files that one relayed call goes through, and the reload of one plugin's option. They only ever fall. */
const MAX_CALL = 40;
const MAX_RELOAD = 36;

it("a relayed call and the reload of an option go through few files", async () => {
  const { call, reload } = await tourOf();
  expect(call).toContain("core/call/pipeline");
  expect(reload).toContain("core/gateway/setup");
  // With the names, so that a failure shows what has come along.
  expect(call.slice(MAX_CALL)).toEqual([]);
  expect(reload.slice(MAX_RELOAD)).toEqual([]);
});
