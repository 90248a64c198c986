import { afterAll, beforeAll, expect, it } from "vitest";
import { LOGIN_INPUTS } from "./login-inputs.ts";
import { type LoginScene, openLoginScene } from "./login-scene.ts";
import { INPUT_MS, tryInput } from "./trials.ts";

let scene: LoginScene;

beforeAll(async () => {
  scene = await openLoginScene();
}, 60_000);

afterAll(() => scene.close());

it.each(LOGIN_INPUTS)(
  "S1-1, S1-2, S2-1: the worst of 4 MB neither hold the event loop nor take much memory: $name",
  async (input) => expect(await tryInput(scene, input)).toEqual([]),
  INPUT_MS,
);

it("S1-3: SIGTERM ends it in order afterwards", async () => {
  expect(await scene.gateway.stop()).toBe("0");
});
