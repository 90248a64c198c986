import { describe, expect, it, onTestFinished } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { connectClient } from "../../../core/testing/index.ts";
import gating, { Gating, type GatingService } from "../../../plugins/gating/index.ts";
import type { ModelServerRequest } from "../../fixtures/model/types.ts";
import { deferred } from "../../kit/deferred.ts";
import { setupTeam } from "./kit.ts";

const KEY_A = "alice-alice-alice-alice";
const KEY_B = "bob-bob-bob-bob-bob-bob";

async function hashOf(key: string): Promise<`sha256:${string}`> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return `sha256:${Buffer.from(bytes).toString("hex")}`;
}

/** Hands out the switches. */
function createSwitch() {
  const held: { gating?: GatingService } = {};
  const plugin = definePlugin({
    name: "switch",
    inject: { gating: Gating },
    setup: ({ services }) => void (held.gating = services.gating),
  });
  const disable = () =>
    held.gating!.set([{ server: "tools", tool: "disabled", enabled: false }], "test");
  return { plugin, disable };
}

/** A server whose calls are counted. */
function createTools(calls: string[]) {
  return definePlugin({
    name: "tools",
    setup(gateway) {
      for (const name of ["allowed", "disabled", "excluded"])
        gateway.tool(name, {
          description: name,
          run: (_args, { principal, source }) => {
            calls.push(`${name} by ${principal.id} from ${source}`);
            return `${name} ran`;
          },
        });
    },
  });
}

/** Everything that a request told the model. */
function heard({ body }: ModelServerRequest): string {
  return JSON.stringify(body["messages"]);
}

describe("what agents keep apart", () => {
  it("interleaved conversations of two principals see nothing of each other", async () => {
    const { promise: both, resolve: release } = deferred();
    let waiting = 0;
    const { model, urlOf } = await setupTeam({
      agents: { harper: {} },
      config: {
        auth: {
          keys: {
            alice: { role: "caller", hash: await hashOf(KEY_A) },
            bob: { role: "caller", hash: await hashOf(KEY_B) },
          },
        },
      },
      // Nobody is answered before both have asked: the two runs overlap for certain.
      script: (request) => {
        if (++waiting === 2) release();
        return { text: `You said ${request.text}`, until: both };
      },
    });
    const talk = async (key: string, secret: string) => {
      const client = await connectClient(urlOf("harper"), {
        headers: { authorization: `Bearer ${key}` },
      });
      onTestFinished(() => client.close());
      const history = [{ role: "user", content: `${secret} first` }];
      const call = { name: "harper", arguments: { message: `${secret} second`, history } };
      return (await client.callTool(call)).content as { text: string }[];
    };
    const [alice, bob] = await Promise.all([talk(KEY_A, "apple"), talk(KEY_B, "banana")]);
    expect(alice[0]!.text).toBe("You said apple second");
    expect(bob[0]!.text).toBe("You said banana second");
    const later = await talk(KEY_A, "cherry");
    expect(later[0]!.text).toBe("You said cherry second");
    for (const request of model.requests) {
      const secrets = ["apple", "banana", "cherry"].filter((word) => heard(request).includes(word));
      expect(secrets).toHaveLength(1);
    }
  });

  it("an agent is offered neither a disabled tool nor one that is not its own, and cannot call them", async () => {
    const calls: string[] = [];
    const { plugin, disable } = createSwitch();
    const { model, urlOf } = await setupTeam({
      plugins: [createTools(calls), gating, plugin],
      agents: { harper: { servers: ["tools"], tools: { exclude: ["tools/excl*"] } } },
      script: (request) =>
        request.turn === 0
          ? {
              calls: ["allowed", "disabled", "excluded"].map((name) => ({
                name: `tools__${name}`,
              })),
            }
          : { text: request.results.join("|") },
    });
    await disable();
    const client = await connectClient(urlOf("harper"));
    onTestFinished(() => client.close());
    const { content } = await client.callTool({ name: "harper", arguments: { message: "go" } });
    expect(model.requests[0]!.tools.map(({ name }) => name)).toEqual(["tools__allowed"]);
    expect((content as { text: string }[])[0]!.text).toMatch(
      /^allowed ran\|There is no tool "tools__disabled".*\|There is no tool "tools__excluded"/,
    );
    expect(calls).toEqual(["allowed by agent:harper from agent"]);
  });

  it("a tool that is disabled while the agent runs is refused by the gate", async () => {
    const calls: string[] = [];
    const { plugin, disable } = createSwitch();
    const { urlOf } = await setupTeam({
      plugins: [createTools(calls), gating, plugin],
      agents: { harper: { servers: ["tools"] } },
      script: async (request) => {
        if (request.turn > 0) return { text: request.results.join("|") };
        await disable();
        return { calls: [{ name: "tools__disabled" }] };
      },
    });
    const client = await connectClient(urlOf("harper"));
    onTestFinished(() => client.close());
    const { content } = await client.callTool({ name: "harper", arguments: { message: "go" } });
    expect((content as { text: string }[])[0]!.text).toMatch(/^Error \(disabled\)/);
    expect(calls).toEqual([]);
  });

  it("a budget that is used up ends the run, and the caller is told", async () => {
    const calls: string[] = [];
    const { model, urlOf } = await setupTeam({
      plugins: [createTools(calls)],
      agents: { harper: { servers: ["tools"], limits: { turns: 3 } } },
      script: () => ({ calls: [{ name: "tools__allowed" }] }),
    });
    const client = await connectClient(urlOf("harper"));
    onTestFinished(() => client.close());
    const result = await client.callTool({ name: "harper", arguments: { message: "go" } });
    expect(result.isError).toBe(true);
    expect((result.content as { text: string }[]).at(-1)!.text).toContain("3 model requests");
    expect(model.requests).toHaveLength(3);
  });

  it("agents that call each other in a circle stop at the depth", async () => {
    const { model, urlOf } = await setupTeam({
      agents: { ping: { agents: ["pong"] }, pong: { agents: ["ping"] } },
      options: { maxDepth: 3 },
      script: (request) => {
        const [other] = request.tools;
        return request.turn === 0
          ? { calls: [{ name: other!.name, args: { message: "again" } }] }
          : { text: request.results.join("") };
      },
    });
    const client = await connectClient(urlOf("ping"));
    onTestFinished(() => client.close());
    const { content } = await client.callTool({ name: "ping", arguments: { message: "go" } });
    expect((content as { text: string }[])[0]!.text).toContain(
      "Agents called each other 4 deep: ping > pong > ping > pong.",
    );
    expect(model.requests).toHaveLength(6);
  });
});
