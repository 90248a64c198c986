import { expect, it } from "vitest";
import { until } from "./until.ts";

it.each([undefined, false, null, "", 0] as const)(
  "%j is not what was waited for",
  async (before) => {
    const looks = [before, "found"];
    expect(await until(() => looks.shift())).toBe("found");
  },
);
