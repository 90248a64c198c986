import { expect, it, vi } from "vitest";
import { definePlugin, type PluginContext } from "../../../core/index.ts";
import { perGeneration } from "../../../core/kit.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { rpc, say } from "../a2a-standard/kit.ts";
import { messageOf, post, startScripted } from "../a2a-contract/kit.ts";

/** Holds the context of a plugin, for a test that looks at the gateway from within. */
function insider(): { plugin: ReturnType<typeof definePlugin>; context: () => PluginContext } {
  const held: { context?: PluginContext } = {};
  const plugin = definePlugin({
    name: "insider",
    setup: (gateway) => void (held.context = gateway),
  });
  return { plugin, context: () => held.context! };
}

it("47: no request of A2A describes the gateway or masks its config", async () => {
  const { plugin, context } = insider();
  const { url } = await startScripted({ plugins: [plugin] });
  const ask = async (): Promise<void> => {
    const { messageId } = say("m");
    const message = { messageId, role: "ROLE_USER", parts: [{ text: "hello" }] };
    const standard = await rpc(url, "SendMessage", { message });
    expect(standard.body.result?.task).toBeDefined();
    const own = await post(url, messageOf("hello", { messageId: say("m").messageId }));
    expect(own.status).toBe(200);
    for (const path of [".well-known/agent-card.json", "runtime-contract.json"])
      expect((await fetch(new URL(path, url))).status).toBe(200);
  };
  await ask();
  const { info } = context();
  const described = vi.spyOn(info, "describe");
  const masked = vi.spyOn(info, "effectiveConfig");
  await ask();
  expect([described.mock.calls.length, masked.mock.calls.length]).toEqual([0, 0]);
  described.mockRestore();
  masked.mockRestore();
});

it("what is worked out per config is worked out again for the next one, and once the ports are known", async () => {
  let made = 0;
  let read: () => string = () => "";
  const early: string[] = [];
  const plugin = definePlugin({
    name: "reader",
    setup(gateway) {
      read = perGeneration(gateway, () => `${++made} ${gateway.info.describe().listeners[0]!.url}`);
      early.push(read(), read());
    },
  });
  const { gateway, url } = await setupGateway({ plugins: [plugin], client: false });
  expect(new Set(early).size).toBe(1);
  expect(read()).toBe(`2 ${url}`);
  expect(read()).toBe(`2 ${url}`);
  await gateway.apply({ ...gateway.written, name: "other" });
  read();
  const after = made;
  read();
  expect(made).toBe(after);
});
