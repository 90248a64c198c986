import { afterAll, beforeAll, expect, it } from "vitest";
import { CLIENT_INPUTS } from "./client-inputs.ts";
import { LAST_INPUTS, ROUTE_INPUTS } from "./route-inputs.ts";
import { UPSTREAM_INPUTS } from "./upstream-inputs.ts";
import { openScene, type Scene } from "./scene.ts";
import { INPUT_MS, tryInput } from "./trials.ts";

let scene: Scene;

beforeAll(async () => {
  scene = await openScene();
}, 60_000);

afterAll(() => scene.close());

it.each([...ROUTE_INPUTS, ...CLIENT_INPUTS, ...UPSTREAM_INPUTS, ...LAST_INPUTS])(
  "S1-1, S1-2, S2-1: the worst of 4 MB neither hold the event loop nor take much memory: $name",
  async (input) => expect(await tryInput(scene, input)).toEqual([]),
  INPUT_MS,
);

it("S1-3: SIGTERM ends it in order afterwards", async () => {
  expect(await scene.gateway.stop()).toBe("0");
});
