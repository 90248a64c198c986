import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { expect, it } from "vitest";
import { setupGateway } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import gating from "../../../plugins/gating/index.ts";
import sessions from "../../../plugins/sessions/index.ts";
import ui from "../../../plugins/ui/index.ts";

const WORDS = "ui: the gateway wants a key, and nobody can sign in from a browser.";
const auth = { apiKey: "the-key-of-this-gateway" };

it.each([
  ["wants a key and has no sessions", { plugins: [ui], config: { auth } }, true],
  ["wants a key and has sessions", { plugins: [ui, sessions], config: { auth } }, false],
  ["lets everyone in", { plugins: [ui], config: {} }, false],
])("a gateway that %s tells so or not", async (_, options, isTold) => {
  const { gateway } = await setupGateway({ ...options, client: false });
  const told = collectWarnings(gateway).map(({ message }) => message);
  expect(told.includes(WORDS)).toBe(isTold);
});

it.each([
  ["without admin", { plugins: [ui], config: {} }, true],
  ["with admin", { plugins: [ui, gating, admin], config: {} }, false],
])(
  "newcomer 9: a gateway %s says that the pages have nothing to show, or not",
  async (_, options, isTold) => {
    const { gateway } = await setupGateway({ ...options, client: false });
    const told = collectWarnings(gateway).filter(({ path }) => path.join(".") === "plugins.ui");
    expect(told.map(({ hint }) => hint)).toEqual(isTold ? ["Add admin: {} to plugins."] : []);
  },
);
