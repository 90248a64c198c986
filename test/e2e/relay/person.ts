import type { KitClient, Person } from "../../../plugins/conformance/mcp/client.ts";

/** A client of the conformance kit, with what the relay matrix asks for most. */
export interface RelayClient extends KitClient {
  listTools(): Promise<readonly string[]>;
}

/** A person whose answers, to any of the fixture's forms, hold the name. */
export function personOf(name: string): Person {
  return {
    sampled: {
      role: "assistant",
      content: { type: "text", text: `${name} says` },
      model: "fixture",
    },
    filled: {
      action: "accept",
      content: { answer: `${name} fills`, username: name, email: `${name}@example.org` },
    },
  };
}
