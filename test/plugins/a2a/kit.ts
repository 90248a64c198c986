import { definePlugin, type GatewayConfigInput, type Principal } from "../../../core/index.ts";
import { createPrincipal } from "../../../core/kit.ts";
import { setupGateway, type PluginEntry, type TestGateway } from "../../../core/testing/index.ts";
import a2a, { Runtime, type RuntimeService } from "../../../plugins/a2a/index.ts";
import type { Message, StreamEvent } from "../../../plugins/a2a/contract/index.ts";

/** A gateway with the plugin, and its tasks. */
export interface TestRuntime extends TestGateway {
  readonly runtime: () => RuntimeService;
}

/** What a test of the runtime runs. */
export interface RuntimeSetup {
  readonly skills: readonly Readonly<Record<string, unknown>>[];
  /** Other options of the plugin. */
  readonly options?: Readonly<Record<string, unknown>>;
  readonly plugins?: readonly PluginEntry[];
  readonly config?: GatewayConfigInput;
  readonly cwd?: string;
  readonly client?: boolean;
}

/** Starts a gateway whose runtime has some skills. */
export async function startRuntime(setup: RuntimeSetup): Promise<TestRuntime> {
  const held: { runtime?: RuntimeService } = {};
  const holder = definePlugin({
    name: "holder",
    inject: { runtime: Runtime },
    setup: ({ services }) => void (held.runtime = services.runtime),
  });
  const options = { listener: "main", skills: setup.skills, ...setup.options };
  const started = await setupGateway({
    plugins: [...(setup.plugins ?? []), [a2a, options], holder],
    ...(setup.config && { config: setup.config }),
    ...(setup.cwd !== undefined && { cwd: setup.cwd }),
    ...(!setup.client && { client: false }),
  });
  return { ...started, runtime: () => held.runtime! };
}

/** Somebody with an id. */
export function principal(id: string): Principal {
  return createPrincipal({ id, kind: "key", roles: new Set(["caller"]) });
}

export const ALICE = principal("alice");
export const BOB = principal("bob");

let count = 0;

/** A message of the user with an id of its own. */
export function say(text: string, rest: Partial<Message> = {}): Message {
  return { messageId: `message-${++count}`, role: "user", parts: [{ text }], ...rest };
}

/** The states that events tell of, in order. */
export function statesIn(events: readonly StreamEvent[]): string[] {
  return events.flatMap((event) => {
    if ("task" in event) return [event.task.status.state];
    if ("statusUpdate" in event) return [event.statusUpdate.status.state];
    return [];
  });
}
