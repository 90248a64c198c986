import { randomUUID } from "node:crypto";
import type { Json } from "propylon";
import { expect } from "vitest";
import type { RelayClient } from "./person.ts";

/** What one client must see of one feature, whatever lies between it and the server. */
export type Feature = (client: RelayClient) => Promise<void>;

const WATCHED = "test://watched-resource";

/** The rows of the relay matrix; clients are called Ada. */
export const FEATURES: Readonly<Record<string, Feature>> = {
  async progress(client) {
    const nonce = randomUUID();
    await client.call("relay_work", { nonce, steps: 4 }, { progress: true });
    expect(reported(client)).toEqual([1, 2, 3, 4]);
    expect(client.heard.about("progress")).toEqual([nonce, nonce, nonce, nonce]);
  },

  async "progress, strictly increasing even from a server that repeats itself"(client) {
    await client.call("relay_stutter", {}, { progress: true });
    const values = reported(client);
    expect(values.length).toBeGreaterThanOrEqual(3);
    expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b));
  },

  async "a cancel, which ends the work at the server"(client) {
    const [nonce, abort] = [randomUUID(), new AbortController()];
    const ended = client
      .call("relay_wait", { nonce }, { signal: abort.signal })
      .catch((error: unknown) => error);
    await client.call("relay_observed", { nonce, state: "started" });
    abort.abort();
    expect(await ended).toBeInstanceOf(Error);
    expect(textOf(await client.call("relay_observed", { nonce, state: "cancelled" }))).toBe(
      "cancelled",
    );
  },

  async logging(client) {
    const nonce = randomUUID();
    await client.call("relay_work", { nonce, steps: 2 });
    expect(client.heard.about("log")).toEqual([nonce, nonce]);
  },

  async "list_changed, after which the list differs"(client) {
    const before = await client.listTools();
    await client.listen([]);
    await client.call("test_trigger_tool_change", {});
    await client.heard.until("changed", "tools");
    const after = await client.listTools();
    expect(after.includes("test_coming_tool")).toBe(!before.includes("test_coming_tool"));
    await client.call("test_trigger_prompt_change", {});
    await client.heard.until("changed", "prompts");
  },

  async elicitation(client) {
    const message = `elicit ${randomUUID()}`;
    expect(textOf(await client.call("test_elicitation", { message }))).toContain("ada@example.org");
    expect(client.heard.about("asked")).toEqual([message]);
  },

  async sampling(client) {
    const prompt = `sample ${randomUUID()}`;
    expect(textOf(await client.call("test_sampling", { prompt }))).toBe("LLM response: ada says");
    expect(client.heard.about("asked")).toEqual([prompt]);
  },

  async "sampling and elicitation in one call"(client) {
    const nonce = randomUUID();
    expect(textOf(await client.call("relay_ask_twice", { nonce }))).toBe("ada says / ada fills");
    expect(client.heard.about("asked")).toEqual([`sample ${nonce}`, `fill ${nonce}`]);
  },

  async "a resource subscription"(client) {
    await client.listen([WATCHED]);
    await client.call("relay_touch", { uri: "test://static-text" });
    await client.call("relay_touch", { uri: WATCHED });
    await client.heard.until("updated", WATCHED);
    expect(new Set(client.heard.about("updated"))).toEqual(new Set([WATCHED]));
  },
};

/** The progress values that a client heard, in order. */
function reported(client: RelayClient): readonly number[] {
  return client.heard.events
    .filter(({ kind }) => kind === "progress")
    .map(({ params }) => Number(params["progress"]));
}

/** The text of a tool result. */
export function textOf(result: Json): string {
  const [content] = result["content"] as { text?: string }[];
  return content?.text ?? "";
}
